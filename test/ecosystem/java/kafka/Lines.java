import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.Connector;
import org.apache.kafka.connect.connector.Task;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.errors.ConnectException;
import org.apache.kafka.connect.sink.SinkConnector;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.sink.SinkTask;
import org.apache.kafka.connect.source.SourceConnector;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.source.SourceTask;

/**
 * Two connectors for Kafka Connect. The source sends each whole line of the files 0, 1, ... of a folder to a topic, one file per task, to the
 * partition of the file's number; the sink appends each record's value to the file of the partition's number in its folder.
 */
public final class Lines {
    private static final String VERSION = "1";
    private static final ConfigDef CONFIG = new ConfigDef()
        .define("folder", ConfigDef.Type.STRING, ConfigDef.Importance.HIGH, "Folder of the files.")
        .define("topic", ConfigDef.Type.STRING, "", ConfigDef.Importance.HIGH, "Topic that the source writes.");

    private Lines() {
    }

    private static List<Map<String, String>> tasks(Map<String, String> settings, int count) {
        List<Map<String, String>> tasks = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            Map<String, String> task = new HashMap<>(settings);
            task.put("file", Integer.toString(i));
            tasks.add(task);
        }
        return tasks;
    }

    /** The connector of {@link SourceOfLines}. */
    public static final class Source extends SourceConnector {
        private Map<String, String> settings;

        @Override
        public void start(Map<String, String> props) {
            settings = props;
        }

        @Override
        public Class<? extends Task> taskClass() {
            return SourceOfLines.class;
        }

        @Override
        public List<Map<String, String>> taskConfigs(int maxTasks) {
            return tasks(settings, maxTasks);
        }

        @Override
        public void stop() {
        }

        @Override
        public ConfigDef config() {
            return CONFIG;
        }

        @Override
        public String version() {
            return VERSION;
        }
    }

    /** Reads a file on from the line that Connect's offset topic names. */
    public static final class SourceOfLines extends SourceTask {
        private Path file;
        private String topic;
        private int partition;
        private long next;

        @Override
        public void start(Map<String, String> props) {
            file = Path.of(props.get("folder"), props.get("file"));
            topic = props.get("topic");
            partition = Integer.parseInt(props.get("file"));
            Map<String, Object> stored = context.offsetStorageReader().offset(source());
            next = stored == null ? 0 : (Long) stored.get("line");
        }

        @Override
        public List<SourceRecord> poll() throws InterruptedException {
            List<SourceRecord> records = new ArrayList<>();
            try {
                String text = Files.exists(file) ? Files.readString(file) : "";
                String[] lines = text.substring(0, text.lastIndexOf('\n') + 1).split("\n");
                for (int i = (int) next; i < lines.length && !lines[i].isEmpty(); i++) {
                    records.add(new SourceRecord(source(), Map.of("line", i + 1L), topic, partition, null, null, Schema.STRING_SCHEMA, lines[i]));
                }
            } catch (IOException e) {
                throw new ConnectException("read " + file, e);
            }
            next += records.size();
            if (records.isEmpty()) {
                Thread.sleep(20);
            }
            return records;
        }

        private Map<String, String> source() {
            return Map.of("file", file.toString());
        }

        @Override
        public void stop() {
        }

        @Override
        public String version() {
            return VERSION;
        }
    }

    /** The connector of {@link SinkOfLines}. */
    public static final class Sink extends SinkConnector {
        private Map<String, String> settings;

        @Override
        public void start(Map<String, String> props) {
            settings = props;
        }

        @Override
        public Class<? extends Task> taskClass() {
            return SinkOfLines.class;
        }

        @Override
        public List<Map<String, String>> taskConfigs(int maxTasks) {
            return tasks(settings, maxTasks);
        }

        @Override
        public void stop() {
        }

        @Override
        public ConfigDef config() {
            return CONFIG;
        }

        @Override
        public String version() {
            return VERSION;
        }
    }

    /** Appends each value to the file of its partition. */
    public static final class SinkOfLines extends SinkTask {
        private Path folder;

        @Override
        public void start(Map<String, String> props) {
            folder = Path.of(props.get("folder"));
        }

        @Override
        public void put(Collection<SinkRecord> records) {
            for (SinkRecord r : records) {
                Path file = folder.resolve(r.kafkaPartition().toString());
                try {
                    Files.write(file, (r.value() + "\n").getBytes(StandardCharsets.UTF_8), StandardOpenOption.CREATE, StandardOpenOption.APPEND);
                } catch (IOException e) {
                    throw new ConnectException("write " + file, e);
                }
            }
        }

        @Override
        public void stop() {
        }

        @Override
        public String version() {
            return VERSION;
        }
    }
}

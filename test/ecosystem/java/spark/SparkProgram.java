import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.StringJoiner;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.streaming.DataStreamWriter;
import org.apache.spark.sql.streaming.StreamingQuery;
import org.apache.spark.sql.streaming.StreamingQueryException;
import org.apache.spark.sql.streaming.Trigger;

/**
 * Spark's Kafka source and sink behind commands: {@code java SparkProgram FOLDER}, where the folder takes Spark's own files. Commands on
 * standard input, the options being those of the source:
 * <pre>
 *   version
 *   batch OPTION=VALUE ...               a batch read
 *   stream CHECKPOINT OPTION=VALUE ...   a stream that ends when it has read what is there
 *   follow COUNT OPTION=VALUE ...        a stream that ends when it has read so many records
 *   copy TOPIC OPTION=VALUE ...          a batch read, written to a topic
 *   pipe CHECKPOINT TOPIC OPTION=VALUE ... a stream written to a topic, that ends when it has read what is there
 * </pre>
 * The first three answer "batch NUMBER TASKS" per batch and under it "row TOPIC PARTITION OFFSET MS TYPE KEY VALUE HEADERS" per record with bytes
 * in base64 and "-" for null. Each answer ends with "ok", or "error" and why.
 */
public final class SparkProgram {
    private static final String[] COPIED = {"key", "value", "headers"};

    private final SparkSession spark;
    private final PrintStream out;

    private SparkProgram(SparkSession spark, PrintStream out) {
        this.spark = spark;
        this.out = out;
    }

    public static void main(String[] args) throws IOException {
        PrintStream out = new PrintStream(new FileOutputStream(FileDescriptor.out), false, StandardCharsets.UTF_8);
        SparkSession spark = SparkSession.builder().master("local[2]").appName("korvet")
            .config("spark.ui.enabled", false)
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.local.dir", args[0])
            .config("spark.sql.warehouse.dir", args[0] + "/warehouse")
            .config("spark.sql.shuffle.partitions", 2)
            .getOrCreate();
        spark.sparkContext().setLogLevel("WARN");
        SparkProgram program = new SparkProgram(spark, out);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            program.answer(line.split(" "));
        }
        spark.stop();
    }

    private void answer(String[] words) {
        try {
            run(words);
            out.println("ok");
        } catch (Exception e) {
            out.println("error " + e.toString().replaceAll("\\s+", " "));
        }
        out.flush();
    }

    private void run(String[] words) throws TimeoutException, StreamingQueryException {
        switch (words[0]) {
            case "version" -> out.println(spark.version());
            case "batch" -> print(spark.read().format("kafka").options(options(words, 1)).load(), 0);
            case "stream" -> toTheEnd(rows(words, 2).writeStream().foreachBatch((batch, id) -> { print(batch, id); }), words[1]);
            case "follow" -> follow(Long.parseLong(words[1]), rows(words, 2));
            case "copy" -> spark.read().format("kafka").options(options(words, 2)).load().selectExpr(COPIED)
                .write().format("kafka").options(options(words, 2)).option("topic", words[1]).save();
            case "pipe" -> toTheEnd(rows(words, 3).selectExpr(COPIED).writeStream().format("kafka").options(options(words, 3)).option("topic", words[2]), words[1]);
            default -> throw new IllegalArgumentException(words[0]);
        }
    }

    private static Map<String, String> options(String[] words, int from) {
        Map<String, String> options = new HashMap<>();
        for (String word : Arrays.copyOfRange(words, from, words.length)) {
            int equals = word.indexOf('=');
            options.put(word.substring(0, equals), word.substring(equals + 1));
        }
        return options;
    }

    private Dataset<Row> rows(String[] words, int from) {
        return spark.readStream().format("kafka").options(options(words, from)).load();
    }

    private static void toTheEnd(DataStreamWriter<Row> writer, String checkpoint) throws TimeoutException, StreamingQueryException {
        writer.option("checkpointLocation", checkpoint).trigger(Trigger.AvailableNow()).start().awaitTermination();
    }

    private void follow(long count, Dataset<Row> rows) throws TimeoutException, StreamingQueryException {
        AtomicLong seen = new AtomicLong();
        StreamingQuery query = rows.writeStream().foreachBatch((batch, id) -> { seen.addAndGet(print(batch, id)); }).start();
        while (seen.get() < count) {
            query.awaitTermination(100);
        }
        query.stop();
    }

    private synchronized int print(Dataset<Row> batch, long id) {
        out.println("batch " + id + " " + batch.javaRDD().getNumPartitions());
        List<Row> rows = batch.collectAsList();
        for (Row r : rows) {
            out.println(String.join(" ", "row", r.<String>getAs("topic"), r.getAs("partition").toString(), r.getAs("offset").toString(),
                Long.toString(r.<java.sql.Timestamp>getAs("timestamp").getTime()), r.getAs("timestampType").toString(),
                text(r.getAs("key")), text(r.getAs("value")), headers(r)));
        }
        out.flush();
        return rows.size();
    }

    private static String text(byte[] bytes) {
        return bytes == null ? "-" : "=" + Base64.getEncoder().encodeToString(bytes);
    }

    private static String headers(Row r) {
        if (!Arrays.asList(r.schema().fieldNames()).contains("headers") || r.isNullAt(r.fieldIndex("headers"))) {
            return "-";
        }
        StringJoiner joined = new StringJoiner(",");
        for (Row header : r.<Row>getList(r.fieldIndex("headers"))) {
            joined.add(header.getString(0) + ":" + text(header.getAs(1)));
        }
        return joined.toString();
    }
}

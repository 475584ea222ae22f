import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.Future;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Kafka's Java client behind the commands of session.go: {@code java ClientProgram HOST:PORT}, commands on standard input. */
public final class ClientProgram {
    private static final Duration POLL = Duration.ofMillis(200);

    private final String bootstrap;
    private final PrintStream out;

    private ClientProgram(String bootstrap, PrintStream out) {
        this.bootstrap = bootstrap;
        this.out = out;
    }

    public static void main(String[] args) throws IOException {
        PrintStream out = new PrintStream(new FileOutputStream(FileDescriptor.out), false, StandardCharsets.UTF_8);
        ClientProgram program = new ClientProgram(args[0], out);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            if (words[0].equals("member")) {
                new GroupMember(args[0], List.of(words).subList(1, words.length), out).run(in);
                return;
            }
            program.answer(words);
        }
    }

    private void answer(String[] words) {
        try {
            switch (words[0]) {
                case "version" -> out.println(version());
                case "produce" -> produce(words[1], Path.of(words[2]), options(words));
                case "consume" -> consume(words[1], Integer.parseInt(words[2]), Integer.parseInt(words[3]));
                case "since" -> since(words[1], Long.parseLong(words[2]), Integer.parseInt(words[3]));
                case "admin" -> AdminCalls.call(bootstrap, List.of(words).subList(1, words.length)).forEach(out::println);
                default -> throw new IllegalArgumentException("unknown command " + words[0]);
            }
            out.println("ok");
        } catch (Exception e) {
            out.println("error " + String.valueOf(e).replace('\n', ' '));
        }
        out.flush();
    }

    private static String version() throws IOException {
        Properties p = new Properties();
        try (InputStream in = KafkaProducer.class.getResourceAsStream("/kafka/kafka-version.properties")) {
            p.load(in);
        }
        return p.getProperty("version");
    }

    private static Map<String, String> options(String[] words) {
        return Arrays.stream(words).skip(3).map(w -> w.split("=", 2)).collect(Collectors.toMap(w -> w[0], w -> w[1]));
    }

    private void produce(String topic, Path file, Map<String, String> options) throws Exception {
        Properties p = new Properties();
        p.put(ProducerConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrap);
        p.put(ProducerConfig.COMPRESSION_TYPE_CONFIG, options.getOrDefault("codec", "none"));
        p.put(ProducerConfig.ACKS_CONFIG, options.getOrDefault("acks", "all"));
        p.put(ProducerConfig.ENABLE_IDEMPOTENCE_CONFIG, options.getOrDefault("idempotent", "false"));
        p.put(ProducerConfig.BATCH_SIZE_CONFIG, "900000");
        p.put(ProducerConfig.MAX_REQUEST_SIZE_CONFIG, "8000000");
        p.put(ProducerConfig.LINGER_MS_CONFIG, "50");
        p.put(ProducerConfig.MAX_IN_FLIGHT_REQUESTS_PER_CONNECTION, options.containsKey("idempotent") ? "5" : "1");
        p.put(ProducerConfig.DELIVERY_TIMEOUT_MS_CONFIG, "60000");
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(p, new ByteArraySerializer(), new ByteArraySerializer());
                Stream<String> lines = Files.lines(file, StandardCharsets.US_ASCII)) {
            List<Future<RecordMetadata>> sent = new ArrayList<>();
            lines.forEach(line -> sent.add(producer.send(parse(topic, line))));
            producer.flush();
            for (Future<RecordMetadata> f : sent) {
                out.println(f.get().offset());
            }
        }
    }

    private void consume(String topic, int partition, int count) {
        TopicPartition tp = new TopicPartition(topic, partition);
        try (KafkaConsumer<byte[], byte[]> consumer = consumer()) {
            consumer.assign(List.of(tp));
            consumer.seekToBeginning(List.of(tp));
            read(consumer, count);
        }
    }

    private void since(String topic, long ms, int count) {
        try (KafkaConsumer<byte[], byte[]> consumer = consumer()) {
            Map<TopicPartition, Long> times = consumer.partitionsFor(topic).stream()
                    .collect(Collectors.toMap(i -> new TopicPartition(topic, i.partition()), i -> ms));
            consumer.assign(times.keySet());
            consumer.offsetsForTimes(times).forEach((tp, found) -> consumer.seek(tp, found.offset()));
            read(consumer, count);
        }
    }

    private KafkaConsumer<byte[], byte[]> consumer() {
        Map<String, Object> p = new HashMap<>();
        p.put(ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrap);
        p.put(ConsumerConfig.FETCH_MAX_WAIT_MS_CONFIG, "100"); // closing waits for the last fetch
        p.put(ConsumerConfig.ALLOW_AUTO_CREATE_TOPICS_CONFIG, "false");
        return new KafkaConsumer<>(p, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    private void read(KafkaConsumer<byte[], byte[]> consumer, int count) {
        for (int n = 0; n < count; ) {
            for (ConsumerRecord<byte[], byte[]> r : consumer.poll(POLL)) {
                out.println(format(r));
                n++;
            }
        }
    }

    private static ProducerRecord<byte[], byte[]> parse(String topic, String line) {
        String[] f = line.split("\t", -1);
        List<Header> headers = new ArrayList<>();
        if (!f[6].isEmpty()) {
            for (String h : f[6].split(",")) {
                String[] nameValue = h.split(":", -1);
                headers.add(new RecordHeader(new String(bytes(nameValue[0]), StandardCharsets.UTF_8), bytes(nameValue[1])));
            }
        }
        long timestamp = Long.parseLong(f[2]);
        return new ProducerRecord<>(topic, Integer.valueOf(f[0]), timestamp < 0 ? null : Long.valueOf(timestamp), bytes(f[4]), bytes(f[5]), headers);
    }

    private static String format(ConsumerRecord<byte[], byte[]> r) {
        String headers = StreamSupport.stream(r.headers().spliterator(), false)
                .map(h -> text(h.key().getBytes(StandardCharsets.UTF_8)) + ":" + text(h.value()))
                .collect(Collectors.joining(","));
        String kind = r.timestampType() == TimestampType.LOG_APPEND_TIME ? "L" : "C";
        return String.join("\t", Integer.toString(r.partition()), Long.toString(r.offset()), Long.toString(r.timestamp()), kind,
                text(r.key()), text(r.value()), headers);
    }

    private static byte[] bytes(String field) {
        return field.equals("-") ? null : Base64.getDecoder().decode(field);
    }

    private static String text(byte[] bytes) {
        return bytes == null ? "-" : Base64.getEncoder().encodeToString(bytes);
    }
}

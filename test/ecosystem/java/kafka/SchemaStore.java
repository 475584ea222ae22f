import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.config.TopicConfig;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Keeps texts by key in a compacted topic of one partition, with the calls that schema registries make for theirs.
 * {@code java SchemaStore HOST:PORT TOPIC}; commands on standard input: "put KEY TEXT", "delete KEY", "all", which answers "KEY TEXT" per line in
 * the keys' order. Each answer ends with "ok"; the first one comes when the topic has been read to its end.
 */
public final class SchemaStore {
    private final TopicPartition partition;
    private final KafkaProducer<String, String> producer;
    private final KafkaConsumer<String, String> consumer;
    private final Map<String, String> texts = new TreeMap<>();

    private SchemaStore(String bootstrap, String topic) throws ExecutionException, InterruptedException {
        try (Admin admin = Admin.create(Map.of(AdminClientConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrap))) {
            ensureTopic(admin, topic);
        }
        partition = new TopicPartition(topic, 0);
        producer = new KafkaProducer<>(Map.of(
            ProducerConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrap,
            ProducerConfig.ACKS_CONFIG, "-1",
            ProducerConfig.RETRIES_CONFIG, 0,
            ProducerConfig.ENABLE_IDEMPOTENCE_CONFIG, false), new StringSerializer(), new StringSerializer());
        consumer = new KafkaConsumer<>(Map.of(
            ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrap,
            ConsumerConfig.GROUP_ID_CONFIG, "schema-store",
            ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "earliest",
            ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG, false), new StringDeserializer(), new StringDeserializer());
        consumer.assign(List.of(partition));
        consumer.seekToBeginning(List.of(partition));
        readTo(consumer.endOffsets(List.of(partition)).get(partition));
    }

    public static void main(String[] args) throws IOException, ExecutionException, InterruptedException {
        SchemaStore store = new SchemaStore(args[0], args[1]);
        System.out.println("ok");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            store.answer(line.split(" ", 3));
            System.out.println("ok");
        }
    }

    /** Creates the topic, or refuses one that would lose schemas. */
    private static void ensureTopic(Admin admin, String topic) throws ExecutionException, InterruptedException {
        if (!admin.listTopics().names().get().contains(topic)) {
            NewTopic wanted = new NewTopic(topic, 1, (short) 1).configs(Map.of(TopicConfig.CLEANUP_POLICY_CONFIG, TopicConfig.CLEANUP_POLICY_COMPACT));
            admin.createTopics(List.of(wanted)).all().get();
        }
        TopicDescription description = admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic);
        ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
        Config config = admin.describeConfigs(List.of(resource)).all().get().get(resource);
        String policy = config.get(TopicConfig.CLEANUP_POLICY_CONFIG).value();
        if (description.partitions().size() != 1 || !policy.equals(TopicConfig.CLEANUP_POLICY_COMPACT)) {
            throw new IllegalStateException("topic has " + description.partitions().size() + " partitions and policy " + policy);
        }
    }

    private void answer(String[] words) throws ExecutionException, InterruptedException {
        switch (words[0]) {
            case "put" -> write(words[1], words[2]);
            case "delete" -> write(words[1], null);
            case "all" -> texts.forEach((key, text) -> System.out.println(key + " " + text));
            default -> throw new IllegalArgumentException(words[0]);
        }
    }

    /** A text counts as written when this store has read it. */
    private void write(String key, String text) throws ExecutionException, InterruptedException {
        long offset = producer.send(new ProducerRecord<>(partition.topic(), 0, key, text)).get().offset();
        readTo(offset + 1);
    }

    private void readTo(long end) {
        while (consumer.position(partition) < end) {
            for (ConsumerRecord<String, String> r : consumer.poll(Duration.ofMillis(100))) {
                if (r.value() == null) {
                    texts.remove(r.key());
                } else {
                    texts.put(r.key(), r.value());
                }
            }
        }
    }
}

import java.io.BufferedReader;
import java.io.IOException;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** The Java client as a member of a group, as member_test.go has it. */
final class GroupMember implements ConsumerRebalanceListener {
    private static final Duration POLL = Duration.ofMillis(100);

    private final String bootstrap;
    private final String group;
    private final String topic;
    private final Map<String, String> options;
    private final PrintStream out;
    private final Queue<String[]> commands = new ConcurrentLinkedQueue<>();
    private volatile boolean closed;

    /** words are GROUP TOPIC and options. */
    GroupMember(String bootstrap, List<String> words, PrintStream out) {
        this.bootstrap = bootstrap;
        this.group = words.get(0);
        this.topic = words.get(1);
        this.options = words.stream().skip(2).map(w -> w.split("=", 2)).collect(Collectors.toMap(w -> w[0], w -> w[1]));
        this.out = out;
    }

    /** Returns when the group was left. */
    void run(BufferedReader in) {
        Thread listener = new Thread(() -> listen(in));
        listener.setDaemon(true);
        listener.start();
        int left = Integer.parseInt(options.getOrDefault("max", "-1"));
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(settings(left), new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            consumer.subscribe(List.of(topic), this);
            Map<TopicPartition, OffsetAndMetadata> read = new HashMap<>();
            while (!closed && left != 0) {
                obey(consumer);
                for (ConsumerRecord<byte[], byte[]> r : consumer.poll(POLL)) {
                    if (left == 0) {
                        break;
                    }
                    say("record " + r.partition() + " " + r.offset() + " " + new String(r.value(), StandardCharsets.UTF_8));
                    read.put(new TopicPartition(topic, r.partition()), new OffsetAndMetadata(r.offset() + 1));
                    left--;
                }
            }
            if (left == 0) {
                consumer.commitSync(read);
            }
        }
    }

    private void listen(BufferedReader in) {
        try {
            for (String line = in.readLine(); line != null && !line.equals("close"); line = in.readLine()) {
                commands.add(line.split(" "));
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        closed = true;
    }

    private void obey(KafkaConsumer<?, ?> consumer) {
        for (String[] c = commands.poll(); c != null; c = commands.poll()) {
            List<TopicPartition> partition = List.of(new TopicPartition(topic, Integer.parseInt(c[1])));
            if (c[0].equals("pause")) {
                consumer.pause(partition);
                say("paused " + c[1]);
            } else {
                consumer.resume(partition);
                say("resumed " + c[1]);
            }
        }
    }

    private Map<String, Object> settings(int max) {
        Map<String, Object> p = new HashMap<>();
        p.put(ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrap);
        p.put(ConsumerConfig.GROUP_ID_CONFIG, group);
        p.put(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "earliest");
        p.put(ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG, max < 0);
        p.put(ConsumerConfig.AUTO_COMMIT_INTERVAL_MS_CONFIG, "500");
        p.put(ConsumerConfig.FETCH_MAX_WAIT_MS_CONFIG, "100");
        if (options.containsKey("instance")) {
            p.put(ConsumerConfig.GROUP_INSTANCE_ID_CONFIG, options.get("instance"));
        }
        if (options.containsKey("protocol")) { // the consumer protocol leaves the rest to the broker
            p.put(ConsumerConfig.GROUP_PROTOCOL_CONFIG, options.get("protocol"));
            return p;
        }
        p.put(ConsumerConfig.SESSION_TIMEOUT_MS_CONFIG, options.get("session"));
        p.put(ConsumerConfig.HEARTBEAT_INTERVAL_MS_CONFIG, "500");
        if (options.containsKey("cooperative")) {
            p.put(ConsumerConfig.PARTITION_ASSIGNMENT_STRATEGY_CONFIG, CooperativeStickyAssignor.class.getName());
        }
        return p;
    }

    @Override
    public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
        say("assigned " + numbers(partitions));
    }

    @Override
    public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
        say("revoked " + numbers(partitions));
    }

    private static String numbers(Collection<TopicPartition> partitions) {
        return partitions.stream().map(tp -> Integer.toString(tp.partition())).collect(Collectors.joining(" "));
    }

    private void say(String line) {
        out.println(line);
        out.flush();
    }
}

import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.GroupListing;
import org.apache.kafka.clients.admin.ListConsumerGroupOffsetsSpec;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;

/** Administrative calls of the Java client, as admin_test.go has them. */
final class AdminCalls {
    private AdminCalls() {}

    /** words are a verb and what follows it; the answer is what the call has told. */
    static Collection<String> call(String bootstrap, List<String> words) throws Exception {
        try (Admin admin = Admin.create(Map.of(AdminClientConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrap))) {
            List<String> w = words.subList(1, words.size());
            return switch (words.get(0)) {
                case "groups", "group", "committed", "reset", "forget", "ungroup" -> groupCall(admin, words.get(0), w);
                default -> topicCall(admin, words.get(0), w);
            };
        }
    }

    private static Collection<String> topicCall(Admin admin, String verb, List<String> w) throws Exception {
        switch (verb) {
            case "create" -> {
                String[] setting = w.get(2).split("=");
                NewTopic topic = new NewTopic(w.get(0), Integer.parseInt(w.get(1)), (short) 1).configs(Map.of(setting[0], setting[1]));
                admin.createTopics(List.of(topic)).all().get();
            }
            case "topics" -> {
                return admin.listTopics().names().get();
            }
            case "partitions" -> {
                return List.of(Integer.toString(admin.describeTopics(w).allTopicNames().get().get(w.get(0)).partitions().size()));
            }
            case "grow" -> admin.createPartitions(Map.of(w.get(0), NewPartitions.increaseTo(Integer.parseInt(w.get(1))))).all().get();
            case "config" -> {
                ConfigResource topic = topic(w);
                return List.of(admin.describeConfigs(List.of(topic)).all().get().get(topic).get(w.get(1)).value());
            }
            case "alter" -> {
                AlterConfigOp set = new AlterConfigOp(new ConfigEntry(w.get(1), w.get(2)), AlterConfigOp.OpType.SET);
                admin.incrementalAlterConfigs(Map.of(topic(w), List.of(set))).all().get();
            }
            case "end" -> {
                TopicPartition tp = partition(w);
                return List.of(Long.toString(admin.listOffsets(Map.of(tp, OffsetSpec.latest())).all().get().get(tp).offset()));
            }
            case "trim" -> admin.deleteRecords(Map.of(partition(w), RecordsToDelete.beforeOffset(Long.parseLong(w.get(2))))).all().get();
            case "brokers" -> {
                return admin.describeCluster().nodes().get().stream().map(Node::idString).toList();
            }
            case "delete" -> admin.deleteTopics(w).all().get();
            default -> throw new IllegalArgumentException("unknown verb " + verb);
        }
        return List.of();
    }

    private static Collection<String> groupCall(Admin admin, String verb, List<String> w) throws Exception {
        String group = w.get(0);
        switch (verb) {
            case "groups" -> {
                return admin.listGroups().all().get().stream().map(GroupListing::groupId).toList();
            }
            case "group" -> {
                String state = admin.describeConsumerGroups(w).all().get().get(group).groupState().toString();
                return List.of(state.toLowerCase(Locale.ROOT));
            }
            case "committed" -> {
                TopicPartition tp = partition(w.subList(1, 3));
                Map<String, ListConsumerGroupOffsetsSpec> asked = Map.of(group, new ListConsumerGroupOffsetsSpec().topicPartitions(List.of(tp)));
                return List.of(Long.toString(admin.listConsumerGroupOffsets(asked).all().get().get(group).get(tp).offset()));
            }
            case "reset" -> {
                OffsetAndMetadata to = new OffsetAndMetadata(Long.parseLong(w.get(3)));
                admin.alterConsumerGroupOffsets(group, Map.of(partition(w.subList(1, 3)), to)).all().get();
            }
            case "forget" -> admin.deleteConsumerGroupOffsets(group, Set.of(partition(w.subList(1, 3)))).all().get();
            default -> admin.deleteConsumerGroups(w).all().get();
        }
        return List.of();
    }

    private static ConfigResource topic(List<String> w) {
        return new ConfigResource(ConfigResource.Type.TOPIC, w.get(0));
    }

    private static TopicPartition partition(List<String> w) {
        return new TopicPartition(w.get(0), Integer.parseInt(w.get(1)));
    }
}

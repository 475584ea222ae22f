"""Administrative calls of kafka-python."""

from kafka import KafkaAdminClient, OffsetAndMetadata, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType, OffsetSpec


class Admin:
    def __init__(self, bootstrap):
        self._client = KafkaAdminClient(bootstrap_servers=bootstrap)

    def close(self):
        self._client.close()

    def create(self, topic, partitions, setting):
        wanted = {"num_partitions": int(partitions), "replication_factor": 1, "configs": dict([setting.split("=")])}
        self._client.create_topics({topic: wanted})

    def topics(self, _):
        return self._client.list_topics()

    def partitions(self, topic):
        return [len(self._client.describe_topics([topic])[0]["partitions"])]

    def grow(self, topic, partitions):
        self._client.create_partitions({topic: int(partitions)})

    def config(self, topic, name):
        resource = ConfigResource(ConfigResourceType.TOPIC, topic, {name: None})
        return [self._client.describe_configs([resource], config_filter="all")["topic"][topic][name]["value"]]

    def alter(self, topic, name, value):
        self._client.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, {name: value})])

    def end(self, topic, partition):
        tp = TopicPartition(topic, int(partition))
        return [self._client.list_partition_offsets({tp: OffsetSpec.LATEST})[tp].offset]

    def trim(self, topic, partition, offset):
        self._client.delete_records({TopicPartition(topic, int(partition)): int(offset)})

    def groups(self, _):
        return [g["group_id"] for g in self._client.list_groups()]

    def group(self, group):
        return [self._client.describe_groups([group])[group]["group_state"].lower()]

    def committed(self, group, topic, partition):
        tp = TopicPartition(topic, int(partition))
        return [self._client.list_group_offsets({group: [tp]})[group][tp].offset]

    def reset(self, group, topic, partition, offset):
        self._client.alter_group_offsets(group, {TopicPartition(topic, int(partition)): OffsetAndMetadata(int(offset), "", -1)})

    def forget(self, group, topic, partition):
        self._client.delete_group_offsets(group, [TopicPartition(topic, int(partition))])

    def ungroup(self, group):
        self._client.delete_groups([group])

    def brokers(self):
        return [b["broker_id"] for b in self._client.describe_cluster()["brokers"]]

    def delete(self, topic):
        self._client.delete_topics([topic])

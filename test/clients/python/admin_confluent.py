"""Administrative calls of confluent-kafka."""

from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
)


def only(futures):
    """The result of a call that was about one thing."""
    (future,) = futures.values()
    return future.result()


class Admin:
    def __init__(self, bootstrap):
        self._client = AdminClient({"bootstrap.servers": bootstrap})

    def close(self):
        pass

    def create(self, topic, partitions, setting):
        only(self._client.create_topics([NewTopic(topic, int(partitions), 1, config=dict([setting.split("=")]))]))

    def topics(self, _):
        return self._client.list_topics(timeout=30).topics.keys()

    def partitions(self, topic):
        return [len(self._client.list_topics(topic, timeout=30).topics[topic].partitions)]

    def grow(self, topic, partitions):
        only(self._client.create_partitions([NewPartitions(topic, int(partitions))]))

    def config(self, topic, name):
        return [only(self._client.describe_configs([ConfigResource("topic", topic)]))[name].value]

    def alter(self, topic, name, value):
        entry = ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
        only(self._client.incremental_alter_configs([ConfigResource("topic", topic, incremental_configs=[entry])]))

    def end(self, topic, partition):
        return [only(self._client.list_offsets({TopicPartition(topic, int(partition)): OffsetSpec.latest()})).offset]

    def trim(self, topic, partition, offset):
        only(self._client.delete_records([TopicPartition(topic, int(partition), int(offset))]))

    def groups(self, _):
        return [g.group_id for g in self._client.list_consumer_groups().result().valid]

    def group(self, group):
        return [only(self._client.describe_consumer_groups([group])).state.name.lower()]

    def committed(self, group, topic, partition):
        asked = ConsumerGroupTopicPartitions(group, [TopicPartition(topic, int(partition))])
        return [only(self._client.list_consumer_group_offsets([asked])).topic_partitions[0].offset]

    def reset(self, group, topic, partition, offset):
        wanted = ConsumerGroupTopicPartitions(group, [TopicPartition(topic, int(partition), int(offset))])
        only(self._client.alter_consumer_group_offsets([wanted]))

    def ungroup(self, group):
        only(self._client.delete_consumer_groups([group]))

    def brokers(self):
        return [node.id for node in self._client.describe_cluster().result().nodes]

    def delete(self, topic):
        only(self._client.delete_topics([topic]))

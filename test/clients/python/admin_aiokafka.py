"""Administrative calls of aiokafka. Its answers may hold errors that it does not raise: what was done shows."""

import asyncio

import aiokafka
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic, RecordsToDelete
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType


class Admin:
    def __init__(self, bootstrap):
        self._bootstrap = bootstrap

    def close(self):
        pass

    def _run(self, call):
        """Runs call(client) to its end."""

        async def run():
            client = AIOKafkaAdminClient(bootstrap_servers=self._bootstrap)
            await client.start()
            try:
                return await call(client)
            finally:
                await client.close()

        return asyncio.run(run())

    def create(self, topic, partitions, setting):
        wanted = NewTopic(topic, int(partitions), 1, topic_configs=dict([setting.split("=")]))
        self._run(lambda client: client.create_topics([wanted]))

    def topics(self, _):
        return self._run(lambda client: client.list_topics())

    def partitions(self, topic):
        return [len(self._run(lambda client: client.describe_topics([topic]))[0]["partitions"])]

    def grow(self, topic, partitions):
        self._run(lambda client: client.create_partitions({topic: NewPartitions(int(partitions))}))

    def config(self, topic, name):
        resource = ConfigResource(ConfigResourceType.TOPIC, topic, {name: None})
        (answer,) = self._run(lambda client: client.describe_configs([resource]))
        entries = answer.resources[0][-1]
        return [entry[1] for entry in entries if entry[0] == name]

    def alter(self, topic, name, value):
        resource = ConfigResource(ConfigResourceType.TOPIC, topic, {name: value})
        self._run(lambda client: client.alter_configs([resource]))

    def end(self, topic, partition):
        tp = aiokafka.TopicPartition(topic, int(partition))

        async def ask():
            consumer = aiokafka.AIOKafkaConsumer(bootstrap_servers=self._bootstrap)
            await consumer.start()
            try:
                return (await consumer.end_offsets([tp]))[tp]
            finally:
                await consumer.stop()

        return [asyncio.run(ask())]

    def trim(self, topic, partition, offset):
        tp = aiokafka.TopicPartition(topic, int(partition))
        self._run(lambda client: client.delete_records({tp: RecordsToDelete(int(offset))}))

    def groups(self, _):
        return [g[0] for g in self._run(lambda client: client.list_consumer_groups())]

    def group(self, group):
        (answer,) = self._run(lambda client: client.describe_consumer_groups([group]))
        return [answer.groups[0][2].lower()]

    def committed(self, group, topic, partition):
        tp = aiokafka.TopicPartition(topic, int(partition))
        return [self._run(lambda client: client.list_consumer_group_offsets(group, partitions=[tp]))[tp].offset]

    def brokers(self):
        return [b["node_id"] for b in self._run(lambda client: client.describe_cluster())["brokers"]]

    def delete(self, topic):
        self._run(lambda client: client.delete_topics([topic]))

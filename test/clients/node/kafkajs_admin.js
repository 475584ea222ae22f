// Administrative calls of KafkaJS, as admin_test.go has them.
"use strict";

const calls = (admin) => ({
  create: (topic, partitions, setting) => {
    const [name, value] = setting.split("=");
    return admin.createTopics({ topics: [{ topic, numPartitions: Number(partitions), configEntries: [{ name, value }] }] });
  },
  topics: () => admin.listTopics(),
  partitions: async (topic) => [(await admin.fetchTopicMetadata({ topics: [topic] })).topics[0].partitions.length],
  grow: (topic, count) => admin.createPartitions({ topicPartitions: [{ topic, count: Number(count) }] }),
  config: async (topic, name) => {
    const { resources } = await admin.describeConfigs({ includeSynonyms: false, resources: [{ type: 2, name: topic, configNames: [name] }] });
    return [resources[0].configEntries[0].configValue];
  },
  alter: (topic, name, value) => admin.alterConfigs({ validateOnly: false, resources: [{ type: 2, name: topic, configEntries: [{ name, value }] }] }),
  end: async (topic, partition) => (await admin.fetchTopicOffsets(topic)).filter((p) => p.partition === Number(partition)).map((p) => p.high),
  trim: async (topic, partition, offset) => {
    await admin.fetchTopicOffsets(topic); // deleteTopicRecords wants metadata that something else has asked for
    await admin.deleteTopicRecords({ topic, partitions: [{ partition: Number(partition), offset }] });
  },
  groups: async () => (await admin.listGroups()).groups.map((g) => g.groupId),
  group: async (group) => [(await admin.describeGroups([group])).groups[0].state.toLowerCase()],
  committed: async (groupId, topic, partition) => {
    const [{ partitions }] = await admin.fetchOffsets({ groupId, topics: [topic] });
    return partitions.filter((p) => p.partition === Number(partition)).map((p) => p.offset);
  },
  reset: (groupId, topic, partition, offset) => admin.setOffsets({ groupId, topic, partitions: [{ partition: Number(partition), offset }] }),
  ungroup: (group) => admin.deleteGroups([group]),
  brokers: async () => (await admin.describeCluster()).brokers.map((b) => b.nodeId),
  delete: (topic) => admin.deleteTopics({ topics: [topic] }),
});

// call returns what the call has told, for verbs that tell something.
async function call(kafka, verb, words) {
  const telling = ["topics", "partitions", "config", "end", "groups", "group", "committed", "brokers"];
  const admin = kafka.admin();
  await admin.connect();
  try {
    const told = await calls(admin)[verb](...words);
    return telling.includes(verb) ? told : [];
  } finally {
    await admin.disconnect();
  }
}

module.exports = { call };

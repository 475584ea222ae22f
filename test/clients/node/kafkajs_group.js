// KafkaJS as a member of a group.
"use strict";

async function member(kafka, m) {
  const { group, topic, session, max } = m.options;
  const consumer = kafka.consumer({
    groupId: group,
    sessionTimeout: session,
    rebalanceTimeout: 10_000,
    heartbeatInterval: 500,
    maxWaitTimeInMs: 100,
  });
  consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => m.assigned(payload.memberAssignment[topic] ?? []));
  consumer.on(consumer.events.REBALANCING, () => m.revoked([]));
  await consumer.connect();
  await consumer.subscribe({ topic, fromBeginning: true });
  const read = new Map();
  const closed = m.untilClosed({
    pause: (partition) => consumer.pause([{ topic, partitions: [partition] }]),
    resume: (partition) => consumer.resume([{ topic, partitions: [partition] }]),
  });
  await consumer.run({
    autoCommit: max === Infinity,
    autoCommitInterval: 500,
    eachMessage: async ({ partition, message }) => {
      if (m.record(partition, message.offset, message.value.toString())) {
        read.set(partition, String(BigInt(message.offset) + 1n));
      }
    },
  });
  await closed;
  if (max !== Infinity) {
    await consumer.commitOffsets([...read].map(([partition, offset]) => ({ topic, partition, offset })));
  }
  await consumer.disconnect();
}

module.exports = { member };

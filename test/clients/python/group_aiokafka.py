"""aiokafka as a member of a group."""

import asyncio

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, TopicPartition


class Listener(ConsumerRebalanceListener):
    def __init__(self, lines):
        self._lines = lines

    async def on_partitions_assigned(self, assigned):
        self._lines.assigned(tp.partition for tp in assigned)

    async def on_partitions_revoked(self, revoked):
        self._lines.revoked(tp.partition for tp in revoked)


def member(bootstrap, options, lines):
    asyncio.run(_member(bootstrap, options, lines))


async def _member(bootstrap, options, lines):
    consumer = AIOKafkaConsumer(
        bootstrap_servers=bootstrap,
        group_id=options.group,
        group_instance_id=options.instance,
        auto_offset_reset="earliest",
        enable_auto_commit=options.max is None,
        auto_commit_interval_ms=500,
        session_timeout_ms=options.session,
        heartbeat_interval_ms=500,
        fetch_max_wait_ms=100,
    )
    await consumer.start()
    consumer.subscribe([options.topic], listener=Listener(lines))
    read = {}
    while not lines.closed and lines.batch() > 0:
        lines.obey(
            lambda p: consumer.pause(TopicPartition(options.topic, p)),
            lambda p: consumer.resume(TopicPartition(options.topic, p)),
        )
        for tp, records in (await consumer.getmany(timeout_ms=100, max_records=lines.batch())).items():
            for r in records:
                lines.record(r.partition, r.offset, r.value)
                read[tp] = r.offset + 1
    if options.max is not None:
        await consumer.commit(read)
    await consumer.stop()

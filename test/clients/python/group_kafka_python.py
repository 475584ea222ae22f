"""kafka-python as a member of a group."""

from kafka import ConsumerRebalanceListener, KafkaConsumer, OffsetAndMetadata, TopicPartition
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor


class Listener(ConsumerRebalanceListener):
    def __init__(self, lines):
        self._lines = lines

    def on_partitions_assigned(self, assigned):
        self._lines.assigned(tp.partition for tp in assigned)

    def on_partitions_revoked(self, revoked):
        self._lines.revoked(tp.partition for tp in revoked)


def member(bootstrap, options, lines):
    settings = {}
    if options.cooperative:
        settings["partition_assignment_strategy"] = [CooperativeStickyAssignor]
    if options.instance is not None:
        settings["group_instance_id"] = options.instance
    consumer = KafkaConsumer(
        bootstrap_servers=bootstrap,
        group_id=options.group,
        auto_offset_reset="earliest",
        enable_auto_commit=options.max is None,
        auto_commit_interval_ms=500,
        session_timeout_ms=options.session,
        heartbeat_interval_ms=500,
        fetch_max_wait_ms=100,
        **settings,
    )
    consumer.subscribe([options.topic], listener=Listener(lines))
    read = {}
    while not lines.closed and lines.batch() > 0:
        lines.obey(
            lambda p: consumer.pause(TopicPartition(options.topic, p)),
            lambda p: consumer.resume(TopicPartition(options.topic, p)),
        )
        for tp, records in consumer.poll(timeout_ms=100, max_records=lines.batch()).items():
            for r in records:
                lines.record(r.partition, r.offset, r.value)
                read[tp] = OffsetAndMetadata(r.offset + 1, "", -1)
    if options.max is not None:
        consumer.commit(read)
    consumer.close()

"""confluent-kafka, which brings its own librdkafka."""

import confluent_kafka
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, Producer, TopicPartition

from records import Record

# librdkafka's constants for where a timestamp comes from.
KINDS = {
    confluent_kafka.TIMESTAMP_NOT_AVAILABLE: "-",
    confluent_kafka.TIMESTAMP_CREATE_TIME: "C",
    confluent_kafka.TIMESTAMP_LOG_APPEND_TIME: "L",
}


def version():
    return f"{confluent_kafka.version()} (librdkafka {confluent_kafka.libversion()[0]})"


def produce(bootstrap, topic, records, options):
    old = {}
    if "api" in options:
        old = {"api.version.request": False, "broker.version.fallback": options["api"] + ".0.1"}
    producer = Producer(
        {
            **old,
            "bootstrap.servers": bootstrap,
            "compression.type": options.get("codec", "none"),
            "acks": options.get("acks", "all"),
            "enable.idempotence": options.get("idempotent", "false"),
            "max.in.flight": 1,
            "batch.size": 900_000,
            "linger.ms": 50,
            "message.max.bytes": 8_000_000,
            "message.timeout.ms": 60_000,
        }
    )
    offsets = [None] * len(records)

    def delivered(i):
        def report(error, message):
            offsets[i] = error or message.offset()

        return report

    for i, r in enumerate(records):
        timestamp = {} if r.timestamp is None else {"timestamp": r.timestamp}
        while True:
            try:
                producer.produce(topic, r.value, r.key, r.partition, headers=r.headers, on_delivery=delivered(i), **timestamp)
                break
            except BufferError:  # the queue is full: wait for deliveries
                producer.poll(0.1)
    producer.flush(60)
    for o in offsets:
        if not isinstance(o, int) and o is not None:
            raise KafkaException(o)
    return [-1 if o is None or options.get("acks") == "0" else o for o in offsets]


def consume(bootstrap, topic, partition, count):
    return _read(bootstrap, lambda _: [TopicPartition(topic, partition, OFFSET_BEGINNING)], count)


def since(bootstrap, topic, ms, count):
    def positions(consumer):
        partitions = consumer.list_topics(topic, timeout=30).topics[topic].partitions
        return consumer.offsets_for_times([TopicPartition(topic, p, ms) for p in partitions], timeout=30)

    return _read(bootstrap, positions, count)


def _read(bootstrap, positions, count):
    """Yields records from where positions(consumer) says."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "none",  # required, and not used: partitions are assigned and nothing is committed
            "enable.auto.commit": False,
            "check.crcs": True,
            "fetch.wait.max.ms": 100,
        }
    )
    try:
        consumer.assign(positions(consumer))
        seen = 0
        while seen < count:
            for m in consumer.consume(min(count - seen, 10_000), timeout=0.2):
                if m.error():
                    raise KafkaException(m.error())
                kind, timestamp = m.timestamp()
                if KINDS[kind] == "-":
                    timestamp = None
                yield Record(m.partition(), m.offset(), timestamp, KINDS[kind], m.key(), m.value(), m.headers() or [])
                seen += 1
    finally:
        consumer.close()

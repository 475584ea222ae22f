"""kafka-python."""

import kafka
from kafka import KafkaConsumer, KafkaProducer, TopicPartition

from records import Record


def version():
    return kafka.__version__


def produce(bootstrap, topic, records, options):
    codec = options.get("codec", "none")
    acks = options.get("acks", "all")
    settings = {}
    if "api" in options:
        settings["api_version"] = tuple(map(int, options["api"].split(".")))
    producer = KafkaProducer(
        bootstrap_servers=bootstrap,
        compression_type=None if codec == "none" else codec,
        acks=acks if acks == "all" else int(acks),
        enable_idempotence=options.get("idempotent") == "true",
        max_in_flight_requests_per_connection=1,
        batch_size=900_000,
        linger_ms=50,
        max_request_size=8_000_000,
        **settings,
    )
    try:
        sent = [
            producer.send(topic, r.value, r.key, headers=r.headers, partition=r.partition, timestamp_ms=r.timestamp) for r in records
        ]
        producer.flush(timeout=60)
        done = [f.get(timeout=60) for f in sent]
        return [-1 if acks == "0" else d.offset for d in done]
    finally:
        producer.close(timeout=10)


def consume(bootstrap, topic, partition, count):
    tp = TopicPartition(topic, partition)
    return _read(bootstrap, lambda _: [tp], lambda consumer: consumer.seek_to_beginning(tp), count)


def since(bootstrap, topic, ms, count):
    def partitions(consumer):
        return [TopicPartition(topic, p) for p in consumer.partitions_for_topic(topic)]

    def seek(consumer):
        for tp, found in consumer.offsets_for_times({tp: ms for tp in consumer.assignment()}).items():
            consumer.seek(tp, found.offset)

    return _read(bootstrap, partitions, seek, count)


def _read(bootstrap, partitions, seek, count):
    """Yields records of partitions(consumer) from where seek(consumer) puts them."""
    consumer = KafkaConsumer(bootstrap_servers=bootstrap, check_crcs=True, fetch_max_wait_ms=100, allow_auto_create_topics=False)
    try:
        consumer.assign(partitions(consumer))
        seek(consumer)
        seen = 0
        while seen < count:
            for records in consumer.poll(timeout_ms=200).values():
                for r in records:
                    yield Record(r.partition, r.offset, r.timestamp, "CL"[r.timestamp_type], r.key, r.value, r.headers)
                    seen += 1
    finally:
        consumer.close()

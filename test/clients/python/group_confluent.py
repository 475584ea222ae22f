"""confluent-kafka as a member of a group."""

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition


def member(bootstrap, options, lines):
    consumer = Consumer(_settings(bootstrap, options))

    def numbers(partitions):
        return [p.partition for p in partitions]

    consumer.subscribe(
        [options.topic],
        on_assign=lambda _, partitions: lines.assigned(numbers(partitions)),
        on_revoke=lambda _, partitions: lines.revoked(numbers(partitions)),
        on_lost=lambda _, partitions: lines.revoked(numbers(partitions)),
    )
    read = {}
    while not lines.closed and lines.batch() > 0:
        lines.obey(
            lambda p: consumer.pause([TopicPartition(options.topic, p)]),
            lambda p: consumer.resume([TopicPartition(options.topic, p)]),
        )
        for m in consumer.consume(lines.batch(), timeout=0.1):
            if m.error():
                raise KafkaException(m.error())
            lines.record(m.partition(), m.offset(), m.value())
            if options.max is None:
                _store(consumer, m)
            read[m.partition()] = m.offset() + 1
    if options.max is not None:
        consumer.commit(offsets=[TopicPartition(options.topic, p, o) for p, o in read.items()], asynchronous=False)
    consumer.close()


def _store(consumer, message):
    try:
        consumer.store_offsets(message)
    except KafkaException as e:
        if e.args[0].code() != KafkaError._STATE:  # the partition went within the same call
            raise


def _settings(bootstrap, options):
    settings = {
        "bootstrap.servers": bootstrap,
        "group.id": options.group,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": options.max is None,
        "enable.auto.offset.store": False,  # what is not printed must not be committed
        "auto.commit.interval.ms": 500,
        "fetch.wait.max.ms": 100,
        "group.protocol": options.protocol,
    }
    if options.instance is not None:
        settings["group.instance.id"] = options.instance
    if options.protocol == "classic":  # the consumer protocol leaves these to the broker
        settings["session.timeout.ms"] = options.session
        settings["heartbeat.interval.ms"] = 500
        if options.cooperative:
            settings["partition.assignment.strategy"] = "cooperative-sticky"
    return settings

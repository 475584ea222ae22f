"""aiokafka."""

import asyncio

import aiokafka

from records import Record


def version():
    return aiokafka.__version__


def produce(bootstrap, topic, records, options):
    return asyncio.run(_produce(bootstrap, topic, records, options))


def consume(bootstrap, topic, partition, count):
    return asyncio.run(_consume(bootstrap, topic, partition, count))


def since(bootstrap, topic, ms, count):
    return asyncio.run(_since(bootstrap, topic, ms, count))


async def _produce(bootstrap, topic, records, options):
    codec = options.get("codec", "none")
    acks = options.get("acks", "all")
    producer = aiokafka.AIOKafkaProducer(
        bootstrap_servers=bootstrap,
        compression_type=None if codec == "none" else codec,
        acks=acks if acks == "all" else int(acks),
        enable_idempotence=options.get("idempotent") == "true",
        max_batch_size=900_000,
        linger_ms=50,
        max_request_size=8_000_000,
    )
    await producer.start()
    try:
        sent = [
            await producer.send(topic, r.value, r.key, partition=r.partition, timestamp_ms=r.timestamp, headers=r.headers) for r in records
        ]
        done = await asyncio.gather(*sent)
        return [-1 if acks == "0" else d.offset for d in done]
    finally:
        await producer.stop()


async def _consume(bootstrap, topic, partition, count):
    tp = aiokafka.TopicPartition(topic, partition)

    async def seek(consumer):
        consumer.assign([tp])
        await consumer.seek_to_beginning(tp)

    return await _read(bootstrap, [], seek, count)


async def _since(bootstrap, topic, ms, count):
    async def seek(consumer):
        found = await consumer.offsets_for_times({tp: ms for tp in consumer.assignment()})
        for tp, at in found.items():
            consumer.seek(tp, at.offset)

    return await _read(bootstrap, [topic], seek, count)


async def _read(bootstrap, topics, seek, count):
    """Returns records of all partitions of the topics, or of those that seek(consumer) assigns, from where it has put them."""
    consumer = aiokafka.AIOKafkaConsumer(
        *topics, bootstrap_servers=bootstrap, check_crcs=True, fetch_max_wait_ms=100, auto_offset_reset="earliest"
    )
    await consumer.start()
    try:
        await seek(consumer)
        records = []
        while len(records) < count:
            for batch in (await consumer.getmany(timeout_ms=200)).values():
                for r in batch:
                    records.append(Record(r.partition, r.offset, r.timestamp, "CL"[r.timestamp_type], r.key, r.value, list(r.headers)))
        return records
    finally:
        await consumer.stop()

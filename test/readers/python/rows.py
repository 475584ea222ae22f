"""What is told of the rows that an engine read: enough to compare them with what was produced, without sending them."""

import hashlib

import pyarrow as pa

COLUMNS = ("partition", "offset", "timestamp", "append_time", "key", "value", "headers")


def summary(table, dump=None):
    """Two checksums over lines of text, one line a row, by partition and offset: of key and value, and of the timestamp and headers.

    rows_test.go makes the same lines. append_time is the broker's: what is told is whether all are times of the test.
    dump is a file that gets the lines.
    """
    table = table.select(list(COLUMNS)).sort_by([("partition", "ascending"), ("offset", "ascending")])
    content, rest = hashlib.sha256(), hashlib.sha256()
    ends, appended = {}, []
    for partition, offset, timestamp, append_time, key, value, headers in lines(table):
        said = f"{partition} {offset} {text(key)} {text(value)}\n", f"{partition} {offset} {timestamp} {listed(headers)}\n"
        content.update(said[0].encode())
        rest.update(said[1].encode())
        if dump:
            dump.writelines(said)
        low, _, count = ends.get(partition, (offset, offset, 0))
        ends[partition] = (low, offset, count + 1)
        appended.append(append_time)
    return {
        "rows": table.num_rows,
        "content": content.hexdigest(),
        "rest": rest.hexdigest(),
        "partitions": {str(p): list(e) for p, e in ends.items()},
        "appended": [min(appended, default=0), max(appended, default=0)],
    }


def lines(table):
    """Yields rows as tuples; times are microseconds since the epoch, which are far from what datetime can hold."""
    for name in ("timestamp", "append_time"):
        i = table.schema.get_field_index(name)
        table = table.set_column(i, name, table[name].cast(pa.timestamp("us", "UTC")).cast(pa.int64()))
    for batch in table.to_batches(max_chunksize=10_000):
        yield from zip(*(column.to_pylist() for column in batch.columns))


def text(value):
    """Null and empty differ."""
    if value is None:
        return "-"
    return "=" + (value.encode() if isinstance(value, str) else bytes(value)).hex()


def listed(headers):
    """No headers are an empty list or null: Kafka does not tell them apart, nor do all engines."""
    return ",".join(f"{text(h['key'])}:{text(h['value'])}" for h in headers or [])

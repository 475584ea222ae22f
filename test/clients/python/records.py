"""Records and the one line of text that stands for each, as record_test.go has it."""

import base64
import dataclasses


@dataclasses.dataclass
class Record:
    partition: int
    offset: int
    timestamp: int | None  # ms; None lets the client choose
    kind: str  # C(reateTime), L(ogAppendTime) or - when the client does not tell
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes | None]]


def decode(field):
    return None if field == "-" else base64.b64decode(field)


def encode(data):
    return "-" if data is None else base64.b64encode(data).decode()


def parse(line):
    partition, offset, timestamp, kind, key, value, headers = line.rstrip("\n").split("\t")
    pairs = [h.split(":") for h in headers.split(",")] if headers else []
    return Record(
        partition=int(partition),
        offset=int(offset),
        timestamp=None if timestamp == "-1" else int(timestamp),
        kind=kind,
        key=decode(key),
        value=decode(value),
        headers=[(decode(name).decode(), decode(content)) for name, content in pairs],
    )


def render(r):
    headers = ",".join(encode(name.encode()) + ":" + encode(content) for name, content in r.headers)
    fields = (r.partition, r.offset, -1 if r.timestamp is None else r.timestamp, r.kind, encode(r.key), encode(r.value), headers)
    return "\t".join(map(str, fields))

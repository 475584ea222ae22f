"""Makes the data files of other engines beside it: the same rows as Go's engineRows, written in as many ways.

Run it with the engines of the first line's versions:
    pip install pyarrow==26.0.1 duckdb==2.0.1 && python make.py
"""
import os
import random
import sys

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

HERE = os.path.dirname(os.path.abspath(__file__))
N = 1000


def rows():
    for i in range(N):
        headers = [
            [{"key": "a", "value": None}, {"key": "b", "value": b"v%d" % i}],
            [],
            None,
            [{"key": "hex:ff", "value": b""}],
        ][i % 4]
        yield {
            "partition": 3,
            "offset": 5 + 2 * i,
            "timestamp": (1_700_000_000_000 + 7 * i - 50 * (i % 3)) * 1000,
            "append_time": (1_700_000_000_000 + i // 10) * 1000,
            "key": None if i % 5 == 0 else b"" if i % 5 == 1 else b"key-%d" % (i % 50),
            "value": None if i % 7 == 0 else b'{"n":%d}' % i * (1 + i % 3),
            "headers": headers,
        }


def field(name, kind, number, required=False):
    return pa.field(name, kind, nullable=not required, metadata={"PARQUET:field_id": str(number)})


HEADER = pa.struct([field("key", pa.string(), 9, True), field("value", pa.binary(), 10)])


def fields(element="element", required=True):
    time = pa.timestamp("us", tz="UTC")
    return [
        field("partition", pa.int32(), 1, required),
        field("offset", pa.int64(), 2, required),
        field("timestamp", time, 3, required),
        field("append_time", time, 4, required),
        field("key", pa.binary(), 5),
        field("value", pa.binary(), 6),
        field("headers", pa.list_(field(element, HEADER, 8)), 7),
    ]


def table(of=None, schema=None):
    return pa.Table.from_pylist(of or list(rows()), schema=pa.schema(schema or fields()))


def arrow(name, t=None, **options):
    pq.write_table(t or table(), os.path.join(HERE, name + ".parquet"), **options)


def with_arrow():
    small = {"data_page_size": 512, "write_batch_size": 32, "row_group_size": 400}
    arrow("arrow-index-dictionary-snappy", compression="snappy", write_page_index=True, **small)
    arrow("arrow-dictionary-gzip", compression="gzip", **small)
    arrow("arrow-plain-zstd-checksums", compression="zstd", use_dictionary=False, write_page_checksum=True, **small)
    arrow("arrow-v2-index-lz4", compression="lz4", data_page_version="2.0", write_page_index=True, **small)
    arrow("arrow-v2-uncompressed", compression="none", data_page_version="2.0", **small)
    arrow(
        "arrow-delta-split", use_dictionary=False, compression="zstd", write_page_index=True,
        column_encoding={
            "offset": "DELTA_BINARY_PACKED", "timestamp": "BYTE_STREAM_SPLIT", "append_time": "DELTA_BINARY_PACKED",
            "key": "DELTA_BYTE_ARRAY", "value": "DELTA_LENGTH_BYTE_ARRAY", "headers.list.element.value": "DELTA_BYTE_ARRAY",
        }, **small)
    arrow("arrow-no-statistics", write_statistics=False, **small)
    # Names, order and additions of engines that go by field ids.
    schema = [field("extra", pa.float64(), 1000)] + fields("array", required=False)[::-1] + [field("city", pa.string(), 1001)]
    extra = [r | {"extra": 0.5, "city": None if r["offset"] % 3 else "Bonn"} for r in rows()]
    arrow("arrow-other-order", table(extra, schema), use_compliant_nested_type=False, **small)
    arrow("arrow-optional-missing", table(schema=fields()[:4] + fields()[5:6]), **small)
    # A rewrite without sorting: three files one after the other, and rows that went to and fro.
    all = list(rows())
    arrow("arrow-merged", table(all[600:900] + all[:600] + all[900:]), **small)
    random.Random(1).shuffle(all)
    arrow("arrow-shuffled", table(all), **small)


# The kinds of typed columns and, as files have them from before a column was widened, int and float.
TYPED = [field(*f) for f in (("ok", pa.bool_(), 11), ("n", pa.int64(), 12), ("small", pa.int32(), 13), ("f", pa.float64(), 14), ("narrow", pa.float32(), 15), ("city", pa.string(), 16))]


def cells(i):
    """The same as Go's typedCells. Every eleventh row has none."""
    if i % 11 == 0:
        return dict.fromkeys(f.name for f in TYPED)
    return {
        "ok": None if i % 4 == 0 else i % 4 == 1,
        "n": i * 1_000_003 - (1 << 40),
        "small": i % 100 - 50,
        "f": None if i % 6 == 0 else i % 50 / 3,
        "narrow": i % 9 / 4,
        "city": ["", None, "Bonn", "Z\u00fcrich"][i % 4],
    }


def typed_with_arrow():
    t = table([r | cells(i) for i, r in enumerate(rows())], fields() + TYPED)
    small = {"data_page_size": 512, "write_batch_size": 32, "row_group_size": 400}
    arrow("arrow-typed-dictionary", t, compression="zstd", write_page_index=True, **small)
    arrow(
        "arrow-typed-v2-split", t, compression="snappy", use_dictionary=False, data_page_version="2.0",
        column_encoding={"ok": "RLE", "n": "DELTA_BINARY_PACKED", "small": "BYTE_STREAM_SPLIT", "f": "BYTE_STREAM_SPLIT", "narrow": "BYTE_STREAM_SPLIT", "city": "DELTA_BYTE_ARRAY"},
        **small)


IDS = """{partition: 1, "offset": 2, "timestamp": 3, append_time: 4, key: 5, value: 6,
  headers: {__duckdb_field_id: 7, element: {__duckdb_field_id: 8, key: 9, value: 10}}}"""


def with_duckdb():
    db = duckdb.connect()
    t = table()
    db.register("t", t)
    for version in "v1", "v2":
        db.execute(f"""copy t to '{HERE}/duckdb-{version}.parquet'
          (format parquet, parquet_version {version}, field_ids {IDS}, codec '{"snappy" if version == "v1" else "zstd"}')""")
    db.execute(f"""copy (select case when i % 3 = 0 then 'file:///lake/a.parquet' else 's3://lake/b.parquet' end as file_path, i as pos
      from range(3000) r(i) order by 1, 2) to '{HERE}/duckdb-deletes.parquet'
      (format parquet, field_ids {{file_path: 2147483546, pos: 2147483545}})""")


def deletes_with_arrow():
    schema = pa.schema([field("file_path", pa.string(), 2147483546, True), field("pos", pa.int64(), 2147483545, True)])
    a = [{"file_path": "file:///lake/a.parquet", "pos": i} for i in range(0, 3000, 3)]
    b = [{"file_path": "s3://lake/b.parquet", "pos": i} for i in range(3000) if i % 3]
    pq.write_table(pa.Table.from_pylist(a + b, schema=schema), f"{HERE}/arrow-deletes.parquet", row_group_size=700, data_page_size=512,
                   write_batch_size=64, compression="zstd")


if __name__ == "__main__":
    print(sys.version, pa.__version__, duckdb.__version__)
    with_arrow()
    typed_with_arrow()
    with_duckdb()
    deletes_with_arrow()

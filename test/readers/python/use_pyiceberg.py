"""PyIceberg: plans and reads by itself; its deletes rewrite files."""

import pyarrow as pa
import pyiceberg
from pyiceberg.catalog import load_catalog
from pyiceberg.expressions import And, EqualTo, GreaterThanOrEqual, LessThan
from pyiceberg.table import StaticTable

import rows


def s3_properties(settings):
    """The properties of a store that no catalog tells of."""
    s3 = settings["s3"]
    if not s3:
        return {}
    return {
        "s3.endpoint": s3["endpoint"],
        "s3.region": "us-east-1",
        "s3.access-key-id": s3["id"],
        "s3.secret-access-key": s3["secret"],
        "s3.path-style-access": "true",
    }


class Engine:
    def __init__(self, settings):
        self.settings = settings
        self.version = pyiceberg.__version__

    def table(self, name):
        properties = {"type": "rest", "uri": self.settings["uri"]}
        if self.settings["token"]:
            properties["token"] = self.settings["token"]
        return load_catalog("korvet", **properties).load_table(f"korvet.{name}")

    def read(self, table, snapshot):
        return self.table(table).scan(selected_fields=rows.COLUMNS, snapshot_id=snapshot).to_arrow()

    def read_partition(self, table, partition):
        return self.table(table).scan(EqualTo("partition", partition), selected_fields=rows.COLUMNS).to_arrow()

    def by_path(self, location, metadata):
        return StaticTable.from_metadata(metadata, s3_properties(self.settings)).scan(selected_fields=rows.COLUMNS).to_arrow()

    def find(self, table, time):
        found = self.table(table).scan(EqualTo("timestamp", time.replace(" ", "T") + "+00:00"), selected_fields=("partition", "offset")).to_arrow()
        return zip(*(found[name].to_pylist() for name in ("partition", "offset")))

    def delete(self, table, partition, low, high):
        self.table(table).delete(And(EqualTo("partition", partition), And(GreaterThanOrEqual("offset", low), LessThan("offset", high))))

    def insert(self, table):
        there = self.table(table)
        there.append(there.scan(limit=1).to_arrow().cast(there.schema().as_arrow()))

    def overwrite(self, table, changed):
        """Gives one row in the place of itself, with another key or as it is."""
        there = self.table(table)
        one = And(EqualTo("partition", 0), EqualTo("offset", 1))
        row = there.scan(one).to_arrow().cast(there.schema().as_arrow())
        if changed:
            row = row.set_column(row.column_names.index("key"), row.schema.field("key"), pa.array([b"changed"] * len(row), row.schema.field("key").type))
        there.overwrite(row, overwrite_filter=one)

    def maintain(self, table):
        there = self.table(table)
        there.maintenance.expire_snapshots().by_id(there.snapshots()[0].snapshot_id).commit()

    def drop(self, table):
        load_catalog("korvet", type="rest", uri=self.settings["uri"]).drop_table(f"korvet.{table}")

    def create(self, table):
        load_catalog("korvet", type="rest", uri=self.settings["uri"]).create_table(f"korvet.{table}", pa.schema([("a", pa.int32())]))

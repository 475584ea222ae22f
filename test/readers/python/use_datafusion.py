"""DataFusion over iceberg-rust, which reads metadata and data; PyIceberg is the REST client and looks the location up."""

import datafusion
from pyiceberg_core.datafusion import IcebergDataFusionTable

import rows
import use_pyiceberg

ALL = ", ".join(f'"{c}"' for c in rows.COLUMNS)


class Engine:
    def __init__(self, settings):
        self.settings = settings
        self.catalog = use_pyiceberg.Engine(settings)
        self.version = datafusion.__version__

    def query(self, sql, metadata, properties):
        context = datafusion.SessionContext()
        context.register_table("records", IcebergDataFusionTable(["korvet", "records"], metadata, properties))
        return context.sql(sql).to_arrow_table()

    def known(self, table):
        found = self.catalog.table(table)
        return found.metadata_location, {k: str(v) for k, v in found.io.properties.items()}

    def read(self, table, snapshot):
        if snapshot:
            raise NotImplementedError("it reads the newest snapshot only")
        return self.query(f"SELECT {ALL} FROM records", *self.known(table))

    def by_path(self, location, metadata):
        return self.query(f"SELECT {ALL} FROM records", metadata, use_pyiceberg.s3_properties(self.settings))

    def find(self, table, time):
        sql = f"""SELECT "partition", "offset" FROM records WHERE "timestamp" = CAST('{time}+00:00' AS TIMESTAMP WITH TIME ZONE)"""
        found = self.query(sql, *self.known(table))
        return zip(*(found[name].to_pylist() for name in ("partition", "offset")))

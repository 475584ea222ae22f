"""Polars' own Parquet reader; PyIceberg plans the scan and is the REST client."""

import datetime
import warnings

import polars

import rows
import use_pyiceberg


class Engine:
    def __init__(self, settings):
        self.settings = settings
        self.catalog = use_pyiceberg.Engine(settings)
        self.version = polars.__version__
        warnings.simplefilter("ignore", polars.exceptions.PerformanceWarning)

    def scan(self, source, options, snapshot=None):
        return polars.scan_iceberg(source, reader_override="native", storage_options=options or None, snapshot_id=snapshot)

    def known(self, table):
        found = self.catalog.table(table)
        return found, {k: v for k, v in found.io.properties.items() if k.startswith("s3.")}

    def read(self, table, snapshot):
        return self.scan(*self.known(table), snapshot).select(rows.COLUMNS).collect().to_arrow()

    def read_partition(self, table, partition):
        return self.scan(*self.known(table)).filter(polars.col("partition") == partition).select(rows.COLUMNS).collect().to_arrow()

    def by_path(self, location, metadata):
        return self.scan(metadata, use_pyiceberg.s3_properties(self.settings)).select(rows.COLUMNS).collect().to_arrow()

    def find(self, table, time):
        at = datetime.datetime.fromisoformat(time + "+00:00")
        return self.scan(*self.known(table)).filter(polars.col("timestamp") == at).select("partition", "offset").collect().rows()

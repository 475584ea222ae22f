"""ClickHouse inside Python (chdb)."""

import io
import os

import chdb
import pyarrow as pa
from chdb import session

import rows

ALL = ", ".join(f"`{c}`" for c in rows.COLUMNS)


class Engine:
    def __init__(self, settings):
        self.settings = settings
        os.chdir("/")  # it reads local files below its working directory only
        self.session = session.Session()
        self.session.query("SET allow_database_iceberg = 1, session_timezone = 'UTC', output_format_arrow_string_as_string = 0")
        self.version = str(self.session.query("SELECT version()", "TSVRaw")).strip()
        options = ["catalog_type = 'rest'", "warehouse = 'korvet'", f"vended_credentials = {int(settings['vended'])}"]
        if settings["token"]:
            options.append(f"auth_header = 'Authorization: Bearer {settings['token']}'")
        if settings["uri"]:
            self.session.query(f"CREATE DATABASE korvet ENGINE = DataLakeCatalog('{settings['uri']}') SETTINGS {', '.join(options)}")

    def query(self, sql):
        return pa.ipc.open_stream(io.BytesIO(self.session.query(sql, "ArrowStream").bytes())).read_all()

    def read(self, table, snapshot):
        at = f" SETTINGS iceberg_snapshot_id = {snapshot}" if snapshot else ""
        return self.query(f"SELECT {ALL} FROM korvet.`korvet.{table}`{at}")

    def read_partition(self, table, partition):
        return self.query(f"SELECT {ALL} FROM korvet.`korvet.{table}` WHERE `partition` = {partition}")

    def by_path(self, location, metadata):
        name = metadata.rpartition("/")[2]
        pick = f"SETTINGS iceberg_metadata_file_path = 'metadata/{name}'"
        s3 = self.settings["s3"]
        if s3:
            source = f"icebergS3('{s3['endpoint']}/{location.removeprefix('s3://')}', '{s3['id']}', '{s3['secret']}', {pick})"
        else:
            source = f"icebergLocal('{location.removeprefix('file://')}', {pick})"
        return self.query(f"SELECT {ALL} FROM {source}")

    def find(self, table, time):
        found = self.query(f"SELECT `partition`, `offset` FROM korvet.`korvet.{table}` WHERE timestamp = toDateTime64('{time}', 6, 'UTC')")
        return zip(*(found[name].to_pylist() for name in ("partition", "offset")))

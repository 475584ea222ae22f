"""DuckDB: its extensions come from the package index and are loaded by path; its deletes are position deletes."""

import importlib.resources

import duckdb

import rows

ALL = ", ".join(f'"{c}"' for c in rows.COLUMNS)


def load(connection, name):
    package = importlib.resources.files(f"duckdb_extension_{name}")
    connection.load_extension(str(package / "extensions" / f"v{duckdb.__version__}" / f"{name}.duckdb_extension"))


class Engine:
    def __init__(self, settings):
        self.version = duckdb.__version__
        self.connection = duckdb.connect(config={"autoinstall_known_extensions": "false"})
        for extension in ("avro", "httpfs", "iceberg"):
            load(self.connection, extension)
        self.connection.execute("SET TimeZone = 'UTC'")
        if settings["s3"]:
            self.keep_keys(**settings["s3"])
        login = f"TOKEN '{settings['token']}'" if settings["token"] else "AUTHORIZATION_TYPE 'none'"
        if settings["uri"]:
            self.connection.execute(f"ATTACH '' AS korvet (TYPE iceberg, ENDPOINT '{settings['uri']}', {login})")

    def keep_keys(self, endpoint, id, secret):
        host = endpoint.removeprefix("http://")
        self.connection.execute(
            f"CREATE SECRET (TYPE s3, KEY_ID '{id}', SECRET '{secret}', REGION 'us-east-1', ENDPOINT '{host}', URL_STYLE 'path', USE_SSL false)")

    def query(self, sql):
        return self.connection.execute(sql).to_arrow_table()

    def read(self, table, snapshot):
        at = f" AT (VERSION => {snapshot})" if snapshot else ""
        return self.query(f"SELECT {ALL} FROM korvet.korvet.{table}{at}")

    def read_partition(self, table, partition):
        return self.query(f'SELECT {ALL} FROM korvet.korvet.{table} WHERE "partition" = {partition}')

    def by_path(self, location, metadata):
        return self.query(f"SELECT {ALL} FROM iceberg_scan('{location}')")

    def find(self, table, time):
        return self.connection.execute(f"""SELECT "partition", "offset" FROM korvet.korvet.{table} WHERE "timestamp" = TIMESTAMPTZ '{time}'""").fetchall()

    def delete(self, table, partition, low, high):
        self.connection.execute(f'DELETE FROM korvet.korvet.{table} WHERE "partition" = {partition} AND "offset" >= {low} AND "offset" < {high}')

    def update(self, table):
        self.connection.execute("SET unsafe_iceberg_ignore_sort_order = true")  # else it refuses by itself
        self.connection.execute(f"""UPDATE korvet.korvet.{table} SET key = 'changed'::BLOB
            WHERE "partition" = 0 AND "offset" = (SELECT min("offset") FROM korvet.korvet.{table} WHERE "partition" = 0 AND len(headers) > 0)""")

    def insert(self, table):
        self.connection.execute("SET unsafe_iceberg_ignore_sort_order = true")  # else it refuses by itself
        self.connection.execute(f"INSERT INTO korvet.korvet.{table} SELECT * FROM korvet.korvet.{table} WHERE len(headers) > 0 LIMIT 1")

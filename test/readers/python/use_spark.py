"""Spark with Iceberg's Java library; its jars are where install.sh put them."""

import os

import pyspark
from pyspark.sql import SparkSession

import rows

ALL = ", ".join(f"`{c}`" for c in rows.COLUMNS)


def options(settings):
    """One catalog: the broker's."""
    yield from {
        "spark.driver.extraClassPath": os.path.join(settings["home"], "jars", "*"),
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.log.level": "ERROR",
        "spark.driver.memory": "1g",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "spark.sql.catalog.korvet": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.korvet.type": "rest",
        "spark.sql.catalog.korvet.uri": settings["uri"],
        "spark.sql.catalog.korvet.cache-enabled": "false",
    }.items()
    if settings["token"]:
        yield "spark.sql.catalog.korvet.token", settings["token"]


class Engine:
    def __init__(self, settings):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        self.version = pyspark.__version__
        builder = SparkSession.builder.master("local[2]").appName("readers")
        for name, value in options(settings):
            builder = builder.config(name, value)
        self.session = builder.getOrCreate()

    def read(self, table, snapshot):
        at = f" VERSION AS OF {snapshot}" if snapshot else ""
        return self.session.sql(f"SELECT {ALL} FROM korvet.korvet.{table}{at}").toArrow()

    def read_partition(self, table, partition):
        return self.session.sql(f"SELECT {ALL} FROM korvet.korvet.{table} WHERE `partition` = {partition}").toArrow()

    def by_path(self, location, metadata):
        return self.session.read.format("iceberg").load(location).select(*rows.COLUMNS).toArrow()

    def find(self, table, time):
        found = self.session.sql(f"SELECT `partition`, `offset` FROM korvet.korvet.{table} WHERE timestamp = TIMESTAMP '{time}'")
        return [(r[0], r[1]) for r in found.collect()]

    def delete(self, table, partition, low, high):
        self.session.sql(f"DELETE FROM korvet.korvet.{table} WHERE `partition` = {partition} AND `offset` >= {low} AND `offset` < {high}")

    def run(self, statement):
        self.session.sql(statement).collect()

    def close(self):
        self.session.stop()

"""Trino: a server of its own on a free loopback port, which needs Java 24 or later."""

import ctypes
import glob
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time

import pyarrow as pa
import trino

import rows

MICROS = "CAST(to_unixtime(date_trunc('second', {0})) AS bigint) * 1000000 + CAST(date_format({0}, '%f') AS bigint)"
HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
SCHEMA = pa.schema([
    ("partition", pa.int32()), ("offset", pa.int64()), ("timestamp", pa.timestamp("us", "UTC")), ("append_time", pa.timestamp("us", "UTC")),
    ("key", pa.binary()), ("value", pa.binary()), ("headers", HEADERS),
])


def java_home():
    """KORVET_TEST_JAVA_HOME, or a new enough one beside the java on the path."""
    default = os.path.dirname(os.path.dirname(os.path.realpath(shutil.which("java"))))
    for home in [os.environ.get("KORVET_TEST_JAVA_HOME", default), *sorted(glob.glob(f"{os.path.dirname(default)}/*"))]:
        release = os.path.join(home, "release")
        if os.path.exists(release):
            with open(release, encoding="utf-8") as said:
                version = re.search(r'JAVA_VERSION="(\d+)', said.read())
            if version and int(version.group(1)) >= 24:
                return home
    raise RuntimeError("Trino needs Java 24 or later: KORVET_TEST_JAVA_HOME names one")


def catalog(settings):
    yield from ("connector.name=iceberg", "iceberg.catalog.type=rest", f"iceberg.rest-catalog.uri={settings['uri']}")
    if settings["token"]:
        yield from ("iceberg.rest-catalog.security=OAUTH2", f"iceberg.rest-catalog.oauth2.token={settings['token']}")
    if settings["vended"]:  # it takes keys from a catalog, and no address
        endpoint = settings["server"]
        yield from ("iceberg.rest-catalog.vended-credentials-enabled=true", "fs.native-s3.enabled=true", f"s3.endpoint={endpoint}",
                    "s3.region=us-east-1", "s3.path-style-access=true")
    else:
        yield "fs.hadoop.enabled=true"  # file:// locations
    yield "iceberg.expire-snapshots.min-retention=0s"


def configure(directory, port, settings):
    files = {
        "config.properties": ["coordinator=true", "node-scheduler.include-coordinator=true", f"http-server.http.port={port}",
                              f"discovery.uri=http://127.0.0.1:{port}", "query.max-memory=512MB", "query.max-memory-per-node=512MB",
                              "memory.heap-headroom-per-node=256MB"],
        "node.properties": ["node.environment=test", "node.bind-ip=127.0.0.1", "node.internal-address=127.0.0.1", f"node.data-dir={directory}/data"],
        "jvm.config": ["-Xmx1500m", "-XX:+UseG1GC", "-XX:+ExitOnOutOfMemoryError", "-Djdk.attach.allowAttachSelf=true",
                       "--add-modules=jdk.incubator.vector"],
        "catalog/korvet.properties": list(catalog(settings)),
    }
    os.makedirs(f"{directory}/etc/catalog")
    for name, lines in files.items():
        with open(f"{directory}/etc/{name}", "w", encoding="utf-8") as f:
            f.write("\n".join(lines) + "\n")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def end_with_parent():
    """Runs in the child: a session that is killed leaves no server behind (PR_SET_PDEATHSIG)."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


class Engine:
    def __init__(self, settings):
        self.directory, port = tempfile.mkdtemp(), free_port()
        configure(self.directory, port, settings)
        home = java_home()
        launcher = os.path.join(settings["home"], "trino", "bin", "launcher")
        environment = {**os.environ, "JAVA_HOME": home, "PATH": f"{home}/bin:{os.environ['PATH']}"}
        with open(f"{self.directory}/log", "w", encoding="utf-8") as log:
            self.server = subprocess.Popen([launcher, "run", "--etc-dir", f"{self.directory}/etc"], env=environment, stdout=log, stderr=log, preexec_fn=end_with_parent)
        self.connection = trino.dbapi.connect(host="127.0.0.1", port=port, user="korvet", catalog="korvet", schema="korvet")
        self.version = self.first_answer()

    def first_answer(self):
        """Waits for the server: a fresh one refuses, then has not yet counted itself among its nodes."""
        for _ in range(3000):
            if self.server.poll() is not None:
                break
            try:
                return self.query("SELECT node_version FROM system.runtime.nodes")[0][0]
            except Exception:  # not yet
                time.sleep(0.2)
        with open(f"{self.directory}/log", encoding="utf-8") as log:
            raise RuntimeError(log.read()[-1500:])

    def query(self, sql):
        """A server that had no time to tell itself of its own node, as on a busy machine, has none to run a statement on."""
        for _ in range(300):
            try:
                cursor = self.connection.cursor()
                cursor.execute(sql)
                return cursor.fetchall()
            except trino.exceptions.TrinoQueryError as e:
                if e.error_name != "NO_NODES_AVAILABLE":
                    raise
                time.sleep(0.2)
        raise RuntimeError("Trino has had no node to run a statement on for a minute")

    def read(self, table, snapshot):
        return self.rows(f"{table} FOR VERSION AS OF {snapshot}" if snapshot else table)

    def read_partition(self, table, partition):
        return self.rows(f"{table} WHERE partition = {partition}")

    def rows(self, source):
        times = ", ".join(MICROS.format(c) for c in ("timestamp", "append_time"))
        found = self.query(f'SELECT partition, "offset", {times}, key, value, headers FROM {source}')
        columns = [list(c) for c in zip(*found)] or [[] for _ in SCHEMA]
        columns[6] = [None if h is None else [{"key": k, "value": v} for k, v in h] for h in columns[6]]
        for i in (2, 3):
            columns[i] = pa.array(columns[i], pa.int64()).cast(pa.timestamp("us", "UTC"))
        return pa.table(columns, schema=SCHEMA)

    def find(self, table, time):
        return self.query(f'SELECT partition, "offset" FROM {table} WHERE timestamp = TIMESTAMP \'{time} UTC\'')

    def delete(self, table, partition, low, high):
        self.query(f'DELETE FROM {table} WHERE partition = {partition} AND "offset" >= {low} AND "offset" < {high}')

    def run(self, statement):
        self.query(statement)

    def close(self):
        self.server.terminate()
        self.server.wait()
        shutil.rmtree(self.directory, ignore_errors=True)

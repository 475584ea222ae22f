"""query.py CATALOG-URI SQL: DuckDB's answer, as a JSON list of objects."""

import json
import sys

import use_duckdb

uri, sql = sys.argv[1:]
engine = use_duckdb.Engine({"uri": uri, "token": "", "s3": None})
print(json.dumps(engine.query(sql).to_pylist()))

"""columns.py ENGINE SETTINGS TABLE COLUMN...: what an engine reads of columns, as JSON: of each the values that are not null, and their sum where they are
numbers or booleans. SETTINGS are those of session.py."""

import importlib
import json
import sys

import pyarrow as pa
import pyarrow.compute as pc

import rows

engine, settings, table, *rows.COLUMNS = sys.argv[1:]  # engines read these columns
found = importlib.import_module("use_" + engine).Engine(json.loads(settings)).read(table, None)
answer = {}
for name in rows.COLUMNS:
    column = found[name]
    numbers = pa.types.is_integer(column.type) or pa.types.is_floating(column.type) or pa.types.is_boolean(column.type)
    answer[name] = {"count": len(column) - column.null_count, "sum": float(pc.sum(column).as_py() or 0) if numbers else 0.0}
print(json.dumps(answer))

"""Runs one engine behind the commands of engine_test.go: session.py ENGINE SETTINGS.

SETTINGS are JSON: uri of the catalog, home (where install.sh put what the engine needs), s3 (none, or endpoint, id, secret of a store for reading without
a catalog). A command is a line of JSON on standard input, so is its answer: {"error": "..."} when the engine refused.
Commands that read may name a file, dump, which gets all rows as text.
For each ENGINE there is a module use_ENGINE beside this file with a class Engine of that many methods, each optional but read:
  read(table, snapshot)          -> Arrow table of all rows, of the newest snapshot or an older one
  read_partition(table, partition) -> the same of one partition
  by_path(location, metadata)    -> the same without a catalog: the table's folder, and its newest metadata file
  find(table, time)              -> (partition, offset) of the rows with that timestamp, a text in UTC with milliseconds
  delete(table, partition, low, high), insert(table), update(table), overwrite(table, changed), maintain(table), run(statement)
"""

import importlib
import json
import os
import sys

import rows


def run(engine, command):
    do, arguments = command.pop("do"), command
    if do == "version":
        return {"version": engine.version}
    dump = arguments.pop("dump", None)
    answer = getattr(engine, do)(**arguments)
    if do in ("read", "read_partition", "by_path"):
        with open(dump or os.devnull, "w", encoding="ascii") as lines:
            return rows.summary(answer, dump and lines)
    if do == "find":
        return {"found": sorted([int(p), int(o)] for p, o in answer)}
    return {}


def main():
    name, settings = sys.argv[1:]
    engine = None
    for line in iter(sys.stdin.readline, ""):
        try:
            engine = engine or importlib.import_module("use_" + name).Engine(json.loads(settings))
            answer = run(engine, json.loads(line))
        except Exception as e:  # whatever an engine raises is the answer
            answer = {"error": f"{type(e).__name__}: {e}"[:2000]}
        print(json.dumps(answer), flush=True)
    if hasattr(engine, "close"):
        engine.close()
    os._exit(0)  # threads of engines do not end by themselves


if __name__ == "__main__":
    main()

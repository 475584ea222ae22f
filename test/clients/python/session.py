"""Runs one Python client behind the commands of session_test.go: session.py DRIVER HOST:PORT, commands on standard input.

For each DRIVER there are modules beside this file:
  use_DRIVER    version(), produce(bootstrap, topic, records, options) -> offsets, consume(bootstrap, topic, partition, count) -> records,
                since(bootstrap, topic, ms, count) -> records
  group_DRIVER  member(bootstrap, options, lines)
  admin_DRIVER  Admin(bootstrap), whose methods are the verbs of admin_test.go
"""

import importlib
import sys

import member
from records import parse, render


def run(name, bootstrap, words):
    """Yields the lines that answer one command."""
    driver = importlib.import_module("use_" + name)
    command, *arguments = words
    if command == "version":
        yield driver.version()
    elif command == "produce":
        topic, file, *options = arguments
        with open(file, encoding="ascii") as lines:
            records = [parse(line) for line in lines]
        yield from driver.produce(bootstrap, topic, records, dict(o.split("=", 1) for o in options))
    elif command == "consume":
        topic, partition, count = arguments
        yield from map(render, driver.consume(bootstrap, topic, int(partition), int(count)))
    elif command == "since":
        topic, ms, count = arguments
        yield from map(render, driver.since(bootstrap, topic, int(ms), int(count)))
    elif command == "admin":
        yield from administer(importlib.import_module("admin_" + name).Admin(bootstrap), *arguments)
    elif command == "member":
        group = importlib.import_module("group_" + name)
        member.be(lambda options, lines: group.member(bootstrap, options, lines), arguments)
    else:
        raise ValueError(f"unknown command {command}")


def administer(admin, verb, *words):
    """Returns what the call has told, if it tells something."""
    try:
        return list(getattr(admin, verb)(*words) or [])
    finally:
        admin.close()


def main():
    name, bootstrap = sys.argv[1:]
    for line in iter(sys.stdin.readline, ""):
        try:
            for answer in run(name, bootstrap, line.split()):
                print(answer)
            print("ok")
        except Exception as e:  # whatever a client raises is the answer
            print("error", " ".join(repr(e).split()))
        sys.stdout.flush()


main()

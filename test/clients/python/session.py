"""Runs one Python client behind the commands of session_test.go: session.py DRIVER HOST:PORT, commands on standard input.

DRIVER is a module beside this file with version(), produce(bootstrap, topic, records, options) -> offsets and
consume(bootstrap, topic, partition, count) -> records.
"""

import importlib
import sys

from records import parse, render


def run(driver, bootstrap, words):
    """Yields the lines that answer one command."""
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
    else:
        raise ValueError(f"unknown command {command}")


def main():
    driver, bootstrap = importlib.import_module(sys.argv[1]), sys.argv[2]
    for line in sys.stdin:
        try:
            for answer in run(driver, bootstrap, line.split()):
                print(answer)
            print("ok")
        except Exception as e:  # whatever a client raises is the answer
            print("error", " ".join(repr(e).split()))
        sys.stdout.flush()


main()

"""How a member of a group speaks with its test, as member_test.go has it."""

import dataclasses
import os
import queue
import sys
import threading


@dataclasses.dataclass
class Options:
    group: str
    topic: str
    session: int  # ms
    instance: str | None
    cooperative: bool
    protocol: str  # classic or consumer
    max: int | None  # how many records to read, commit and leave after; None for no end


def parse(words):
    group, topic, *rest = words
    given = dict(word.split("=", 1) for word in rest)
    return Options(
        group=group,
        topic=topic,
        session=int(given["session"]),
        instance=given.get("instance"),
        cooperative="cooperative" in given,
        protocol=given.get("protocol", "classic"),
        max=int(given["max"]) if "max" in given else None,
    )


class Lines:
    """Commands from standard input, reports to standard output."""

    def __init__(self, options):
        self.closed = False
        self.left = options.max
        self._commands = queue.SimpleQueue()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self):
        for line in iter(sys.stdin.readline, ""):
            verb, *rest = line.split()
            if verb == "close":
                break
            self._commands.put((verb, int(rest[0])))
        self.closed = True

    def obey(self, pause, resume):
        """Carries out what was asked for, by functions that take a partition's number."""
        while not self._commands.empty():
            verb, partition = self._commands.get()
            if verb == "pause":
                pause(partition)
                self._say("paused", partition)
            else:
                resume(partition)
                self._say("resumed", partition)

    def batch(self, most=500):
        """How many records may be asked for; 0 when all that were to be read have been."""
        return most if self.left is None else min(most, self.left)

    def record(self, partition, offset, value):
        if self.left is not None:
            self.left -= 1
        self._say("record", partition, offset, value.decode())

    def assigned(self, partitions):
        self._say("assigned", *partitions)

    def revoked(self, partitions):
        self._say("revoked", *partitions)

    @staticmethod
    def _say(*words):
        print(*words, flush=True)


def be(run, words):
    """Makes this process a member: run(options, lines) returns when lines.closed, or lines.batch() is 0, and the group was left."""
    options = parse(words)
    status = 0
    try:
        run(options, Lines(options))
    except Exception as e:  # whatever a client raises is the answer
        print("error", " ".join(repr(e).split()), flush=True)
        status = 1
    os._exit(status)  # the thread that waits for commands does not end

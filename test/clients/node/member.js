// A member of a group, as member_test.go has it: how it speaks with its test.
"use strict";

function parse([group, topic, ...rest]) {
  const given = Object.fromEntries(rest.map((word) => word.split("=")));
  return {
    group,
    topic,
    session: Number(given.session),
    instance: given.instance,
    cooperative: given.cooperative === "true",
    protocol: given.protocol ?? "classic",
    max: given.max === undefined ? Infinity : Number(given.max),
  };
}

const say = (...words) => process.stdout.write(`${words.join(" ")}\n`);

// member reports to the test and carries out its commands, which come from an iterator over lines, by actions { pause, resume }.
class Member {
  constructor(options, lines) {
    this.options = options;
    this.lines = lines;
    this.left = options.max;
  }

  // record says that a record was read, unless all that were to be read have been; it returns whether it was.
  record(partition, offset, value) {
    if (this.left === 0) {
      return false;
    }
    this.left--;
    say("record", partition, offset, value);
    if (this.left === 0) {
      this.finished();
    }
    return true;
  }

  assigned(partitions) {
    say("assigned", ...partitions);
  }

  revoked(partitions) {
    say("revoked", ...partitions);
  }

  // untilClosed returns when the test says close or everything was read.
  async untilClosed(actions) {
    const everything = new Promise((resolve) => {
      this.finished = resolve;
    });
    await Promise.race([everything, this.obey(actions)]);
  }

  async obey(actions) {
    for await (const line of this.lines) {
      const [verb, partition] = line.split(" ");
      if (verb === "close") {
        return;
      }
      actions[verb](Number(partition));
      say(verb === "pause" ? "paused" : "resumed", partition);
    }
  }
}

module.exports = { Member, parse };

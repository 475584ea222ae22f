// KafkaJS behind the commands of session_test.go: session.js FOLDER HOST:PORT, commands on standard input. FOLDER has the node_modules.
"use strict";

const crypto = require("node:crypto");
const fs = require("node:fs");
const path = require("node:path");
const readline = require("node:readline");
const { createRequire } = require("node:module");

const [folder, bootstrap] = process.argv.slice(2);
const installed = createRequire(path.join(folder, "package.json"));
const { Kafka, CompressionTypes, CompressionCodecs, logLevel } = installed("kafkajs");
const { Member, parse: parseMember } = require("./member.js");
const { member } = require("./kafkajs_group.js");
const { call } = require("./kafkajs_admin.js");
const lz4 = installed("lz4-napi");
const zstd = installed("@bokuweb/zstd-wasm");

// KafkaJS brings gzip and takes the others from packages, as its documentation has it.
CompressionCodecs[CompressionTypes.Snappy] = installed("kafkajs-snappy");
CompressionCodecs[CompressionTypes.LZ4] = () => ({
  compress: (encoder) => lz4.compressFrame(encoder.buffer),
  decompress: (buffer) => lz4.decompressFrame(buffer),
});
CompressionCodecs[CompressionTypes.ZSTD] = () => ({
  compress: async (encoder) => Buffer.from(zstd.compress(encoder.buffer)),
  decompress: async (buffer) => Buffer.from(zstd.decompress(buffer, { defaultHeapSize: 32 << 20 })), // room for frames that do not tell their size
});

const codecs = {
  none: CompressionTypes.None,
  gzip: CompressionTypes.GZIP,
  snappy: CompressionTypes.Snappy,
  lz4: CompressionTypes.LZ4,
  zstd: CompressionTypes.ZSTD,
};

// How many records one send takes: KafkaJS makes one batch of each send and partition.
const sendRecords = 1000;

const decode = (field) => (field === "-" ? null : Buffer.from(field, "base64"));

// KafkaJS's headers are an object whose values may be lists.
function headersOf(field) {
  const headers = {};
  for (const pair of field === "" ? [] : field.split(",")) {
    const [name, value] = pair.split(":");
    (headers[decode(name).toString()] ??= []).push(decode(value));
  }
  return headers;
}

function parse(line) {
  const [partition, , timestamp, , key, value, headers] = line.split("\t");
  const message = { partition: Number(partition), key: decode(key), value: decode(value), headers: headersOf(headers) };
  return timestamp === "-1" ? message : { ...message, timestamp };
}

// groups cuts records into sends: at most sendRecords each, all of one partition, so that the answer's base offset tells all offsets.
function groups(records) {
  const sends = [];
  for (const r of records) {
    const last = sends.at(-1);
    if (last === undefined || last.length === sendRecords || last[0].partition !== r.partition) {
      sends.push([r]);
    } else {
      last.push(r);
    }
  }
  return sends;
}

const connect = () => new Kafka({ clientId: "korvet-test", brokers: [bootstrap], logLevel: logLevel.NOTHING });

async function produce(topic, file, options) {
  const kafka = connect();
  const idempotent = options.idempotent === "true";
  const producer = kafka.producer({ idempotent, maxInFlightRequests: 1 });
  await producer.connect();
  try {
    const lines = fs.readFileSync(file, "ascii").split("\n").filter((line) => line !== "");
    const acks = options.acks === undefined || options.acks === "all" ? -1 : Number(options.acks);
    const offsets = [];
    for (const messages of groups(lines.map(parse))) {
      const answers = await producer.send({ topic, messages, acks, compression: codecs[options.codec ?? "none"] });
      const base = acks === 0 ? -1 : Number(answers[0].baseOffset);
      offsets.push(...messages.map((_, i) => (base < 0 ? -1 : base + i)));
    }
    return offsets;
  } finally {
    await producer.disconnect();
  }
}

const encode = (bytes) => (bytes === null || bytes === undefined ? "-" : Buffer.from(bytes).toString("base64"));

function render(partition, { offset, timestamp, key, value, headers }) {
  const pairs = Object.entries(headers ?? {}).flatMap(([name, values]) => [values].flat().map((v) => `${encode(name)}:${encode(v)}`));
  return [partition, offset, timestamp ?? -1, "-", encode(key), encode(value), pairs.join(",")].join("\t");
}

// read reads as a group of its own, as KafkaJS's consumers are always members of one: count records that are wanted. seek is called once it runs.
async function read(topic, count, wanted, seek) {
  const consumer = connect().consumer({ groupId: `consume-${crypto.randomUUID()}`, maxWaitTimeInMs: 100 });
  await consumer.connect();
  try {
    await consumer.subscribe({ topic, fromBeginning: true });
    const records = [];
    await new Promise((resolve, reject) => {
      consumer.on(consumer.events.CRASH, ({ payload }) => reject(payload.error));
      const eachBatch = async ({ batch }) => {
        records.push(...batch.messages.filter((m) => wanted(batch.partition, m)).map((m) => render(batch.partition, m)));
        if (records.length >= count) {
          resolve();
        }
      };
      consumer.run({ autoCommit: false, eachBatch }).catch(reject);
      seek(consumer);
    });
    return records;
  } finally {
    await consumer.disconnect();
  }
}

const consume = (topic, partition, count) => read(topic, count, (p) => p === partition, () => {});

async function since(topic, ms, count) {
  const admin = connect().admin();
  await admin.connect();
  const found = await admin.fetchTopicOffsetsByTimestamp(topic, ms);
  await admin.disconnect();
  // A batch from before the seek may have been under way.
  const from = new Map(found.map(({ partition, offset }) => [partition, BigInt(offset)]));
  const seek = (consumer) => found.forEach(({ partition, offset }) => consumer.seek({ topic, partition, offset }));
  return read(topic, count, (partition, { offset }) => BigInt(offset) >= from.get(partition), seek);
}

async function run([command, ...words]) {
  switch (command) {
    case "version":
      return [installed("kafkajs/package.json").version];
    case "produce":
      return produce(words[0], words[1], Object.fromEntries(words.slice(2).map((w) => w.split("="))));
    case "consume":
      return consume(words[0], Number(words[1]), Number(words[2]));
    case "since":
      return since(words[0], Number(words[1]), Number(words[2]));
    case "admin":
      return call(connect(), words[0], words.slice(1));
    default:
      throw new Error(`unknown command ${command}`);
  }
}

async function main() {
  await zstd.init();
  const lines = readline.createInterface({ input: process.stdin })[Symbol.asyncIterator]();
  for await (const line of lines) {
    try {
      const [command, ...words] = line.split(" ");
      if (command === "member") {
        await member(connect(), new Member(parseMember(words), lines));
        process.exit(0); // the input stays open
      }
      const answers = await run(line.split(" "));
      process.stdout.write([...answers, "ok", ""].join("\n"));
    } catch (error) {
      process.stdout.write(`error ${String(error).replaceAll("\n", " ")}\n`);
    }
  }
}

main();

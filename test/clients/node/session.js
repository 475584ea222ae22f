// KafkaJS behind the commands of session_test.go: session.js FOLDER HOST:PORT, commands on standard input. FOLDER has the node_modules.
// It only produces: KafkaJS's consumers are always members of a group.
"use strict";

const fs = require("node:fs");
const path = require("node:path");
const readline = require("node:readline");
const { createRequire } = require("node:module");

const [folder, bootstrap] = process.argv.slice(2);
const installed = createRequire(path.join(folder, "package.json"));
const { Kafka, CompressionTypes, CompressionCodecs, logLevel } = installed("kafkajs");
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
  decompress: async (buffer) => Buffer.from(zstd.decompress(buffer)),
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

async function produce(topic, file, options) {
  const kafka = new Kafka({ clientId: "korvet-test", brokers: [bootstrap], logLevel: logLevel.NOTHING });
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

async function run([command, ...words]) {
  switch (command) {
    case "version":
      return [installed("kafkajs/package.json").version];
    case "produce":
      return produce(words[0], words[1], Object.fromEntries(words.slice(2).map((w) => w.split("="))));
    default:
      throw new Error(`unknown command ${command}`);
  }
}

async function main() {
  await zstd.init();
  for await (const line of readline.createInterface({ input: process.stdin })) {
    try {
      const answers = await run(line.split(" "));
      process.stdout.write([...answers, "ok", ""].join("\n"));
    } catch (error) {
      process.stdout.write(`error ${String(error).replaceAll("\n", " ")}\n`);
    }
  }
}

main();

package clients_test

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// What stands between the fields of the console tools' input and output. No test data contain it.
const (
	consoleNull   = "<#N#>"
	consoleField  = "<#F#>"
	consoleHeader = "<#H#>"
	consoleRecord = "<#R#>"
)

// newConsole is Kafka's own console producer and console consumer, from the jars in dir. version is that of the Java client beside them.
func newConsole(t *testing.T, addr, dir string, version func(context.Context) (string, error)) *client {
	t.Helper()
	run := func(ctx context.Context, class string, args ...string) *exec.Cmd {
		java := []string{"-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
			"-cp", filepath.Join(dir, "java", "lib", "*"), "org.apache.kafka.tools." + class, "--bootstrap-server", addr}
		return exec.CommandContext(ctx, "java", append(java, args...)...)
	}
	return &client{
		name:    "Java console tools",
		version: version,
		produce: func(ctx context.Context, r produceRequest) ([]int64, error) { return consoleProduce(ctx, run, r) },
		consume: func(ctx context.Context, topic string, partition int32, count int) ([]record, error) {
			return consoleConsume(ctx, run, topic, partition, count)
		},
		admin:  consoleAdmin(t.TempDir(), run),
		member: consoleMember(func(class string, args ...string) *exec.Cmd { return run(context.Background(), class, args...) }),
		lacks: map[string]string{
			rowSeek:                     "has no option for it",
			rowCooperative:              "does not show what it is assigned",
			rowPause:                    "has no command for it",
			consumerProtocol + rowPause: "has no command for it",
			rawSnappy:                   "writes snappy in xerial framing",
			messageSet0:                 "dropped old message formats",
			messageSet1:                 "dropped old message formats",
		},
		lacksTraits: map[trait]string{
			ownTimestamp: "has no option for timestamps",
			binaryBytes:  "reads text",
		},
		startsSlowly: true,
	}
}

type consoleRun func(ctx context.Context, class string, args ...string) *exec.Cmd

func consoleProduce(ctx context.Context, run consoleRun, r produceRequest) ([]int64, error) {
	cmd := run(ctx, "ConsoleProducer", "--topic", r.topic, "--compression-codec", r.codec, "--request-required-acks", r.acks,
		"--batch-size", "900000", "--command-property", fmt.Sprintf("enable.idempotence=%t", r.idempotent),
		"--command-property", fmt.Sprintf("max.request.size=%d", bigLimit),
		"--reader-property", "parse.key=true", "--reader-property", "parse.headers=true", "--reader-property", "null.marker="+consoleNull,
		"--reader-property", "key.separator="+consoleField, "--reader-property", "headers.delimiter="+consoleField,
		"--reader-property", "headers.separator="+consoleHeader)
	text := func(b []byte) string {
		if b == nil {
			return consoleNull
		}
		return string(b)
	}
	var in bytes.Buffer
	for _, rec := range r.records {
		headers := make([]string, len(rec.headers))
		for i, h := range rec.headers {
			headers[i] = h.name + ":" + text(h.value)
		}
		if len(headers) == 0 {
			headers = []string{consoleNull}
		}
		in.WriteString(strings.Join([]string{strings.Join(headers, consoleHeader), text(rec.key), text(rec.value)}, consoleField) + "\n")
	}
	cmd.Stdin = &in
	out, err := cmd.CombinedOutput()
	// The tool ends with 0 after a failed send, having said so.
	if err != nil || bytes.Contains(out, []byte("Error when sending")) {
		return nil, fmt.Errorf("console producer: %w: %s", err, out)
	}
	return unknownOffsets(len(r.records)), nil
}

func consoleConsume(ctx context.Context, run consoleRun, topic string, partition int32, count int) ([]record, error) {
	args := []string{"--topic", topic, "--partition", fmt.Sprint(partition), "--offset", "earliest", "--max-messages", fmt.Sprint(count),
		"--command-property", "fetch.max.wait.ms=100"}
	for _, property := range []string{"print.timestamp=true", "print.partition=true", "print.offset=true", "print.headers=true", "print.key=true",
		"key.separator=" + consoleField, "headers.separator=" + consoleHeader, "line.separator=" + consoleRecord, "null.literal=" + consoleNull} {
		args = append(args, "--formatter-property", property)
	}
	var complaints bytes.Buffer
	cmd := run(ctx, "consumer.ConsoleConsumer", args...)
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("console consumer: %w: %s", err, complaints.String())
	}
	var records []record
	for text := range bytes.SplitSeq(bytes.TrimSuffix(out, []byte(consoleRecord)), []byte(consoleRecord)) {
		r, err := parseConsole(string(text))
		if err != nil {
			return records, fmt.Errorf("read output of console consumer after %d records: %w", len(records), err)
		}
		records = append(records, r)
	}
	return records, nil
}

// parseConsole reads what the console consumer's default formatter prints: CreateTime:1, Partition:0, Offset:0, headers, key, value.
func parseConsole(text string) (record, error) {
	f := strings.Split(text, consoleField)
	if len(f) != 6 {
		return record{}, fmt.Errorf("%d fields in %q", len(f), text)
	}
	field := func(s string) []byte {
		if s == consoleNull {
			return nil
		}
		return []byte(s)
	}
	kind, timestamp, _ := strings.Cut(f[0], ":")
	var p fieldParser
	r := record{
		partition: int32(p.number(strings.TrimPrefix(f[1], "Partition:"))),
		offset:    p.number(strings.TrimPrefix(f[2], "Offset:")),
		timestamp: noTimestamp,
		kind:      map[string]string{"CreateTime": createTime, "LogAppendTime": appendTime}[kind],
		key:       field(f[4]),
		value:     field(f[5]),
	}
	if timestamp != "" {
		r.timestamp = p.number(timestamp)
	}
	if f[3] != "NO_HEADERS" {
		for h := range strings.SplitSeq(f[3], consoleHeader) {
			name, value, _ := strings.Cut(h, ":")
			r.headers = append(r.headers, header{name, field(value)})
		}
	}
	return r, p.err
}

package main

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
)

// stockLine is the tool's last line: "... records sent, 1234.5 records/sec (...), ... 1 ms 50th, 2 ms 95th, 3 ms 99th, ...".
var stockLine = regexp.MustCompile(`(\d+) records sent, ([\d.]+) records/sec .* (\d+) ms 50th, \d+ ms 95th, (\d+) ms 99th`)

type stockResult struct{ rate, p50, p99 float64 }

// stock measures with kafka-producer-perf-test, the tool that comes with Apache Kafka. kafka-consumer-perf-test joins a
// group, so it waits for groups.
func (m *measurement) stock(ctx context.Context) error {
	if m.kafka == "" {
		m.note("kafka-producer-perf-test is left out: KORVET_BENCH_KAFKA names no script that runs it")
		return nil
	}
	m.note("kafka-consumer-perf-test is left out: it needs consumer groups, which korvet does not have yet")
	return m.withTopic(ctx, func(topic string) error {
		m.progress("%-7s %-8s %s", m.name, "stock", m.shape)
		size := m.shape.Size
		out, err := exec.CommandContext(ctx, m.kafka, "tool", "kafka-producer-perf-test",
			"--bootstrap-server", m.system.Address(), "--topic", topic,
			"--num-records", strconv.Itoa(m.Records[size]), "--record-size", strconv.Itoa(size), "--throughput", "-1").CombinedOutput()
		if err != nil {
			return fmt.Errorf("kafka-producer-perf-test: %w: %s", err, out)
		}
		result, err := parseStock(out, m.Records[size])
		if err != nil {
			return err
		}
		m.add("stock.rate", result.rate)
		m.add("stock.p50", result.p50)
		m.add("stock.p99", result.p99)
		return nil
	})
}

func parseStock(out []byte, records int) (stockResult, error) {
	var result stockResult
	found := stockLine.FindSubmatch(out)
	if found == nil || string(found[1]) != strconv.Itoa(records) {
		return result, fmt.Errorf("kafka-producer-perf-test: no line about %d records in %q", records, out)
	}
	for i, into := range []*float64{&result.rate, &result.p50, &result.p99} {
		value, err := strconv.ParseFloat(string(found[i+2]), 64)
		if err != nil {
			return result, fmt.Errorf("kafka-producer-perf-test: %w", err)
		}
		*into = value
	}
	return result, nil
}

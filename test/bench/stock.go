package main

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// stockLine is the tool's last line: "... records sent, 1234.5 records/sec (...), ... 1 ms 50th, 2 ms 95th, 3 ms 99th, ...".
var stockLine = regexp.MustCompile(`(\d+) records sent, ([\d.]+) records/sec .* (\d+) ms 50th, \d+ ms 95th, (\d+) ms 99th`)

type stockResult struct{ rate, p50, p99 float64 }

// stock measures with the tools that come with Apache Kafka: kafka-producer-perf-test, and kafka-consumer-perf-test on what
// that has written.
func (m *measurement) stock(ctx context.Context) error {
	if m.kafka == "" {
		m.note("Kafka's perf tools are left out: KORVET_BENCH_KAFKA names no script that runs them")
		return nil
	}
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
		rate, err := m.stockConsumer(ctx, topic)
		m.add("stock.consume.rate", rate)
		return err
	})
}

// stockConsumer returns the rate from the first record that the tool was given: joining its group is not a part of it.
func (m *measurement) stockConsumer(ctx context.Context, topic string) (float64, error) {
	records := m.Records[m.shape.Size]
	out, err := exec.CommandContext(ctx, m.kafka, "tool", "kafka-consumer-perf-test",
		"--bootstrap-server", m.system.Address(), "--topic", topic, "--num-records", strconv.Itoa(records)).CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("kafka-consumer-perf-test: %w: %s", err, out)
	}
	return parseStockConsumer(out, records)
}

// parseStockConsumer reads a line of names and the line of their values.
func parseStockConsumer(out []byte, records int) (float64, error) {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	for i := 1; i < len(lines); i++ {
		names, values := strings.Split(lines[i-1], ", "), strings.Split(lines[i], ", ")
		at, consumed := slices.Index(names, "fetch.nMsg.sec"), slices.Index(names, "data.consumed.in.nMsg")
		if at < 0 || consumed < 0 || len(values) != len(names) {
			continue
		}
		n, err := strconv.Atoi(values[consumed])
		if err != nil || n < records {
			return 0, fmt.Errorf("kafka-consumer-perf-test: %q of %d records", values[consumed], records)
		}
		rate, err := strconv.ParseFloat(values[at], 64)
		if err != nil {
			return 0, fmt.Errorf("kafka-consumer-perf-test: %w", err)
		}
		return rate, nil
	}
	return 0, fmt.Errorf("kafka-consumer-perf-test: no rate in %q", out)
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

package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestTargetsAreJudgedOnlyWhereTheyWereMeasured(t *testing.T) {
	s := newSamples()
	shape := scenario{Size: 100, Partitions: 1, Producers: 1}
	s.add(subject{"produce.rate", "korvet", shape}, 300)
	if got := judge(s); len(got) != 0 {
		t.Fatalf("without a ceiling: %+v", got)
	}
	s.add(subject{"produce.rate", "raw", shape}, 600)
	s.add(subject{"start.resident.broker", "korvet", scenario{}}, 20e6)
	got := judge(s)
	if len(got) != 2 {
		t.Fatalf("got %+v", got)
	}
	if got[0].Met || got[0].verdict() != "missed by 16.7 %" {
		t.Errorf("half of the ceiling where 0.6 is wanted: %+v, %s", got[0], got[0].verdict())
	}
	if !got[1].Met || got[1].Measured != 20 {
		t.Errorf("20 MB where 40 are allowed: %+v", got[1])
	}
}

func TestTheStockToolsLastLineIsRead(t *testing.T) {
	out := []byte("500 records sent, 100.0 records/sec (0.1 MB/sec), 9 ms avg latency, 9.0 ms max latency.\n" +
		"1000 records sent, 75267.200090 records/sec (7.18 MB/sec), 421.59 ms avg latency, 734.00 ms max latency, " +
		"432 ms 50th, 708 ms 95th, 732 ms 99th, 733 ms 99.9th.\n")
	got, err := parseStock(out, 1000)
	if err != nil || got != (stockResult{75267.200090, 432, 732}) {
		t.Fatalf("got %+v, error %v", got, err)
	}
	if _, err := parseStock(out, 2000); err == nil {
		t.Error("a run that sent too few records was accepted")
	}
}

func TestTheStockConsumersRateIsRead(t *testing.T) {
	out := []byte("a warning\n" +
		"start.time, end.time, data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec, rebalance.time.ms, fetch.time.ms, fetch.MB.sec, fetch.nMsg.sec\n" +
		"2026-11-30 03:53:52:410, 2026-11-30 03:53:56:188, 9.5367, 2.5243, 100000, 26469.0312, 3530, 248, 38.4546, 403225.8065\n")
	if got, err := parseStockConsumer(out, 100_000); err != nil || got != 403225.8065 {
		t.Errorf("got %v, %v", got, err)
	}
	for _, records := range []int{100_001, 200_000} {
		if _, err := parseStockConsumer(out, records); err == nil {
			t.Errorf("a run that read fewer than %d records was accepted", records)
		}
	}
	if _, err := parseStockConsumer([]byte("no such topic\n"), 1); err == nil {
		t.Error("a run without a result was accepted")
	}
}

func TestWrongOptionsAreRefused(t *testing.T) {
	for _, args := range []string{
		"-systems redpanda", "-measures speed", "-sizes 0", "-sizes a", "-records 100", "-records 100=x", "-rounds 0",
		"-compressible 2", "-aof sometimes", "-profile nothing", "leftover",
		"-groups 0", "-group-members 0", "-idle-groups 0", "-commit-partitions x", "-commit-rate 0", "-groups-for 1ms",
		"-storage-for 1ms", "-storage-volume 1000",
	} {
		if _, err := parseOptions(strings.Fields(args)); err == nil {
			t.Errorf("%q was accepted", args)
		}
	}
}

func TestEveryMetricOfATargetIsInTheReport(t *testing.T) {
	known := map[string]bool{}
	for _, m := range metrics {
		if known[m.name] {
			t.Errorf("metric %s is listed twice", m.name)
		}
		known[m.name] = true
	}
	for _, name := range []string{
		"produce.cpu.broker", "catchup.cpu.broker", "produce.cpu.redis", "produce.rate", "catchup.rate", "paced.rate",
		"latency.ack.p50", "latency.e2e.p50", "latency.e2e.p99", "start.resident.broker", "start.first",
		"storage.p99.ratio", "storage.slowest", "storage.json.produce.ratio", "storage.json.catchup.ratio", "storage.compaction.rate",
		"tier.copy", "tier.read.ratio", "tier.seek.first.p99", "tier.p99.ratio",
	} {
		if !known[name] {
			t.Errorf("metric %s is in no report", name)
		}
	}
}

func TestTheTableSetsKorvetBesideTheOthers(t *testing.T) {
	o, err := parseOptions(strings.Fields("-sizes 100 -partitions 1 -producers 1 -rounds 2"))
	if err != nil {
		t.Fatal(err)
	}
	r := &runner{options: o, samples: newSamples()}
	shape := scenario{Size: 100, Partitions: 1, Producers: 1}
	for system, value := range map[string]float64{"raw": 800e3, "korvet": 600e3, "kafka": 1.2e6} {
		r.samples.add(subject{"produce.rate", system, shape}, value)
	}
	var out bytes.Buffer
	r.printFigures(&out)
	for _, want := range []string{"100 B, 1 partition, 1 producer", "800 k/s", "600 k/s", "1.20 M/s", "0.75", "0.50"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

func TestStreamsAreSharedOutToConnections(t *testing.T) {
	shares := rawStreams(6, 4)
	total := 0
	for _, streams := range shares {
		total += len(streams)
	}
	if len(shares) != 4 || total != 6 || len(rawStreams(1, 4)) != 1 {
		t.Fatalf("got %v", shares)
	}
}

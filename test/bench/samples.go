package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/korvet-io/korvet/test/bench/stats"
)

// scenario is one shape of load. It is the zero value for what does not depend on one.
type scenario struct {
	Size       int `json:"size"`
	Partitions int `json:"partitions"` // of a group: that it commits at once
	Producers  int `json:"producers"`
	Groups     int `json:"groups,omitempty"`
	Members    int `json:"members,omitempty"` // of one group
}

func (s scenario) String() string {
	switch {
	case s == scenario{}:
		return "-"
	case s.Members > 0:
		return counted(s.Members, "member")
	case s.Groups > 0 && s.Partitions > 0:
		return fmt.Sprintf("%s, %s a commit", counted(s.Groups, "group"), counted(s.Partitions, "partition"))
	case s.Groups > 0:
		return counted(s.Groups, "group")
	}
	return fmt.Sprintf("%d B, %s, %s", s.Size, counted(s.Partitions, "partition"), counted(s.Producers, "producer"))
}

// slug is the scenario in a file's name.
func (s scenario) slug() string {
	switch {
	case s.Members > 0:
		return fmt.Sprintf("%dm", s.Members)
	case s.Groups > 0:
		return fmt.Sprintf("%dg-%dp", s.Groups, s.Partitions)
	}
	return fmt.Sprintf("%db-%dp-%dc", s.Size, s.Partitions, s.Producers)
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// subject says what a value belongs to.
type subject struct {
	Metric   string   `json:"metric"`
	System   string   `json:"system"`
	Scenario scenario `json:"scenario"`
}

// samples are the values of all counted rounds.
type samples struct {
	values map[subject][]float64
	order  []subject // as first seen
}

func newSamples() *samples { return &samples{values: map[subject][]float64{}} }

func (s *samples) add(of subject, value float64) {
	if _, ok := s.values[of]; !ok {
		s.order = append(s.order, of)
	}
	s.values[of] = append(s.values[of], value)
}

func (s *samples) summary(of subject) (stats.Summary, bool) {
	values, ok := s.values[of]
	if !ok {
		return stats.Summary{}, false
	}
	return stats.Summarize(values), true
}

// metric is something that is measured, in the order of the report.
type metric struct {
	name   string
	label  string
	unit   unit
	detail bool // shown with -details only
}

type unit int

const (
	perSecond unit = iota
	seconds
	milliseconds
	megabytes
	count
	percent
)

func (u unit) format(value float64) string {
	switch u {
	case perSecond:
		if value >= 1e6 {
			return fmt.Sprintf("%.2f M/s", value/1e6)
		}
		if value < 1e3 {
			return fmt.Sprintf("%.3g /s", value)
		}
		return fmt.Sprintf("%.3g k/s", value/1e3)
	case seconds:
		return fmt.Sprintf("%.3g s", value)
	case milliseconds:
		return fmt.Sprintf("%.3g ms", value)
	case megabytes:
		return fmt.Sprintf("%.0f MB", value/1e6)
	case percent:
		return fmt.Sprintf("%.1f %%", value*100)
	default:
		return fmt.Sprintf("%.3g", value)
	}
}

// metrics lists all that a run can measure. CPU is in processor seconds per million records.
var metrics = slices.Concat(
	[]metric{
		{"start.first", "process start to first accepted produce", seconds, false},
		{"start.resident.broker", "resident memory when idle, broker", megabytes, false},
	},
	rateMetrics("produce", "produce, records acknowledged"),
	rateMetrics("catchup", "catch-up consume, records read"),
	rateMetrics("tail", "tail consume beside unbounded producers, records read"),
	rateMetrics("paced", "tail consume beside producers at an equal rate, records read"),
	latencyMetrics("paced", "the same", true),
	latencyMetrics("latency", "at a low rate", false),
	costMetrics("latency", "at a low rate", true),
	[]metric{
		{"stock.rate", "kafka-producer-perf-test, records acknowledged", perSecond, false},
		{"stock.consume.rate", "kafka-consumer-perf-test, records read", perSecond, false},
		{"stock.p50", "kafka-producer-perf-test, acknowledgement p50 at full load", milliseconds, true},
		{"stock.p99", "kafka-producer-perf-test, acknowledgement p99 at full load", milliseconds, true},
	},
	groupMetrics(),
	storageMetrics(),
	tierMetrics(),
)

func rateMetrics(name, label string) []metric {
	short, _, _ := strings.Cut(label, ",")
	return append([]metric{{name + ".rate", label, perSecond, false}}, costMetrics(name, short, false)...)
}

func costMetrics(name, label string, detail bool) []metric {
	return []metric{
		{name + ".cpu.broker", label + ": CPU per million records, broker", seconds, detail},
		{name + ".cpu.redis", label + ": CPU per million records, redis", seconds, detail},
		{name + ".cpu.client", label + ": CPU per million records, client", seconds, true},
		{name + ".allocs", label + ": broker's allocations per record", count, detail},
		{name + ".resident.broker", label + ": peak resident memory, broker", megabytes, detail || name != "produce"},
		{name + ".resident.redis", label + ": peak resident memory, redis", megabytes, true},
	}
}

func latencyMetrics(name, label string, detail bool) []metric {
	var all []metric
	for _, q := range []string{"p50", "p99", "p99.9"} {
		all = append(all,
			metric{name + ".ack." + q, label + ": acknowledgement " + q, milliseconds, detail},
			metric{name + ".e2e." + q, label + ": end to end " + q, milliseconds, detail})
	}
	return all
}

package main

import "fmt"

// target is a figure that the record layout is meant to reach, and what was measured of it.
type target struct {
	Name     string  `json:"name"`
	Wanted   float64 `json:"wanted"`
	AtLeast  bool    `json:"at_least"` // else at most
	Measured float64 `json:"measured"`
	Unit     string  `json:"unit"` // s, ms, MB, or of the system it is a ratio to
	Met      bool    `json:"met"`
}

// verdict says whether the target is met, and by how much of the wanted figure it is missed.
func (t target) verdict() string {
	if t.Met {
		return "met"
	}
	off := t.Measured/t.Wanted - 1
	if t.AtLeast {
		off = -off
	}
	return fmt.Sprintf("missed by %.1f %%", off*100)
}

// judged collects the targets for which this run measured what they are about.
type judged struct {
	samples *samples
	targets []target
}

// of returns a system's median.
func (j *judged) of(system, metric string, shape scenario) (float64, bool) {
	summary, ok := j.samples.summary(subject{metric, system, shape})
	return summary.Median, ok
}

func (j *judged) add(name string, measured, wanted float64, atLeast bool, unit string) {
	met := measured <= wanted
	if atLeast {
		met = measured >= wanted
	}
	j.targets = append(j.targets, target{name, wanted, atLeast, measured, unit, met})
}

// atMost judges one of korvet's own figures, which scale turns into the target's unit.
func (j *judged) atMost(name, metric string, shape scenario, scale, wanted float64, unit string) {
	if value, ok := j.of("korvet", metric, shape); ok {
		j.add(name, value*scale, wanted, false, unit)
	}
}

// ratio judges one of korvet's figures against another system's.
func (j *judged) ratio(name, metric, other string, shape scenario, wanted float64, atLeast bool) {
	ours, ok := j.of("korvet", metric, shape)
	theirs, okToo := j.of(other, metric, shape)
	if ok && okToo && theirs > 0 {
		j.add(name, ours/theirs, wanted, atLeast, "of "+other)
	}
}

// perSize are the targets that depend on the size of records: of 100 B and of 1 KiB.
var perSize = map[int]struct{ produceCPU, catchUpCPU, produceRate float64 }{
	100:  {0.6, 0.4, 0.6},
	1024: {1.5, 1.0, 0.7},
}

// judge compares the run with the targets, which are about one partition and one producer.
func judge(s *samples) []target {
	j := &judged{samples: s}
	for _, size := range []int{100, 1024} {
		shape, wanted := scenario{Size: size, Partitions: 1, Producers: 1}, perSize[size]
		at := fmt.Sprintf(", %d B", size)
		j.atMost("produce: broker's CPU per million records"+at, "produce.cpu.broker", shape, 1, wanted.produceCPU, "s")
		j.atMost("catch-up: broker's CPU per million records"+at, "catchup.cpu.broker", shape, 1, wanted.catchUpCPU, "s")
		j.ratio("produce: Redis's CPU per million records"+at, "produce.cpu.redis", "raw", shape, 1.15, false)
		j.ratio("produce: rate"+at, "produce.rate", "raw", shape, wanted.produceRate, true)
		j.ratio("catch-up: rate"+at, "catchup.rate", "raw", shape, 0.6, true)
		// Both keep up with the producer, or do not: what is left is how the last records fall.
		j.ratio("tail consume beside a producer at an equal rate"+at, "paced.rate", "kafka", shape, 0.99, true)
		j.atMost("acknowledgement p50 at a low rate"+at, "latency.ack.p50", shape, 1, 1, "ms")
		j.atMost("tail read p50 at a low rate, from the producer's call"+at, "latency.e2e.p50", shape, 1, 1, "ms")
		j.ratio("end-to-end p99 at a low rate"+at, "latency.e2e.p99", "kafka", shape, 0.5, false)
	}
	j.groups()
	j.storage()
	j.tier()
	j.atMost("resident memory, idle", "start.resident.broker", scenario{}, 1e-6, 40, "MB")
	j.atMost("start to first accepted produce", "start.first", scenario{}, 1, 0.2, "s")
	return j.targets
}

// groups judges what is wanted of consumer groups: 500 members join in one rebalance, 2,000 groups cost nothing while idle,
// and 20,000 commits a second are answered soon.
func (j *judged) groups() {
	j.atMost("500 members join at once: generations", "joins.classic.generations", scenario{Members: 500}, 1, 1, "")
	idle := scenario{Groups: 2000}
	for _, load := range []struct{ name, metric string }{{"say nothing", "idle.silent"}, {"heartbeat", "idle.groups"}} {
		about := "2,000 groups whose members " + load.name + ": "
		none, ok := j.of("korvet", "idle.none.commands", idle)
		some, okToo := j.of("korvet", load.metric+".commands", idle)
		if ok && okToo {
			j.add(about+"more commands of Redis a second than without", some-none, 1, false, "")
		}
	}
	j.atMost("2,000 groups whose members say nothing: broker's CPU", "idle.silent.cpu.broker", idle, 100, 0.5, "% of a core")
	for _, n := range []int{100, 2000} {
		for _, partitions := range []int{1, 10} {
			shape := scenario{Groups: n, Partitions: partitions}
			about := "20,000 commits a second, " + shape.String()
			if rate, ok := j.of("korvet", "commits.paced.rate", shape); ok {
				j.add(about+": answered in time", rate, 0.99*20_000, true, "/s")
			}
			j.atMost(about+": p99", "commits.paced.p99", shape, 1, 20, "ms")
		}
	}
}

// storage judges what is wanted of segments, values at rest and the storage worker.
func (j *judged) storage() {
	j.atMost("p99 at 30 % of capacity while the worker is busy", "storage.p99.ratio", scenario{}, 1, 2, "of idle")
	j.atMost("longest command of Redis meanwhile, appends aside", "storage.slowest", scenario{}, 1, 5, "ms")
	for _, t := range []struct {
		name, metric, unit string
		wanted             float64
	}{
		{"produce 1 KiB of JSON, zstd with a dictionary", "storage.json.produce.ratio", "of plain", 0.7},
		{"catch-up of 1 KiB of JSON, zstd with a dictionary", "storage.json.catchup.ratio", "of plain", 0.8},
		{"compaction: records a second", "storage.compaction.rate", "/s", 200_000},
	} {
		if value, ok := j.of("korvet", t.metric, scenario{}); ok {
			j.add(t.name, value, t.wanted, true, t.unit)
		}
	}
}

// tier judges what is wanted of copying to tables and reading from them.
func (j *judged) tier() {
	if value, ok := j.of("korvet", "tier.copy", scenario{}); ok {
		j.add("copying 100 B of one partition", value, 500_000, true, "/s")
	}
	if value, ok := j.of("korvet", "tier.read.ratio", scenario{}); ok {
		j.add("cold sequential consume", value, 0.7, true, "of tail")
	}
	j.atMost("cold seek, p99", "tier.seek.first.p99", scenario{}, 1, 10, "ms")
	j.atMost("p99 at 30 % of capacity while copying and with a cold reader", "tier.p99.ratio", scenario{}, 1, 2, "of none")
}

package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/korvet-io/korvet/test/bench/rawredis"
)

// redisCommands counts what korvet's Redis has run so far, by command; nil for other systems.
func (m *measurement) redisCommands(ctx context.Context) (map[string]float64, error) {
	if !m.isKorvet() {
		return nil, nil
	}
	conn, err := rawredis.Dial(ctx, m.korvet.Redis.Address())
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	text, err := conn.Text("INFO", "commandstats")
	if err != nil {
		return nil, err
	}
	return parseCommands(text)
}

// parseCommands reads lines of the form cmdstat_<command>:calls=<n>,...
func parseCommands(info string) (map[string]float64, error) {
	calls := map[string]float64{}
	for line := range strings.Lines(info) {
		stat, ok := strings.CutPrefix(strings.TrimSpace(line), "cmdstat_")
		if !ok {
			continue
		}
		name, rest, _ := strings.Cut(stat, ":calls=")
		number, _, _ := strings.Cut(rest, ",")
		n, err := strconv.ParseFloat(number, 64)
		if err != nil {
			return nil, fmt.Errorf("read Redis's commandstats: %q", line)
		}
		calls[name] = n
	}
	return calls, nil
}

// addCommands records how many commands Redis ran a second since before; those within scripts count as well.
func (m *measurement) addCommands(ctx context.Context, name string, before map[string]float64, took float64) error {
	if before == nil {
		return nil
	}
	after, err := m.redisCommands(ctx)
	if err != nil {
		return err
	}
	total := 0.0
	for command, n := range after {
		if command != "info" { // our own
			total += n - before[command]
		}
	}
	m.add(name+".commands", total/took)
	return nil
}

// groupMetrics lists what the measures of groups record. CPU is in parts of one core.
func groupMetrics() []metric {
	var all []metric
	for _, protocol := range []string{"classic", "consumer"} {
		name, label := "joins."+protocol, "all join one group, "+protocol+" protocol"
		all = append(all,
			metric{name + ".time", label, seconds, false},
			metric{name + ".generations", label + ": generations that members were given", count, protocol == "consumer"},
			metric{name + ".heartbeats", label + ": heartbeats of all members", count, protocol == "classic"})
		all = append(all, coreMetrics(name, label, true)...)
	}
	all = append(all, coreMetrics("idle.none", "a broker without groups", false)...)
	all = append(all, coreMetrics("idle.silent", "groups whose members say nothing", false)...)
	all = append(all, coreMetrics("idle.groups", "groups whose members heartbeat", false)...)
	all = append(all,
		metric{"idle.groups.rate", "groups whose members heartbeat: heartbeats", perSecond, true},
		metric{"idle.groups.p50", "groups whose members heartbeat: heartbeat p50", milliseconds, true},
		metric{"idle.groups.p99", "groups whose members heartbeat: heartbeat p99", milliseconds, false},
		metric{"idle.groups.resident", "groups whose members heartbeat: resident memory, broker", megabytes, false},
		metric{"idle.list", "process start to a list of all these groups", seconds, false})
	for _, kind := range []struct{ name, label string }{{"paced", "commits that fall due at a rate"}, {"flatout", "commits, one after the other in each group"}} {
		name := "commits." + kind.name
		all = append(all,
			metric{name + ".rate", kind.label, perSecond, false},
			metric{name + ".p50", kind.label + ": p50", milliseconds, false},
			metric{name + ".p99", kind.label + ": p99", milliseconds, false},
			metric{name + ".p99.9", kind.label + ": p99.9", milliseconds, true},
			metric{name + ".allocs", kind.label + ": broker's allocations per commit", count, true})
		all = append(all, coreMetrics(name, kind.label, false)...)
	}
	return all
}

func coreMetrics(name, label string, detail bool) []metric {
	return []metric{
		{name + ".cpu.broker", label + ": CPU of one core, broker", percent, detail},
		{name + ".cpu.redis", label + ": CPU of one core, redis", percent, detail},
		{name + ".cpu.client", label + ": CPU of one core, client", percent, true},
		{name + ".commands", label + ": commands that Redis ran", perSecond, detail},
	}
}

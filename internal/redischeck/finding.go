// Package redischeck tells what is wrong, or could be better, with a Redis that is to hold a log. Looking (Read) and
// judging (Judge) are apart: judging is a pure function of what was seen.
package redischeck

import (
	"cmp"
	"slices"
	"strings"
)

// Level says how bad a finding is.
type Level string

const (
	// Error is for what loses acknowledged records, or keeps a broker from working.
	Error Level = "error"
	// Warning is for what may, or what costs more than it has to, and for what could not be seen.
	Warning Level = "warning"
	// OK is for what is as it should be.
	OK Level = "ok"
)

// Finding is what one check came to.
type Finding struct {
	Check string `json:"check"`
	Level Level  `json:"level"`
	Seen  string `json:"seen"`
	Why   string `json:"why,omitempty"`  // it matters
	Cure  string `json:"cure,omitempty"` // in words
	// Settings are the lines of redis.conf that cure it. CONFIG SET takes the same words, at once.
	Settings []string `json:"settings,omitempty"`
}

// Use is what the Redis is for.
type Use struct {
	Namespace string // prefix of korvet's keys
	Replicas  int    // korvet.redis.replicas: how many replicas it is said to have
	Messages  bool   // whether it holds the streams
}

// check judges one thing. No finding: there is nothing to tell.
type check func(Facts, Use) []Finding

// atStart are the checks whose errors keep a broker from starting.
func atStart() []check {
	return []check{visible, version, trims, eviction, persistence}
}

// Judge returns all findings, the worst first.
func Judge(f Facts, u Use) []Finding {
	all := run(f, u, append(atStart(), untried, settings, disk, memory, fragmentation, nodes, role, replicas, latency, clients, forks, users))
	rank := map[Level]int{Error: 0, Warning: 1, OK: 2}
	slices.SortStableFunc(all, func(a, b Finding) int { return cmp.Compare(rank[a.Level], rank[b.Level]) })
	return all
}

// JudgeStart returns the findings that a broker heeds when it starts.
func JudgeStart(f Facts) []Finding { return run(f, Use{}, atStart()) }

func run(f Facts, u Use, checks []check) []Finding {
	all := []Finding{}
	for _, c := range checks {
		all = append(all, c(f, u)...)
	}
	return all
}

// Count tells how many findings are of a level.
func Count(findings []Finding, level Level) int {
	n := 0
	for _, f := range findings {
		if f.Level == level {
			n++
		}
	}
	return n
}

// Brief is a finding in one line.
func (f Finding) Brief() string { return joined(f.Seen, f.Why, f.Remedy()) }

// Remedy is what to do about it in one line, nothing where there is nothing to do.
func (f Finding) Remedy() string { return joined(f.Cure, strings.Join(f.Settings, ", ")) }

func joined(texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(text string) bool { return text == "" }), ": ")
}

func one(f Finding) []Finding { return []Finding{f} }

package work

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/redis/rueidis"

	"github.com/korvet-io/korvet/internal/redistest"
)

// What things cost, in microseconds: medians of Redis 7.0 on a shared core, rounded up. They only weigh the counts against
// each other, so that all are judged by one limit: time itself is nowhere asked.
const (
	perCommand  = 1
	perElement  = 0.1   // of a plain answer
	perWord     = 0.35  // of an answer to a script, or of a command's arguments
	perByte     = 1e-4  // of a plain answer
	perByteLua  = 2e-3  // of an answer to a script: copied several times, into memory that is new
	perAdded    = 4e-4  // a byte of an entry
	perRemoved  = 0.03  // an entry that XTRIM takes, with its node
	perFreed    = 2e-4  // a byte of it
	perDeleted  = 1.0   // an entry that XDEL takes
	perNode     = 0.05  // a node that MEMORY USAGE looks at
	perKeyFreed = 1.0   // a field, node or element that DEL frees at once
	limit       = 2_500 // of a command, and of a script with all it calls: half of the 5 ms that no command may take
)

// ledger is a second Redis that runs what the first one ran, and what each command cost by its count.
type ledger struct {
	t      *testing.T
	ctx    context.Context // also while the broker ends
	client rueidis.Client

	mu      sync.Mutex
	batch   rueidis.Commands // plain writes, which cost little each: run together
	scripts map[string]string
	class   string // of the command that is counted
	sum     float64
	parts   map[string]float64
	worst   map[string]float64
	what    map[string]string
}

func newLedger(t *testing.T, second *redistest.Server) *ledger {
	return &ledger{
		t: t, ctx: context.WithoutCancel(t.Context()), client: second.Client(), scripts: map[string]string{}, parts: map[string]float64{}, worst: map[string]float64{}, what: map[string]string{},
	}
}

// take counts one command. Those of a script count as one.
func (l *ledger) take(c command) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !c.lua {
		l.close()
		l.class = class(c.args)
	}
	cost := l.run(c)
	l.sum += cost
	l.parts[c.args[0]] += cost
}

// close ends what is counted as one command.
func (l *ledger) close() {
	if l.class != "" && l.sum >= l.worst[l.class] {
		l.worst[l.class] = l.sum
		var parts []string
		for _, name := range slices.Sorted(maps.Keys(l.parts)) {
			parts = append(parts, fmt.Sprintf("%s %.0f", name, l.parts[name]))
		}
		l.what[l.class] = strings.Join(parts, ", ")
	}
	l.class, l.sum = "", 0
	clear(l.parts)
}

// class names commands whose work is alike: a script by its first words.
func class(args []string) string {
	switch args[0] {
	case "EVALSHA":
		return "script " + args[1][:8]
	case "EVAL":
		return "script " + sha(args[1])[:8]
	}
	return args[0]
}

// check fails the test for each class of commands of which one did more than it may, and shows all that did much.
func (l *ledger) check() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.close()
	for _, name := range slices.Sorted(maps.Keys(l.worst)) {
		text := fmt.Sprintf("%-16s %6.0f us by its count at most: %s %s", name, l.worst[name], l.what[name], l.scripts[name])
		switch {
		case l.worst[name] > limit:
			l.t.Error(text)
		case l.worst[name] > limit/10:
			l.t.Log(text)
		}
	}
}

// run runs a command on the second Redis and returns what it costs.
func (l *ledger) run(c command) float64 {
	switch c.args[0] {
	case "XADD":
		cost := perCommand + perAdded*float64(size(c.args))
		if !c.lua {
			l.batch = append(l.batch, l.client.B().Arbitrary(c.args...).Build())
			if len(l.batch) >= 500 || size(c.args) > 1<<16 {
				l.flush()
			}
		} else {
			l.flush()
			l.answer(c.args...)
			cost += perByteLua * float64(size(c.args))
		}
		return cost
	case "EVAL", "EVALSHA", "SCRIPT":
		if c.args[0] == "EVAL" {
			l.scripts["script "+sha(c.args[1])[:8]] = firstLine(c.args[1])
		}
		return perCommand + perWord*float64(len(c.args))
	case "MULTI", "EXEC", "PING", "HELLO", "AUTH", "SELECT", "CLIENT", "INFO", "TIME", "CONFIG", "COMMAND", "ACL", "WAIT", "SLOWLOG":
		return perCommand
	case "SCAN", "SSCAN":
		count := 10.0
		if i := slices.Index(c.args, "COUNT"); i > 0 {
			count, _ = strconv.ParseFloat(c.args[i+1], 64)
		}
		return perCommand + perElement*count
	}
	l.flush()
	return perCommand + l.measured(c)
}

// measured is the cost of a command beside that of being one, by what the second Redis shows of it.
func (l *ledger) measured(c command) float64 {
	name, key := c.args[0], ""
	if len(c.args) > 1 {
		key = c.args[1]
	}
	switch name {
	case "XTRIM":
		before, entries := l.bytes(key), l.number("XLEN", key)
		removed := l.number(c.args...)
		return perRemoved*removed + perFreed*before*removed/max(entries, 1)
	case "XDEL":
		return perDeleted * l.number(c.args...)
	case "MEMORY":
		samples := 5.0
		if len(c.args) > 4 {
			samples, _ = strconv.ParseFloat(c.args[4], 64)
		}
		if nodes := l.elements(c.args[2]); samples == 0 || samples > nodes {
			samples = nodes
		}
		return perNode * samples
	case "DEL", "RENAME":
		target := c.args[len(c.args)-1]
		cost := perKeyFreed * l.elements(target)
		l.answer(c.args...)
		return cost
	case "UNLINK", "EXISTS", "EXPIRE", "PERSIST", "XSETID", "XGROUP", "HSET", "HDEL", "HSETNX", "SET", "SADD", "SREM":
		l.answer(c.args...)
		return perWord * float64(len(c.args))
	case "XRANGE", "XREVRANGE", "XINFO", "XLEN", "XPENDING", "GET", "HGET", "HMGET", "HGETALL", "HKEYS", "HVALS", "HLEN", "HEXISTS", "HSCAN",
		"SISMEMBER", "SMEMBERS", "TYPE", "STRLEN":
		elements, bytes := weigh(l.answer(c.args...))
		if c.lua {
			return perWord*elements + perByteLua*bytes
		}
		return perElement*elements + perByte*bytes
	}
	l.t.Errorf("nobody knows what %s costs: say it here", name)
	return 0
}

func (l *ledger) flush() {
	for _, answer := range l.client.DoMulti(l.ctx, l.batch...) {
		if err := answer.NonRedisError(); err != nil {
			l.t.Errorf("second Redis: %v", err)
			break
		}
	}
	l.batch = l.batch[:0]
}

// answer runs a command. Errors of Redis are its answers: the first one gave them, too.
func (l *ledger) answer(args ...string) rueidis.RedisMessage {
	answer := l.client.Do(l.ctx, l.client.B().Arbitrary(args...).Build())
	m, err := answer.ToMessage()
	if e := answer.NonRedisError(); e != nil {
		l.t.Errorf("second Redis: %s: %v, %v", args[0], e, err)
	}
	return m
}

func (l *ledger) number(args ...string) float64 {
	m := l.answer(args...)
	n, _ := m.AsInt64() // 0 where there is none
	return float64(n)
}

// bytes are those of a stream, about.
func (l *ledger) bytes(key string) float64 {
	return l.number("MEMORY", "USAGE", key, "SAMPLES", "1000")
}

// elements are what a key is made of, as far as Redis takes longer the more there are.
func (l *ledger) elements(key string) float64 {
	m := l.answer("TYPE", key)
	kind, _ := m.ToString()
	switch kind {
	case "stream":
		m := l.answer("XINFO", "STREAM", key)
		if info, err := m.AsMap(); err == nil {
			nodes := info["radix-tree-keys"]
			n, _ := nodes.AsInt64()
			return float64(n)
		}
	case "hash":
		return l.number("HLEN", key)
	case "set":
		return l.number("SCARD", key)
	case "string":
		return 1
	}
	return 0
}

// weigh counts the elements and the bytes of an answer.
func weigh(m rueidis.RedisMessage) (elements, bytes float64) {
	list, err := m.ToArray()
	if err != nil {
		text, _ := m.ToString()
		return 1, float64(len(text))
	}
	for i := range list {
		e, b := weigh(list[i])
		elements, bytes = elements+e, bytes+b
	}
	return elements, bytes
}

func size(args []string) (n int) {
	for _, a := range args {
		n += len(a)
	}
	return n
}

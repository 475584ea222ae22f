package sim

import (
	"strconv"
	"strings"

	"github.com/korvet-io/korvet/internal/redisstream"
	"github.com/korvet-io/korvet/internal/redisstream/resp"
)

// Rule is one rule of the append protocol, to be switched off.
type Rule string

// The rules. Each is broken on the wire, between a broker's own code and Redis, so that the code is the one that ships.
const (
	RuleNone      Rule = ""
	RuleScript    Rule = "script"    // the end is read inside the fence: off, it is read before
	RuleStrict    Rule = "strict"    // the floor is above every ms stamped: off, it is the largest
	RuleFloor     Rule = "floor"     // unknown outcomes are settled behind a raised floor: off, a re-fence does not raise it
	RuleExpiry    Rule = "expiry"    // the floor is above the old owner's lease: off, only above what is in the stream
	RuleCut       Rule = "cut"       // appends do not outlive their connection: off, a library carries them to the promoted master
	RuleClaim     Rule = "claim"     // the state says where the log ended: off, a stranger's entry moves the end back
	RuleTopic     Rule = "topic"     // lives of a topic are compared: off, an earlier life writes into the next
	RuleEarlier   Rule = "earlier"   // a deletion ends earlier lives, too: off, it leaves them to their own, which may come first
	RuleProducers Rule = "producers" // producer state is in the append's MULTI: off, a takeover forgets it
	RuleDead      Rule = "dead"      // state belongs to a token: off, a late append's state lands in the new owner's
)

// Rules are all rules and what must happen in a run to need them.
var Rules = map[Rule]Options{
	RuleScript:    {Roll: true},
	RuleStrict:    {Roll: true},
	RuleFloor:     {Roll: true},
	RuleExpiry:    {Roll: true, Force: true},
	RuleCut:       {Roll: true, Failover: true},
	RuleClaim:     {Roll: true, Foreign: true},
	RuleTopic:     {Roll: true, Recreate: true},
	RuleEarlier:   {Recreate: true, Force: true},
	RuleProducers: {Roll: true},
	RuleDead:      {Roll: true, Force: true},
}

// breakRequest changes commands on their way as if a rule were not there.
func (w *world) breakRequest(c *conn, commands [][]string) [][]string {
	fence := isFence(commands[0])
	switch w.opt.Without {
	case RuleScript:
		if commands[0][0] == "HMGET" { // a fence begins: this is the end it will believe
			w.ends[c] = w.lastID()
		}
	case RuleStrict:
		if fence {
			edit(commands[0], "tonumber(ARGV[6]) + 1", "tonumber(ARGV[6])")
			edit(commands[0], "(owner and not mine) and exp or 0", "(owner and not mine) and exp - 1 or 0")
		}
	case RuleFloor:
		if fence {
			edit(commands[0], "redis.call('XSETID', KEYS[1], id)", "if not mine then redis.call('XSETID', KEYS[1], id) end")
		}
	case RuleExpiry:
		if fence {
			edit(commands[0], "(owner and not mine) and exp or 0", "0")
		}
	case RuleClaim:
		if fence {
			edit(commands[0], "if claim and claim ~= found", "if false")
		}
	case RuleTopic:
		if fence {
			w.redis.do("HDEL", w.keys().Leader, "deleted", "topic", "floor")
		}
	case RuleProducers:
		return withoutProducers(commands)
	case RuleDead:
		return w.oneState(commands)
	case RuleNone, RuleCut, RuleEarlier:
	}
	return commands
}

// breakAnswer changes the answers to commands likewise.
func (w *world) breakAnswer(c *conn, commands [][]string, values []resp.Value) []resp.Value {
	if w.opt.Without != RuleScript || !isFence(commands[0]) || values[0].Kind != '*' || values[0].Elems[0].Str != "OK" {
		return values
	}
	if id, err := redisstream.ParseID(w.ends[c]); err == nil {
		values[0].Elems[2].Str = strconv.FormatUint(id.Seq, 10)
		values[0].Elems[7].Str = w.ends[c]
	}
	return values
}

// isFence tells whether a command is the fence script, and makes it one that carries its text.
func isFence(command []string) bool {
	name, text := redisstream.FenceScript()
	if command[0] == "EVALSHA" && command[1] == name {
		command[0], command[1] = "EVAL", text
	}
	return command[0] == "EVAL" && command[1] == text
}

// edit replaces a part of a script's text. A part that is not there is a mistake of the rule.
func edit(command []string, old, changed string) {
	if !strings.Contains(command[1], old) {
		panic("the fence does not have " + old)
	}
	command[1] = strings.ReplaceAll(command[1], old, changed)
}

// withoutProducers takes producer fields out of an append's HSET.
func withoutProducers(commands [][]string) [][]string {
	for i, args := range commands {
		if args[0] != "HSET" {
			continue
		}
		kept := args[:2:2]
		for k := 2; k+1 < len(args); k += 2 {
			if !strings.HasPrefix(args[k], "p:") {
				kept = append(kept, args[k], args[k+1])
			}
		}
		commands[i] = kept
	}
	return commands
}

// oneState makes every token's state the same hash.
func (w *world) oneState(commands [][]string) [][]string {
	prefix := w.keys().State("")
	for _, args := range commands {
		for i := range args {
			if strings.HasPrefix(args[i], prefix) {
				args[i] = prefix + "all"
			}
		}
	}
	return commands
}

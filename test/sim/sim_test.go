package sim

import (
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/korvet-io/korvet/internal/redisstream"
	"github.com/korvet-io/korvet/internal/redistest"
)

// seeds is how many seeds of each kind are played: KORVET_TEST_SIM_SEEDS, else 1,000 in the long form, else a few.
func seeds(t *testing.T, short int) int {
	if s := os.Getenv("KORVET_TEST_SIM_SEEDS"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatalf("KORVET_TEST_SIM_SEEDS: %v", err)
		}
		return n
	}
	if os.Getenv("KORVET_TEST_LONG") != "" {
		return 1000
	}
	return short
}

type stage struct {
	redis *redisConn
	reads *redisstream.Shard
}

func newStage(t *testing.T) stage {
	s := redistest.Start(t)
	o, err := redisstream.ParseURI(s.URI())
	if err != nil {
		t.Fatal(err)
	}
	o.WriteConnections, o.ReadConnections, o.DialTimeout = 1, 2, 5*time.Second
	redis, err := dialRedis(s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	shard := redisstream.Open(o, slog.New(slog.DiscardHandler))
	t.Cleanup(shard.Close)
	return stage{redis, shard}
}

// play runs n seeds and counts those that broke, by what was found.
func (s stage) play(n int, opt Options) (broken int, kinds map[string][]uint64, total Stats) {
	kinds = map[string][]uint64{}
	for seed := range uint64(n) {
		opt.Trace = tracer(seed)
		bad, stats := Run(seed, opt, s.redis, s.reads)
		if len(bad) > 0 {
			broken++
		}
		for _, b := range bad {
			kinds[b] = append(kinds[b], seed)
		}
		total.add(stats)
	}
	return broken, kinds, total
}

// tracer prints what happens in the seed that KORVET_TEST_SIM_TRACE names.
func tracer(seed uint64) func(string) {
	if os.Getenv("KORVET_TEST_SIM_TRACE") != strconv.FormatUint(seed, 10) {
		return nil
	}
	return func(line string) { fmt.Print(line) }
}

func (s *Stats) add(o Stats) {
	s.Acked += o.Acked
	s.Failed += o.Failed
	s.Strangers += o.Strangers
	s.Failovers += o.Failovers
	s.Rolls += o.Rolls
	s.Lives += o.Lives
	s.Refusals += o.Refusals
	s.Reads += o.Reads
	s.Retries += o.Retries
	s.Duplicates += o.Duplicates
	s.Delivered += o.Delivered
}

func TestNoSeedBreaksTheProtocol(t *testing.T) {
	kinds := map[string]Options{
		"calm":                         {},
		"roll":                         {Roll: true},
		"roll failover":                {Roll: true, Failover: true},
		"roll foreign":                 {Roll: true, Foreign: true},
		"roll recreate failover force": {Roll: true, Recreate: true, Failover: true, Force: true},
		"roll foreign failover force":  {Roll: true, Foreign: true, Failover: true, Force: true},
		"roll refuse force":            {Roll: true, Refuse: true, Force: true},
		"replicas refuse force":        {Replicas: true, Refuse: true, Force: true},
	}
	for name, opt := range kinds {
		t.Run(name, func(t *testing.T) {
			n := seeds(t, 40)
			broken, found, stats := newStage(t).play(n, opt)
			t.Logf("%d seeds, %d broken: %+v", n, broken, stats)
			for what, which := range found {
				t.Errorf("%s: %d seeds, such as %v", what, len(which), which[:min(4, len(which))])
			}
			if stats.Acked == 0 || stats.Reads == 0 {
				t.Error("nothing happened")
			}
		})
	}
}

func TestEachRuleIsNeeded(t *testing.T) {
	for rule, opt := range Rules {
		t.Run(string(rule), func(t *testing.T) {
			opt.Without = rule
			enough := 60
			if rule == RuleStrict { // one seed of 30 needs it
				enough = 180
			}
			n := seeds(t, enough)
			broken, found, stats := newStage(t).play(n, opt)
			t.Logf("%d of %d seeds broken: %v; %+v", broken, n, summary(found), stats)
			if broken == 0 {
				t.Error("no seed broke without this rule")
			}
		})
	}
}

func summary(found map[string][]uint64) string {
	text := ""
	for what, which := range found {
		text += fmt.Sprintf("%s (%d) ", what, len(which))
	}
	return text
}

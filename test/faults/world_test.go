// Package faults breaks what a broker stands on, or the broker itself, under load and proves that the log kept its promises.
//
//	KORVET_TEST_LONG=1      the long form: ten times the faults
//	KORVET_TEST_SEED=n      repeat a run's random choices; a failed test prints its seed
//	KORVET_TEST_LOGS=dir    where a failed test keeps the logs of broker and Redis; without it a temporary folder
package faults

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/korvet-io/korvet/internal/redistest"
	"github.com/korvet-io/korvet/test/faults/checker"
	"github.com/korvet-io/korvet/test/faults/load"
	"github.com/korvet-io/korvet/test/faults/probe"
	"github.com/korvet-io/korvet/test/harness"
	"github.com/twmb/franz-go/pkg/kgo"
)

// patience bounds every wait for a condition. It is generous because tests share few cores; it is no expectation.
const patience = 2 * time.Minute

// always are the settings of a Redis that loses nothing when it is killed.
var always = []string{"--appendonly", "yes", "--appendfsync", "always"}

// rounds is how many faults a test provokes: few, or with KORVET_TEST_LONG ten times as many.
func rounds(short int) int {
	if os.Getenv("KORVET_TEST_LONG") != "" {
		return 10 * short
	}
	return short
}

// world is a broker, its Redis, and what a test does to them.
type world struct {
	t      *testing.T
	rnd    *rand.Rand
	broker *harness.Broker
	redis  *redistest.Server
	load   *load.Load
	faults int // provoked so far

	messages *redistest.Server // holds the records: redis, unless a test says otherwise
}

// newWorld starts a broker on o.Redis or, if that is nil, on a Redis of its own with AOF always.
func newWorld(t *testing.T, o harness.Options) *world {
	t.Helper()
	if o.Redis == nil {
		o.Redis = redistest.Start(t, always...)
	}
	o.Own = true
	w := &world{t: t, rnd: rand.New(rand.NewPCG(seed(), 0)), redis: o.Redis, messages: o.Redis}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("random choices: KORVET_TEST_SEED=%d", seed())
		}
	})
	w.broker = harness.Start(t, o)
	w.keepRedisLog("redis", o.Redis)
	w.keepLog("korvet", w.broker.Logs)
	return w
}

// seed is where all random choices of this process begin.
var seed = sync.OnceValue(func() uint64 {
	if n, err := strconv.ParseUint(os.Getenv("KORVET_TEST_SEED"), 10, 64); err == nil {
		return n
	}
	return uint64(time.Now().UnixNano())
})

// keepLog saves a log if the test fails.
func (w *world) keepLog(name string, read func() string) {
	w.t.Cleanup(func() {
		if !w.t.Failed() {
			return
		}
		dir := filepath.Join(os.Getenv("KORVET_TEST_LOGS"), fmt.Sprintf("%s-%d", w.t.Name(), seed()))
		if os.Getenv("KORVET_TEST_LOGS") == "" {
			dir = filepath.Join(os.TempDir(), "korvet-faults", filepath.Base(dir))
		}
		err := os.MkdirAll(dir, 0o755)
		file := filepath.Join(dir, name+".log")
		if err == nil {
			err = os.WriteFile(file, []byte(read()), 0o600)
		}
		w.t.Logf("log of %s: %s %v", name, file, errors.Join(err))
	})
}

func (w *world) keepRedisLog(name string, s *redistest.Server) {
	w.keepLog(name, func() string {
		b, err := os.ReadFile(filepath.Join(s.Dir(), "redis.log"))
		return string(b) + fmt.Sprint(errors.Join(err))
	})
}

// probe asks the broker single questions.
func (w *world) probe() probe.Broker { return probe.Broker(w.broker.Addr) }

// topic creates a topic of one partition for probes.
func (w *world) topic(name string, settings map[string]string) {
	w.t.Helper()
	if err := w.probe().CreateTopic(name, 1, settings); err != nil {
		w.t.Fatalf("create topic %s: %v", name, err)
	}
}

// start puts load on the broker: three idempotent producers, two plain ones and two consumers unless change says otherwise.
func (w *world) start(change func(*load.Config)) {
	w.t.Helper()
	cfg := load.Config{
		Brokers: []string{w.broker.Addr}, Topic: "load", Partitions: 3, Idempotent: 3, Plain: 2, Consumers: 2, Rate: 150,
		Acks: kgo.AllISRAcks(), Seed: seed(),
	}
	if change != nil {
		change(&cfg)
	}
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	var err error
	if w.load, err = load.Start(ctx, cfg); err != nil {
		w.t.Fatalf("start load: %v", err)
	}
	w.t.Cleanup(w.load.Abort)
}

// progress waits until every producer had n more records acknowledged.
func (w *world) progress(n int) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	if err := w.load.AwaitProgress(ctx, n); err != nil {
		w.t.Fatal(err)
	}
}

// moment lets a random time pass in which everybody works. Half of the moments are so short that what broke last is
// still being repaired; the others end while records flow.
func (w *world) moment() {
	w.t.Helper()
	if w.rnd.IntN(2) == 0 {
		w.pass(500 * time.Millisecond)
		return
	}
	w.progress(1 + w.rnd.IntN(150))
}

// pass lets a random time go by: the length of a fault, not a wait for something.
func (w *world) pass(most time.Duration) { time.Sleep(time.Duration(w.rnd.Int64N(int64(most)))) }

// verdict ends the load and fails the test for every promise that was not kept. The log is read again after a restart of
// the broker, and from Redis itself, and has to be the same.
func (w *world) verdict() *checker.Report {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	res, err := w.load.Finish(ctx)
	for _, text := range slices.Sorted(maps.Keys(res.Errors)) {
		w.t.Logf("%d times %s", res.Errors[text], text)
	}
	if err != nil {
		w.t.Fatalf("finish load: %v", err)
	}
	w.broker.Restart()
	again, err := load.ReadAll(ctx, []string{w.broker.Addr}, "load")
	if err != nil {
		w.t.Fatalf("read the log after a restart: %v", err)
	}
	for p, entries := range again {
		res.Run.Views = append(res.Run.Views, checker.View{Consumer: "reader after restart", Partition: p, Complete: true, Entries: entries})
		res.Run.Views = append(res.Run.Views, stored(w.t, w.messages, "load", p))
	}
	report := checker.Check(res.Run)
	w.t.Logf("%d faults: %s", w.faults, report)
	if !report.OK() {
		w.t.Errorf("promises broken")
	}
	requireOutcomes(w.t, res.Run.Producers)
	return report
}

// requireOutcomes fails the test when an idempotent producer, which tries again for ever, does not know of a record, or
// when somebody sent nothing.
func requireOutcomes(t *testing.T, producers []checker.Producer) {
	t.Helper()
	for _, p := range producers {
		unknown := 0
		for _, s := range p.Sent {
			if s.Outcome != checker.Acked {
				unknown++
			}
		}
		if p.Idempotent && unknown > 0 {
			t.Errorf("idempotent producer %d does not know the outcome of %d records", p.ID, unknown)
		}
		if len(p.Sent) == unknown {
			t.Errorf("producer %d was never heard: %d records sent", p.ID, len(p.Sent))
		}
	}
}

// eventually waits until try returns nil and tells how many times it did not.
func eventually(t *testing.T, what string, try func() error) (failures int) {
	t.Helper()
	begin := time.Now()
	told := map[string]int{}
	for {
		err := try()
		if err == nil {
			t.Logf("%s: after %d refusals %v, %v", what, failures, told, time.Since(begin).Round(time.Millisecond))
			return failures
		}
		failures++
		told[strings.SplitN(err.Error(), ":", 2)[0]]++
		if time.Since(begin) > patience {
			t.Fatalf("%s: not within %v, last: %v", what, patience, err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/korvet-io/korvet/test/harness"
)

// Brokers, storage workers and Redis are killed at any moment while segments are copied to tables and dropped from Redis, and workers
// sleep longer than their lease and go on with what they were about (pitfall C81): each record that was acknowledged is in the log
// once, at its offset, for whoever reads it from the start, and in the table once.
func TestTiersUnderKills(t *testing.T) {
	lake := "--korvet.storage.remote.path=file://" + t.TempDir()
	w := newWorld(t, harness.Options{Args: []string{"--korvet.storage.worker.enabled=false", lake}})
	err := w.probe().CreateTopic("tiered", 2, map[string]string{
		"remote.storage.enable": "true", "segment.bytes": "1048576", "segment.ms": "700", "local.retention.ms": "1000",
	})
	if err != nil {
		t.Fatal(err)
	}
	var workers []*harness.Worker
	for i := range 2 {
		worker := harness.StartWorker(t, w.redis, lake, "--korvet.storage.worker.tick-interval=100ms", "--korvet.storage.worker.lease-duration=300ms")
		w.keepLog(fmt.Sprint("worker", i), worker.Logs)
		workers = append(workers, worker)
	}
	l := &ledger{newest: map[string]int{}}
	ctx, stop := context.WithCancel(t.Context())
	var busy sync.WaitGroup
	for id := range 2 {
		busy.Go(func() { l.serial(ctx, t, w.broker.Addr, "tiered", id) })
	}
	replays := 0
	busy.Go(func() {
		for ; ctx.Err() == nil; replays++ {
			requireNoGap(t, seen(t, w.broker.Addr, "tiered"))
		}
	})
	for i := range rounds(12) {
		w.pass(time.Second)
		victim := workers[w.rnd.IntN(2)]
		if i%3 == 2 {
			victim.Pause()
			w.pass(time.Second) // the other one goes on from where it was
			victim.Resume()
			w.faults++
			continue
		}
		victim.Kill9()
		switch w.rnd.IntN(4) {
		case 0:
			w.redis.Kill()
			w.redis.Restart()
		case 1:
			w.broker.Kill9()
			w.broker.Restart()
		}
		w.faults++
		victim.Launch()
	}
	stop()
	busy.Wait()
	eventually(t, "all records to be in the remote tier alone", func() error { return w.onlyOpenSegments("tiered") })
	l.checkAll(t, seen(t, w.broker.Addr, "tiered"))
	t.Logf("%d replays", replays)
	w.requireDocumentedKeys()
	requireWholeTable(t, w, len(l.kept), lake)
}

// requireNoGap fails the test unless each partition's records follow each other from offset 0 on.
func requireNoGap(t *testing.T, records []*kgo.Record) {
	next := map[int32]int64{}
	for _, r := range records {
		if r.Offset != next[r.Partition] {
			t.Errorf("partition %d: offset %d after %d", r.Partition, r.Offset, next[r.Partition]-1)
		}
		next[r.Partition] = r.Offset + 1
	}
}

// checkAll compares a whole log with what producers were told. More may be in it: those whose answer was lost.
func (l *ledger) checkAll(t *testing.T, records []*kgo.Record) {
	t.Helper()
	requireNoGap(t, records)
	got := map[[2]int64]string{}
	for _, r := range records {
		got[[2]int64{int64(r.Partition), r.Offset}] = string(r.Value)
	}
	for _, k := range l.kept {
		if value, there := got[[2]int64{int64(k.partition), k.offset}]; !there || value != k.value {
			t.Errorf("partition %d offset %d: there %t, another value than was acknowledged", k.partition, k.offset, there)
		}
	}
	values := slices.Sorted(func(yield func(string) bool) {
		for _, k := range l.kept {
			if !yield(fmt.Sprint(k.partition, " ", k.offset)) {
				return
			}
		}
	})
	if twice := len(values) - len(slices.Compact(values)); twice > 0 {
		t.Errorf("%d offsets were given twice", twice)
	}
	t.Logf("%d records acknowledged, %d there", len(l.kept), len(records))
}

// requireWholeTable reads the whole table by its files alone, with korvet tables verify.
func requireWholeTable(t *testing.T, w *world, least int, lake ...string) {
	t.Helper()
	out := harness.Command(t, append([]string{"tables", "verify", "tiered", "--json", "--korvet.redis.uri=" + w.redis.URI()}, lake...)...)
	var found []struct {
		Rows     int               `json:"rows"`
		Holes    []json.RawMessage `json:"holes"`
		Problems []json.RawMessage `json:"problems"`
	}
	if err := json.NewDecoder(strings.NewReader(out)).Decode(&found); err != nil || len(found) != 1 {
		t.Fatalf("decode %s: %v", out, err)
	}
	if v := found[0]; len(v.Problems)+len(v.Holes) > 0 || v.Rows < least {
		t.Errorf("the table has %d rows, %d were acknowledged: %s", v.Rows, least, out)
	}
}

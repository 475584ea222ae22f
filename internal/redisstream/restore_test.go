package redisstream

import (
	"errors"
	"reflect"
	"strconv"
	"testing"
	"time"
)

func restored() Restored {
	return Restored{TopicID: lifeOne, Start: 100, End: 1<<60 + 5, LastMs: someTime, Epoch: 12, Fence: someTime + 7}
}

func TestRestoredPartitionGoesOnWhereItsTableEnds(t *testing.T) {
	b := newBench(t)
	r := restored()
	if done, err := b.shard.Restore(t.Context(), b.keys, r); !done || err != nil {
		t.Fatalf("restored %v, %v", done, err)
	}
	v := b.look()
	if v.LogStart != r.Start || EndOffset(v.LastSeq) != r.End || v.TopicID != lifeOne || v.Owner != "" {
		t.Errorf("the log is %+v", v)
	}
	registry := map[string]string{
		"topic": lifeOne, "start": "100", "sealed": decimal(r.End - 1), "tiered": decimal(r.End), "local": decimal(r.End), "fence": decimal(r.Fence),
	}
	if got := b.hash(b.keys.Segments); !reflect.DeepEqual(got, registry) {
		t.Errorf("registry %v, want %v", got, registry)
	}
	if !reflect.DeepEqual(v.Epochs, []Epoch{{Epoch: 0, Start: 100}}) || int64(v.Epoch) < time.Now().Unix()-1704067200-60 {
		t.Errorf("epochs %v, leader epoch %d", v.Epochs, v.Epoch)
	}
	f, token := b.mustFence(at("1/a", someTime))
	if EndOffset(f.LastSeq) != r.End || f.Epoch <= v.Epoch || f.Floor < r.LastMs || f.Alarm {
		t.Errorf("fenced %+v", f)
	}
	b.mustSend(appendAt(token, f.Floor+1, r.End, values(2)))
	if v = b.look(); EndOffset(v.LastSeq) != r.End+2 {
		t.Errorf("the log ends at %d after two records", EndOffset(v.LastSeq))
	}
	if !reflect.DeepEqual(v.Epochs, []Epoch{{Epoch: 0, Start: 100}, {Epoch: f.Epoch, Start: r.End}}) {
		t.Errorf("epochs %v", v.Epochs)
	}
	if done, err := b.shard.Restore(t.Context(), b.keys, r); done || err != nil {
		t.Errorf("what is there was restored: %v, %v", done, err)
	}
	if after := b.look(); !reflect.DeepEqual(after, v) {
		t.Errorf("%+v became %+v", v, after)
	}
}

func TestPartitionOfWhichNothingWasCopiedIsRestoredEmpty(t *testing.T) {
	b := newBench(t)
	if done, err := b.shard.Restore(t.Context(), b.keys, Restored{TopicID: lifeOne, Fence: 3}); !done || err != nil {
		t.Fatalf("restored %v, %v", done, err)
	}
	f, token := b.mustFence(at("1/a", someTime))
	if f.LastSeq != BeforeFirst || f.Epoch == 0 {
		t.Errorf("fenced %+v", f)
	}
	b.mustSend(appendAt(token, f.Floor+1, 0, values(1)))
	if v := b.look(); EndOffset(v.LastSeq) != 1 {
		t.Errorf("the log ends at %d", EndOffset(v.LastSeq))
	}
}

func TestRestoreReplacesNothing(t *testing.T) {
	b := newBench(t)
	for name, command := range map[string][]string{
		"another life":    {"HSET", b.keys.Leader, "topic", lifeTwo},
		"a tombstone":     {"HSET", b.keys.Leader, "deleted", lifeOne},
		"a stream":        {"XADD", b.keys.Stream, "1-1", "value", "x"},
		"a registry":      {"HSET", b.keys.Segments, "open", "1"},
		"leader's epochs": {"HSET", b.keys.Epochs, "1", "2"},
	} {
		b.Do("FLUSHALL")
		b.Do(command...)
		done, err := b.shard.Restore(t.Context(), b.keys, restored())
		if done || !errors.Is(err, ErrOccupied) {
			t.Errorf("%s: restored %v, %v", name, done, err)
		}
		size := b.Do("DBSIZE")
		if keys := must(size.AsInt64()); keys != 1 {
			t.Errorf("%s: %d keys afterwards", name, keys)
		}
	}
	b.Do("FLUSHALL")
	b.Do("HSET", b.keys.Leader, "deleted", lifeOne, "floor", "9")
	later := restored()
	later.TopicID = lifeTwo
	if done, err := b.shard.Restore(t.Context(), b.keys, later); !done || err != nil {
		t.Errorf("a life after the one that was deleted: %v, %v", done, err)
	}
}

func TestRestoredLeaseGivesHigherFences(t *testing.T) {
	b := newBench(t)
	seen := time.Now().UnixMilli() + 3_600_000 // by a clock that was an hour ahead
	for _, fence := range []int64{seen, 5} {
		if err := b.shard.RestoreLease(t.Context(), "korvet:storage:worker", fence); err != nil {
			t.Fatal(err)
		}
	}
	got, err := b.shard.Lease(t.Context(), LeaseRequest{Key: "korvet:storage:worker", Owner: "1/a", LengthMs: 1000})
	if err != nil || got != seen+1 {
		t.Errorf("fence %s, %v; want %d", strconv.FormatInt(got, 10), err, seen+1)
	}
}

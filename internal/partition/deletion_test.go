package partition_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/korvet-io/korvet/internal/batch"
	"github.com/korvet-io/korvet/internal/partition"
	"github.com/korvet-io/korvet/internal/redisstream"
	"github.com/korvet-io/korvet/internal/redistest"
)

// Both lives of a topic have the same keys in Redis.
func TestAReadDuringRecreationGivesNothingOfTheNextLife(t *testing.T) {
	for name, read := range map[string]func(*fixture, partition.Ref) (any, bool, error){
		"by offset": func(f *fixture, ref partition.Ref) (any, bool, error) {
			res, err := f.Read(f.t.Context(), ref, partition.ReadRequest{MaxBytes: 1000, AtLeastOne: true}, nil)
			return res, len(res.Batches) > 0, err
		},
		"by time": func(f *fixture, ref partition.Ref) (any, bool, error) {
			found, err := f.OffsetForTime(f.t.Context(), ref, 1500)
			return found, err == nil && found.Offset >= 0, err
		},
	} {
		s := redistest.Start(t)
		h := &hookedShard{}
		f := hooked(t, s, h, func(s *partition.Settings) { s.TailCacheBytes = 1 }, partition.Dependencies{})
		old, next := newRef("t"), newRef("t")
		for range 5 {
			if o := f.produce(old, timed(t, 2000), all); o.err != nil {
				t.Fatal(o.err)
			}
		}
		var once sync.Once
		h.onRange = func() {
			once.Do(func() {
				if err := f.DeletePartition(context.Background(), old); err != nil {
					t.Error(err)
				}
				for range 5 {
					f.produceUntil(next, func() *batch.Batch { return makeBatch(t, -1, -1, -1, 3000, "new") })
				}
			})
		}
		if got, some, err := read(f, old); !errors.Is(err, partition.ErrUnknownPartition) || some {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		if got := f.readAll(next, 0, 10_000); len(got) != 5 {
			t.Errorf("%s: the next life is %v", name, got)
		}
	}
}

// A full Redis refuses what takes memory: deleting records is how an operator makes room.
func TestRecordsAreDeletedWhileRedisIsFull(t *testing.T) {
	s := redistest.Start(t)
	f := newFixture(t, s, "1/a", nil)
	ref := newRef("t")
	f.mustAppend(ref, numbers(0, 5)...)
	s.Do("CONFIG", "SET", "maxmemory", "1")
	if o := f.produce(ref, makeBatch(t, -1, -1, -1, 1000, "x"), all); !errors.Is(o.err, partition.ErrStorage) {
		t.Fatalf("redis is not full: %+v", o)
	}
	if start, err := f.DeleteBefore(t.Context(), ref, 3); err != nil || start != 3 {
		t.Errorf("log start %d, %v", start, err)
	}
	if got := f.readAll(ref, 3, 1000); !same(got, dense(3, "3", "4")) {
		t.Errorf("the log is %v", got)
	}
	m := s.Do("XLEN", redisstream.NewKeys("korvet", "t", 0).Stream)
	if n, err := m.AsInt64(); err != nil || n != 2 {
		t.Errorf("%d entries are left, %v", n, err)
	}
}

func TestEpochsThatEndBelowTheLogStartAreDropped(t *testing.T) {
	s := redistest.Start(t)
	ref := newRef("t")
	var f *fixture
	for i := range 4 {
		if f != nil {
			f.close()
		}
		f = newFixture(t, s, fmt.Sprintf("%d/a", i), nil)
		f.mustAppend(ref, "a", "b")
	}
	stored := func() map[string]string {
		m := s.Do("HGETALL", redisstream.NewKeys("korvet", "t", 0).Epochs)
		epochs, err := m.AsStrMap()
		if err != nil {
			t.Fatal(err)
		}
		return epochs
	}
	before := stored()
	if _, err := f.DeleteBefore(t.Context(), ref, 5); err != nil {
		t.Fatal(err)
	}
	redistest.Eventually(t, "two of four epochs to go", func() bool { return len(stored()) == 2 })
	for epoch, start := range stored() {
		if before[epoch] != start {
			t.Errorf("epoch %s starts at %s, and at %s before", epoch, start, before[epoch])
		}
	}
	newer := newFixture(t, s, "9/z", nil)
	for name, b := range map[string]*fixture{"owner": f, "another": newer} {
		if got := b.readAll(ref, 5, 1000); !same(got, dense(5, "b", "a", "b")) {
			t.Errorf("%s reads %v", name, got)
		}
	}
}

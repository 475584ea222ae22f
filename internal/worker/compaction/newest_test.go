package compaction

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/korvet-io/korvet/internal/redisstream"
)

func TestMapOfKeysAgreesWithAPlainOne(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	m, plain := newNewest(1000, 1<<20), map[string]redisstream.ID{}
	id := redisstream.ID{Ms: 1_700_000_000_000, Seq: 1 << 60}
	for range 20_000 {
		id.Ms += r.Uint64N(3)
		id.Seq += 1 + r.Uint64N(1000)
		key := fmt.Sprint(r.IntN(750))
		superseded, ok := m.put([]byte(key), id)
		if !ok || superseded != plain[key] {
			t.Fatalf("key %s at %v supersedes %v (%v), want %v", key, id, superseded, ok, plain[key])
		}
		plain[key] = id
	}
	for n := range 1000 {
		key := fmt.Sprint(n)
		at, known := plain[key]
		if m.supersedes([]byte(key), int64(at.Seq)) || m.supersedes([]byte(key), int64(at.Seq)-1) != known {
			t.Errorf("key %s is at %v (%v), which the map does not say", key, at, known)
		}
	}
}

func TestMapOfKeysIsBounded(t *testing.T) {
	m := newNewest(1<<40, 8*newestSlotBytes)
	for n := range uint64(10) {
		_, ok := m.put([]byte{byte(n)}, redisstream.ID{Ms: 5, Seq: n})
		if ok != (n < 6) {
			t.Errorf("key %d is taken: %v", n, ok)
		}
	}
}

func TestMapOfKeysKnowsItsLimits(t *testing.T) {
	m := newNewest(10, 1<<20)
	late := redisstream.ID{Ms: 5 + math.MaxUint32, Seq: 8}
	for _, c := range []struct{ id, superseded redisstream.ID }{
		{redisstream.ID{Ms: 5, Seq: 7}, redisstream.ID{}},
		{late, redisstream.ID{Ms: 5, Seq: 7}},
		{redisstream.ID{Ms: late.Ms + 1, Seq: 9}, redisstream.ID{}}, // the one before is 49 days above the first: left to the sweep
	} {
		if got, ok := m.put([]byte("k"), c.id); !ok || got != c.superseded {
			t.Errorf("%v supersedes %v (%v), want %v", c.id, got, ok, c.superseded)
		}
	}
	if !m.supersedes([]byte("k"), 8) || m.supersedes([]byte("k"), 9) {
		t.Error("the newest offset is not known")
	}
	if _, ok := m.put([]byte("k"), redisstream.ID{Ms: late.Ms + 2, Seq: 7 + math.MaxUint32}); ok {
		t.Error("an offset is taken that does not fit")
	}
}

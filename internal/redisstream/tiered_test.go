package redisstream

import (
	"errors"
	"reflect"
	"testing"
)

func (b *bench) tiered(end int64) int64 {
	b.Helper()
	got, err := b.shard.SetTiered(b.Context(), b.keys, claimOne, end)
	if err != nil {
		b.Fatalf("set end of remote tier: %v", err)
	}
	return got
}

// places are where the log, its part in Redis and its part above the remote tier begin.
func (b *bench) places() [3]int64 {
	v := b.look()
	if g := b.glance(b.keys)[0]; g.Err != nil || g.LocalStart != v.LocalStart || g.TieredEnd != v.TieredEnd {
		b.Errorf("a glance sees %+v, a look %+v", g.View, v)
	}
	return [3]int64{v.LogStart, v.LocalStart, v.TieredEnd}
}

func (b *bench) at(what string, want [3]int64) {
	b.Helper()
	if got := b.places(); got != want {
		b.Errorf("%s: starts and tier's end %v, want %v", what, got, want)
	}
}

func TestSegmentsThatTheRemoteTierHasAreDropped(t *testing.T) {
	b := rolled(t, 3) // 0 to 14 sealed, 15 and 16 open
	b.at("nothing is tiered", [3]int64{0, 0, 0})
	if b.drop(0) {
		t.Error("dropped without a copy")
	}
	for _, c := range [][2]int64{{9, 9}, {4, 9}} {
		if got := b.tiered(c[0]); got != c[1] {
			t.Errorf("tiered to %d gave %d, want %d", c[0], got, c[1])
		}
	}
	b.at("tiered", [3]int64{0, 0, 9})
	if !b.drop(0) || b.drop(1) || b.drop(2) || b.drop(0) {
		t.Error("not exactly segment 0 was dropped")
	}
	b.at("dropped", [3]int64{0, 5, 9})
	b.raise(claimOne, 3)
	b.at("raised below", [3]int64{3, 5, 9})
	b.raise(claimOne, 12) // segment 1 goes by the log start
	if b.tiered(15) != 15 || !b.drop(1) {
		t.Error("segment 1 was kept")
	}
	b.at("raised above", [3]int64{12, 12, 15})
	if r := b.hash(b.keys.Segments); r["local"] != "5" {
		t.Errorf("what goes by the log start moved %v", r)
	}
	if !b.drop(2) {
		t.Error("segment 2 was kept")
	}
	b.at("all sealed ones dropped", [3]int64{12, 15, 15})
	if v := b.look(); len(v.Segments) != 0 || v.LastSeq != 16 {
		t.Errorf("view %+v", v)
	}
}

func TestTheLogEndsAtOrAboveWhatWasDropped(t *testing.T) {
	b := rolled(t, 1)
	b.Do("HSET", b.keys.Segments, "local", "100", "tiered", "100") // as after the log was made anew from the remote tier
	if v := b.look(); EndOffset(v.LastSeq) != 100 || v.LocalStart != 100 {
		t.Errorf("view %+v", v)
	}
}

func TestTheRemoteTierIsNotTakenToBeAheadOfWhatWasSealed(t *testing.T) {
	b := rolled(t, 2)
	if _, err := b.shard.SetTiered(t.Context(), b.keys, claimOne, 11); !errors.Is(err, ErrAhead) {
		t.Errorf("set above all that is sealed: %v", err)
	}
	b.at("nothing is noted", [3]int64{0, 0, 0})
	if b.tiered(10) != 10 {
		t.Error("not noted up to the end of what is sealed")
	}
	unsealed, _, _ := filled(t, 5)
	if _, err := unsealed.shard.SetTiered(t.Context(), unsealed.keys, claimOne, 3); !errors.Is(err, ErrAhead) {
		t.Errorf("set where nothing was sealed: %v", err)
	}
}

func TestASegmentThatIsNotTheOneThatWasSeenIsKept(t *testing.T) {
	b := rolled(t, 2)
	b.tiered(10)
	seen := b.segment(1)
	seen.Last = 8
	if dropped, err := b.shard.DropSegment(t.Context(), b.keys, claimOne, seen); err != nil || dropped {
		t.Errorf("dropped %v, %v", dropped, err)
	}
	b.at("kept", [3]int64{0, 0, 10})
}

func TestUntieredTheLogStartsAtWhatRedisHas(t *testing.T) {
	b := rolled(t, 3)
	b.tiered(12)
	b.drop(0)
	b.drop(1)
	b.Do("HSET", b.keys.Epochs, "3", "2", "4", "9", "5", "11")
	for range 2 { // it may be repeated
		start, err := b.shard.Untier(t.Context(), b.keys, claimOne)
		if err != nil || start != 10 {
			t.Fatalf("starts at %d, %v", start, err)
		}
		b.at("untiered", [3]int64{10, 10, 0})
	}
	if got := b.hash(b.keys.Epochs); !reflect.DeepEqual(got, map[string]string{"4": "9", "5": "11"}) {
		t.Errorf("epochs %v", got)
	}
	if b.drop(2) {
		t.Error("a segment above the log start was dropped after the tier was forgotten")
	}
}

func TestUntieredWithoutATierNothingChanges(t *testing.T) {
	b := rolled(t, 2)
	b.raise(claimOne, 7)
	if start, err := b.shard.Untier(t.Context(), b.keys, claimOne); err != nil || start != 7 {
		t.Errorf("starts at %d, %v", start, err)
	}
	b.at("untiered", [3]int64{7, 7, 0})
}

func TestTheRemoteTierIsNotedByTheRightWorkerOfTheRightLife(t *testing.T) {
	b := rolled(t, 2)
	b.raise(Claim{TopicID: lifeOne, Fence: 100}, 1)
	before := b.hash(b.keys.Segments)
	for claim, want := range map[Claim]error{claimOne: ErrFenced, {TopicID: lifeTwo, Fence: 100}: ErrDeleted} {
		_, set := b.shard.SetTiered(t.Context(), b.keys, claim, 5)
		_, undone := b.shard.Untier(t.Context(), b.keys, claim)
		_, dropped := b.shard.DropSegment(t.Context(), b.keys, claim, b.segment(0))
		for _, err := range []error{set, undone, dropped} {
			if !errors.Is(err, want) {
				t.Errorf("claim %+v: %v, want %v", claim, err, want)
			}
		}
	}
	if after := b.hash(b.keys.Segments); !reflect.DeepEqual(before, after) {
		t.Errorf("registry %v, before %v", after, before)
	}
}

func TestTheNextLifeKnowsNothingOfTheTier(t *testing.T) {
	b := rolled(t, 2)
	b.tiered(10)
	b.drop(0)
	if err := b.shard.Delete(t.Context(), b.keys, lifeOne); err != nil {
		t.Fatal(err)
	}
	b.mustFence(func(q *FenceRequest) { q.TopicID = lifeTwo })
	b.at("another life", [3]int64{0, 0, 0})
}

func TestTheTierIsNotedWithRedisFull(t *testing.T) {
	b := rolled(t, 2)
	b.Do("CONFIG", "SET", "maxmemory", "1")
	if b.tiered(5) != 5 || !b.drop(0) {
		t.Error("nothing went")
	}
	if start, err := b.shard.Untier(t.Context(), b.keys, claimOne); err != nil || start != 5 {
		t.Errorf("starts at %d, %v", start, err)
	}
}

func TestOffsetsBeyondDoublesAreTiered(t *testing.T) {
	b := rolled(t, 1)
	const last = 1<<62 + 1
	b.Do("HSET", b.keys.Segments, "s:0", "sealed 0 4611686018427387905 1 2 3 4", "sealed", "4611686018427387905")
	if _, err := b.shard.SetTiered(t.Context(), b.keys, claimOne, last+2); !errors.Is(err, ErrAhead) {
		t.Errorf("one above: %v", err)
	}
	b.tiered(last)
	seg := Segment{Number: 0, Last: last}
	if dropped, err := b.shard.DropSegment(t.Context(), b.keys, claimOne, seg); err != nil || dropped {
		t.Errorf("one too early: %v, %v", dropped, err)
	}
	b.tiered(last + 1)
	if dropped, err := b.shard.DropSegment(t.Context(), b.keys, claimOne, seg); err != nil || !dropped {
		t.Errorf("dropped %v, %v", dropped, err)
	}
	b.at("dropped", [3]int64{0, last + 1, last + 1})
}

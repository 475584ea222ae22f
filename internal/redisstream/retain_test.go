package redisstream

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

var claimOne = Claim{TopicID: lifeOne, Fence: 10}

// rolled is a partition with sealed segments of five records each at offsets 0, 5, ... and two records in the open one.
func rolled(t *testing.T, segments int) *bench {
	b, token, ms := filled(t, 5)
	for n := range segments {
		if !b.roll(lifeOne, int64(n)) {
			t.Fatal("not rolled")
		}
		count := 5
		if n == segments-1 {
			count = 2
		}
		b.mustSend(appendAt(token, ms+uint64(n)+1, int64(5*n+5), values(count)))
	}
	return b
}

func (b *bench) raise(c Claim, start int64) int64 {
	b.Helper()
	got, err := b.shard.RaiseStart(b.Context(), b.keys, c, start)
	if err != nil {
		b.Fatalf("raise log start: %v", err)
	}
	return got
}

func (b *bench) drop(n int64) bool {
	b.Helper()
	dropped, err := b.shard.DropSegment(b.Context(), b.keys, claimOne, b.segment(n))
	if err != nil {
		b.Fatalf("drop segment %d: %v", n, err)
	}
	return dropped
}

// segment is sealed segment n of a partition that rolled made.
func (b *bench) segment(n int64) Segment { return Segment{Number: n, Base: 5 * n, Last: 5*n + 4} }

func (b *bench) numbers() (list []int64) {
	for _, s := range b.look().Segments {
		list = append(list, s.Number)
	}
	return list
}

func TestACopyGoesAndItsSegmentsNotesGoWithIt(t *testing.T) {
	b, token, ms := filled(t, 5)
	b.roll(lifeOne, 0)
	b.mustSend(appendAt(token, ms+1, 5, values(3)))
	b.Do("XADD", b.keys.Copy, "1-1", "value", "v")
	b.Do("HSET", b.keys.Segments, "dense:0", "5 1", "holes:0", "40", "dense:1", "3 1")
	if g := b.glance(b.keys)[0]; g.Err != nil || !g.Copied {
		t.Errorf("glance %+v", g)
	}
	if err := b.shard.DropCopy(t.Context(), b.keys, claimOne); err != nil {
		t.Fatal(err)
	}
	if g := b.glance(b.keys)[0]; g.Err != nil || g.Copied || g.Length != 3 {
		t.Errorf("glance %+v", g)
	}
	if _, err := b.shard.RaiseStart(t.Context(), b.keys, claimOne, 5); err != nil {
		t.Fatal(err)
	}
	if dropped, err := b.shard.DropSegment(t.Context(), b.keys, claimOne, b.segment(0)); err != nil || !dropped {
		t.Fatalf("dropped %v, %v", dropped, err)
	}
	if r := b.hash(b.keys.Segments); r["dense:0"]+r["holes:0"] != "" || r["dense:1"] != "3 1" {
		t.Errorf("registry %v", r)
	}
}

func TestWorkerRaisesTheLogStartOnly(t *testing.T) {
	b := rolled(t, 2)
	for _, c := range [][2]int64{{7, 7}, {3, 7}, {8, 8}} {
		if got := b.raise(claimOne, c[0]); got != c[1] {
			t.Errorf("raised to %d gave %d, want %d", c[0], got, c[1])
		}
	}
	if v := b.look(); v.LogStart != 8 || len(v.Segments) != 2 || b.text("XLEN", b.keys.Segment(0)) != "5" {
		t.Errorf("view %+v", v)
	}
}

func TestSegmentsWhollyBelowTheLogStartAreDropped(t *testing.T) {
	b := rolled(t, 3)
	b.Do("HSET", b.keys.Times(0), "4", "1")
	b.raise(claimOne, 9) // in the middle of segment 1
	if !b.drop(0) || b.drop(1) || b.drop(2) {
		t.Error("not exactly segment 0 was dropped")
	}
	if got := b.numbers(); !reflect.DeepEqual(got, []int64{1, 2}) {
		t.Errorf("segments %v are left", got)
	}
	if n := b.text("EXISTS", b.keys.Segment(0), b.keys.Times(0)); n != "0" {
		t.Errorf("%s keys of segment 0 are left", n)
	}
	if b.drop(0) {
		t.Error("dropped again")
	}
	b.raise(claimOne, 10)
	if !b.drop(1) {
		t.Error("segment 1 was kept")
	}
}

func TestWhatAWorkerLeftUndroppedIsUnlinkedByTheNext(t *testing.T) {
	b := rolled(t, 1)
	b.Do("HDEL", b.keys.Segments, "s:0") // as if its stream had outlived it
	if b.drop(0) {
		t.Error("a segment that is not in the registry counts as dropped")
	}
	if n := b.text("EXISTS", b.keys.Segment(0)); n != "0" {
		t.Error("its stream is left")
	}
}

func TestLeaderEpochsBelowTheLogStartGo(t *testing.T) {
	b := rolled(t, 1)
	b.Do("DEL", b.keys.Epochs)
	b.Do("HSET", b.keys.Epochs, "0", "18446744073709551615", "9", "1", "10", "2", "11", "5")
	b.raise(claimOne, 3) // the first record of epoch 10
	if got := b.hash(b.keys.Epochs); !reflect.DeepEqual(got, map[string]string{"10": "2", "11": "5"}) {
		t.Errorf("epochs %v", got)
	}
}

func TestPausedWorkerChangesNothingOnceALaterOneWasThere(t *testing.T) {
	b := rolled(t, 2)
	later := Claim{TopicID: lifeOne, Fence: 100}
	b.raise(later, 5)
	before := b.hash(b.keys.Segments)
	_, raised := b.shard.RaiseStart(t.Context(), b.keys, claimOne, 10)
	_, dropped := b.shard.DropSegment(t.Context(), b.keys, claimOne, b.segment(0))
	_, _, trimmed := b.shard.TrimHead(t.Context(), b.keys, claimOne, Head{Segment: 1, Start: 5, Keep: ID{Ms: 1 << 60}})
	for _, err := range []error{raised, dropped, trimmed} {
		if !errors.Is(err, ErrFenced) {
			t.Errorf("a paused worker got %v", err)
		}
	}
	if after := b.hash(b.keys.Segments); !reflect.DeepEqual(before, after) || b.text("XLEN", b.keys.Segment(1)) != "5" {
		t.Errorf("registry %v, before %v", after, before)
	}
}

func TestWorkerChangesNothingOfAnotherLife(t *testing.T) {
	b := rolled(t, 1)
	other := Claim{TopicID: lifeTwo, Fence: 10}
	if _, err := b.shard.RaiseStart(t.Context(), b.keys, other, 5); !errors.Is(err, ErrDeleted) {
		t.Errorf("raise: %v", err)
	}
	if _, err := b.shard.DropSegment(t.Context(), b.keys, other, b.segment(0)); !errors.Is(err, ErrDeleted) {
		t.Errorf("drop: %v", err)
	}
	if v := b.look(); v.LogStart != 0 || len(v.Segments) != 1 {
		t.Errorf("view %+v", v)
	}
}

func TestHeadIsTrimmedInBoundedStepsAndExactly(t *testing.T) {
	b, token, ms := filled(t, 1000)
	b.mustSend(appendAt(token, ms+1, 1000, values(1000)))
	b.raise(claimOne, 1234)
	h := Head{Segment: -1, Start: 1234, Keep: ID{ms + 1, 1234}, Step: 300}
	var total int64
	for {
		n, first, err := b.shard.TrimHead(t.Context(), b.keys, claimOne, h)
		if err != nil || n > 300 {
			t.Fatalf("a step of at most 300 removed %d, %v", n, err)
		}
		total += n
		if first.Seq == 1234 {
			break
		}
		if n == 0 {
			h.Step = 0 // the rest of a node
		}
	}
	if got := b.entries(b.keys.Stream); total != 1234 || len(got) != 766 || got[0].Record.Offset != 1234 {
		t.Errorf("%d went, %d are left, from %d on", total, len(got), got[0].Record.Offset)
	}
}

func TestNothingAboveTheLogStartIsTrimmed(t *testing.T) {
	b, _, ms := filled(t, 10)
	b.raise(claimOne, 3)
	n, _, err := b.shard.TrimHead(t.Context(), b.keys, claimOne, Head{Segment: -1, Start: 5, Keep: ID{ms, 5}})
	if err != nil || n != 0 || b.text("XLEN", b.keys.Stream) != "10" {
		t.Errorf("%d went, %v", n, err)
	}
}

func TestTrimmedSealedSegmentIsDescribedAnew(t *testing.T) {
	b := rolled(t, 1)
	text := b.text("HGET", b.keys.Segments, "s:0")
	fields := strings.Fields(text)
	b.Do("HSET", b.keys.Segments, "s:0", strings.Join(fields[:5], " ")+" 1234 999999")
	b.raise(claimOne, 3)
	id := fmt.Sprintf("%s-3", fields[3])
	keep, err := ParseID(id)
	if err != nil {
		t.Fatal(err)
	}
	if _, first, err := b.shard.TrimHead(t.Context(), b.keys, claimOne, Head{Segment: 0, Start: 3, Keep: keep}); err != nil || first != keep {
		t.Fatalf("first entry %v, %v, want %v", first, err, keep)
	}
	size := b.text("MEMORY", "USAGE", b.keys.Segment(0), "SAMPLES", "0")
	want := fmt.Sprintf("sealed 3 4 %s %s 1234 %s", fields[3], fields[4], size)
	if got := b.text("HGET", b.keys.Segments, "s:0"); got != want {
		t.Errorf("registry has %q, want %q", got, want)
	}
}

func TestRetentionWorksWithRedisFull(t *testing.T) {
	b := rolled(t, 2)
	b.Do("CONFIG", "SET", "maxmemory", "1")
	b.raise(claimOne, 11)
	if !b.drop(0) || !b.drop(1) {
		t.Error("segments were kept")
	}
	id, found, err := b.shard.Seek(t.Context(), b.keys.Stream, 11)
	if err != nil || !found {
		t.Fatalf("seek: %v", err)
	}
	n, first, err := b.shard.TrimHead(t.Context(), b.keys, claimOne, Head{Segment: -1, Start: 11, Keep: id})
	if err != nil || n != 1 || first != id {
		t.Errorf("%d went, first is %v, %v", n, first, err)
	}
}

func TestFirstEntryFromATimeOn(t *testing.T) {
	b, token, ms := filled(t, 5)
	b.mustSend(appendAt(token, ms+10, 5, values(2)))
	for _, c := range []struct {
		ms   uint64
		want ID
	}{{ms - 1, ID{ms, 0}}, {ms, ID{ms, 0}}, {ms + 1, ID{ms + 10, 5}}, {ms + 11, ID{}}} {
		if id, found, err := b.shard.FirstAt(t.Context(), b.keys.Stream, c.ms); err != nil || id != c.want || found != (c.want != ID{}) {
			t.Errorf("first from %d on: %v, %v, %v, want %v", c.ms, id, found, err, c.want)
		}
	}
}

func TestWeighingTouchesNoKey(t *testing.T) {
	b := rolled(t, 1)
	b.Do("CONFIG", "SET", "maxmemory-policy", "allkeys-lfu")
	before := b.text("OBJECT", "FREQ", b.keys.Segment(0))
	for range 50 {
		got, err := b.shard.Weigh(t.Context(), []string{b.keys.Segment(0), "none", b.keys.Stream}, 0)
		if err != nil || len(got) != 3 || got[0] <= 0 || got[1] != 0 || got[2] <= 0 {
			t.Fatalf("weights %v, %v", got, err)
		}
	}
	if after := b.text("OBJECT", "FREQ", b.keys.Segment(0)); after != before {
		t.Errorf("accesses rose from %s to %s", before, after)
	}
}

func TestMemoryOfRedis(t *testing.T) {
	b := newBench(t)
	b.Do("CONFIG", "SET", "maxmemory", "100mb")
	if used, limit, err := b.shard.Memory(t.Context()); err != nil || used <= 0 || limit != 100<<20 {
		t.Errorf("%d of %d bytes, %v", used, limit, err)
	}
}

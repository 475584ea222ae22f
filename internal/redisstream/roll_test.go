package redisstream

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/korvet-io/korvet/internal/record"
)

// owned rolls as the owner under a token does.
func (b *bench) owned(q RollRequest) (Segment, bool, error) {
	b.Helper()
	type rolled struct {
		sealed Segment
		rolled bool
	}
	got, err := Await(b.Context(), func(done func(rolled, error)) {
		Roll(b.conn, b.keys, q, func(s Segment, ok bool, err error) { done(rolled{s, ok}, err) })
	})
	return got.sealed, got.rolled, err
}

func TestTheOwnersRollSaysWhatItKnowsAndClosesTheTimeIndex(t *testing.T) {
	b, token, ms := filled(t, 5)
	largest := int64(1004)
	sealed, rolled, err := b.owned(RollRequest{TopicID: lifeOne, Token: token, Bytes: 700, MaxTimestamp: 1004, Closing: &largest})
	want := Segment{Number: 0, State: "sealed", Base: 0, Last: 4, FirstMs: ms, LastMs: ms, MaxTimestamp: 1004, Bytes: 700}
	if err != nil || !rolled || sealed != want {
		t.Errorf("rolled %v, %v: %+v, want %+v", rolled, err, sealed, want)
	}
	if v := b.look(); len(v.Segments) != 1 || v.Segments[0] != want || v.Open != 1 {
		t.Errorf("view %+v", v)
	}
	if got := b.hash(b.keys.Times(0)); len(got) != 1 || got["4"] != "1004" {
		t.Errorf("the segment's time index is %v", got)
	}
	if _, rolled, err = b.owned(RollRequest{TopicID: lifeOne, Token: token, Open: 1}); err != nil || rolled {
		t.Errorf("an empty segment: %v, %v", rolled, err)
	}
	if _, _, err = b.owned(RollRequest{TopicID: lifeOne, Token: "another", Open: 1}); !errors.Is(err, ErrNotOpen) {
		t.Errorf("another token: %v", err)
	}
}

func TestAWorkerBehindALaterOneRollsNothing(t *testing.T) {
	b, token, ms := filled(t, 5)
	if _, rolled, err := b.shard.Roll(t.Context(), b.keys, Claim{lifeOne, 20}, 0); err != nil || !rolled {
		t.Fatalf("rolled %v, %v", rolled, err)
	}
	if got := b.text("HGET", b.keys.Segments, "fence"); got != "20" {
		t.Errorf("the registry has fence %s", got)
	}
	b.mustSend(appendAt(token, ms+1, 5, values(3)))
	for _, fence := range []int64{19, 9} {
		if _, _, err := b.shard.Roll(t.Context(), b.keys, Claim{lifeOne, fence}, 1); !errors.Is(err, ErrFenced) {
			t.Errorf("fence %d: %v", fence, err)
		}
	}
	for open := int64(1); open < 3; open++ { // its own again, and a later one's
		if _, rolled, err := b.shard.Roll(t.Context(), b.keys, Claim{lifeOne, 100 * open}, open); err != nil || !rolled {
			t.Errorf("rolled %v, %v", rolled, err)
		}
		b.mustSend(appendAt(token, ms+2, 8+open, values(1)))
	}
}

// The worker looks before it rolls: what it saw holds no more when the owner wrote since.
func TestAWorkersRollGivesWayToAnAppend(t *testing.T) {
	b, token, ms := filled(t, 5)
	v := RollRequest{TopicID: lifeOne, Token: token, Bytes: -1, MaxTimestamp: -1, fence: "1", claimed: ID{ms, 4}.String()}
	b.mustSend(appendAt(token, ms+1, 5, values(3)))
	if _, _, err := b.owned(v); !errors.Is(err, ErrNotOpen) {
		t.Errorf("after an append: %v", err)
	}
	v.claimed = ID{ms + 1, 7}.String()
	if _, rolled, err := b.owned(v); err != nil || !rolled {
		t.Errorf("as it was seen: %v, %v", rolled, err)
	}
}

func TestTheTimeIndexMovesWithItsSegmentUnlessThatIsGone(t *testing.T) {
	b, token, ms := filled(t, 5)
	b.owned(RollRequest{TopicID: lifeOne, Token: token, Bytes: -1, MaxTimestamp: -1})
	b.mustSend(appendAt(token, ms+1, 5, values(3)))
	var fields []string
	var offsets []int64
	for o := range int64(1200) {
		fields = append(fields, fmt.Sprint("t:", o), fmt.Sprint(o))
		offsets = append(offsets, o)
	}
	b.Do(append([]string{"HSET", b.keys.State(token)}, fields...)...)
	settled := func() (moved, left int) {
		b.text("PING")
		if _, err := Await(t.Context(), func(done func(Weight, error)) { Weigh(b.conn, b.keys, done) }); err != nil { // behind them
			t.Fatal(err)
		}
		for name := range b.hash(b.keys.State(token)) {
			if strings.HasPrefix(name, "t:") {
				left++
			}
		}
		return len(b.hash(b.keys.Times(0))), left
	}
	MoveTimes(b.conn, b.keys, lifeOne, "another token", 0, offsets)
	if moved, left := settled(); moved != 0 || left != 1200 {
		t.Errorf("another token moved %d and left %d", moved, left)
	}
	MoveTimes(b.conn, b.keys, lifeOne, token, 0, offsets[:1100])
	if moved, left := settled(); moved != 1100 || left != 100 {
		t.Errorf("%d moved, %d left", moved, left)
	}
	b.Do("HDEL", b.keys.Segments, "s:0")
	b.Do("DEL", b.keys.Times(0))
	MoveTimes(b.conn, b.keys, lifeOne, token, 0, offsets)
	if moved, left := settled(); moved != 0 || left != 0 {
		t.Errorf("of a segment that is gone %d were moved, %d left", moved, left)
	}
}

func TestWeighingTellsWhatTheOpenSegmentIs(t *testing.T) {
	b, token, ms := filled(t, 5)
	weigh := func() Weight {
		return must(Await(t.Context(), func(done func(Weight, error)) { Weigh(b.conn, b.keys, done) }))
	}
	if w := weigh(); w.First != (ID{ms, 0}) || w.Open != 0 || w.LogStart != 0 || fmt.Sprint(w.Bytes) != b.text("MEMORY", "USAGE", b.keys.Stream, "SAMPLES", "0") {
		t.Errorf("weight %+v", w)
	}
	b.trim(lifeOne, 2)
	b.roll(lifeOne, 0)
	if w := weigh(); w.First != (ID{}) || w.Open != 1 || w.LogStart != 2 {
		t.Errorf("an empty segment's weight %+v", w)
	}
	b.mustSend(appendAt(token, ms+1, 5, []record.Record{{Value: make([]byte, 100_000)}}))
	if w := weigh(); w.First != (ID{ms + 1, 5}) || w.Bytes < 100_000 {
		t.Errorf("weight %+v", w)
	}
}

func TestARollIsNotRefusedByAFullRedis(t *testing.T) {
	b, token, _ := filled(t, 5)
	b.Do("XGROUP", "CREATE", b.keys.Stream, "g", "0")
	b.Do("CONFIG", "SET", "maxmemory", "1")
	sealed, rolled, err := b.owned(RollRequest{TopicID: lifeOne, Token: token, Bytes: -1, MaxTimestamp: -1})
	if err != nil || !rolled || sealed.Last != 4 {
		t.Errorf("rolled %v, %v: %+v", rolled, err, sealed)
	}
	b.Do("CONFIG", "SET", "maxmemory", "0")
	if groups := b.Do("XINFO", "GROUPS", b.keys.Stream); len(must(groups.ToArray())) != 1 {
		t.Error("the group is gone")
	}
}

func TestRegistryTextsOfEarlierVersionsAreRead(t *testing.T) {
	for text, want := range map[string]Segment{
		"sealed 5 9 1000 1001":           {Number: 3, State: "sealed", Base: 5, Last: 9, FirstMs: 1000, LastMs: 1001, MaxTimestamp: -1, Bytes: -1},
		"sealed 5 9 1000 1001 -1 -1":     {Number: 3, State: "sealed", Base: 5, Last: 9, FirstMs: 1000, LastMs: 1001, MaxTimestamp: -1, Bytes: -1},
		"sealed 5 9 1000 1001 999 4096":  {Number: 3, State: "sealed", Base: 5, Last: 9, FirstMs: 1000, LastMs: 1001, MaxTimestamp: 999, Bytes: 4096},
		"sealed 5 9 1000 1001 999 9 new": {Number: 3, State: "sealed", Base: 5, Last: 9, FirstMs: 1000, LastMs: 1001, MaxTimestamp: 999, Bytes: 9},
	} {
		if got, err := ParseSegment("3", text); err != nil || got != want {
			t.Errorf("%q: %+v, %v, want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "sealed", "sealed 5 9 1000", "sealed 5 9 1000 1001 x y", "sealed a 9 1000 1001"} {
		if got, err := ParseSegment("3", text); err == nil {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

func FuzzSegmentText(f *testing.F) {
	f.Add("0", "sealed 0 4 1000 1001")
	f.Add("9223372036854775807", "sealed 5 9 1000 1001 -1 4096")
	f.Add("1", "remote 5 9 1000 1001 18446744073709551615 1e3")
	f.Fuzz(func(t *testing.T, number, text string) {
		seg, err := ParseSegment(number, text)
		if err != nil {
			return
		}
		again, err := ParseSegment(strconv.FormatInt(seg.Number, 10),
			fmt.Sprintf("%s %d %d %d %d %d %d", seg.State, seg.Base, seg.Last, seg.FirstMs, seg.LastMs, seg.MaxTimestamp, seg.Bytes))
		if err != nil || again != seg {
			t.Errorf("%q reads as %+v and again as %+v", text, seg, again)
		}
	})
}

// A stranger's entry in an otherwise empty open segment is no record: sealed with it, the segment would begin after its end.
func TestASegmentOfStrangersEntriesOnlyIsNotSealed(t *testing.T) {
	b, _, ms := filled(t, 5)
	if _, rolled, err := b.shard.Roll(t.Context(), b.keys, Claim{lifeOne, 20}, 0); err != nil || !rolled {
		t.Fatalf("rolled %v, %v", rolled, err)
	}
	b.Do("XADD", b.keys.Stream, ID{ms, 5}.String(), "value", "a stranger's") // as * gives within the ms of the newest append
	if s, rolled, err := b.shard.Roll(t.Context(), b.keys, Claim{lifeOne, 20}, 1); err != nil || rolled {
		t.Errorf("rolled %v, %v: %+v", rolled, err, s)
	}
}

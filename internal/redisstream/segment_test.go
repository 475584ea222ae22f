package redisstream

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/korvet-io/korvet/internal/record"

	"github.com/korvet-io/korvet/internal/redisstream/resp"
)

func (b *bench) roll(topicID string, open int64) bool {
	b.Helper()
	_, ok, err := b.shard.Roll(b.Context(), b.keys, Claim{topicID, 1}, open)
	if err != nil && !errors.Is(err, ErrNotOpen) {
		b.Fatalf("roll: %v", err)
	}
	return ok
}

func (b *bench) trim(topicID string, start int64) int64 {
	b.Helper()
	got, err := b.shard.Trim(b.Context(), b.keys, topicID, start)
	if err != nil {
		b.Fatalf("trim: %v", err)
	}
	return got
}

func TestTrimStopsExactlyAtTheLogStart(t *testing.T) {
	b, token, ms := filled(t, 10)
	b.mustSend(appendAt(token, ms+1, 10, values(10)))
	for _, start := range []int64{1, 7, 10, 11, 19} {
		if got := b.trim(lifeOne, start); got != start {
			t.Errorf("the log starts at %d, want %d", got, start)
		}
		got := b.entries(b.keys.Stream)
		if len(got) != int(20-start) || got[0].Record.Offset != start {
			t.Fatalf("after trimming to %d: %s", start, ids(got))
		}
	}
	b.trim(lifeOne, 20)
	if v := b.look(); b.text("XLEN", b.keys.Stream) != "0" || v.LogStart != 20 || EndOffset(v.LastSeq) != 20 || !v.Exists {
		t.Errorf("after trimming all: %+v", v)
	}
	if f, _ := b.mustFence(nil); f.Alarm || EndOffset(f.LastSeq) != 20 {
		t.Errorf("the next fence finds %+v", f)
	}
}

func TestTrimOfMoreThanOneStepIsAsExact(t *testing.T) {
	b, token, ms := filled(t, 1300)
	b.mustSend(appendAt(token, ms+5, 1300, values(700)))
	for _, start := range []int64{511, 512, 513, 1025, 1299, 1300, 1301} {
		b.trim(lifeOne, start)
		if got := b.entries(b.keys.Stream); len(got) != int(2000-start) || got[0].Record.Offset != start {
			t.Fatalf("after trimming to %d there are %d entries from %d on", start, len(got), got[0].Record.Offset)
		}
	}
	b.trim(lifeOne, 2000)
	if n := b.text("XLEN", b.keys.Stream); n != "0" {
		t.Errorf("%s entries are left", n)
	}
}

// Redis gives back the memory of each large entry by itself: they must make many short steps.
func TestTrimOfLargeEntriesTakesSmallSteps(t *testing.T) {
	b := newBench(t)
	f, token := b.mustFence(nil)
	const records = 20
	list := values(records)
	for i := range list {
		list[i].Value = bytes.Repeat([]byte{'x'}, 300<<10)
	}
	b.mustSend(appendAt(token, f.Floor+1, 0, list))
	before := b.calls("evalsha")
	b.trim(lifeOne, records-3)
	if got := b.entries(b.keys.Stream); len(got) != 3 || got[0].Record.Offset != records-3 {
		t.Fatalf("after trimming: %s", ids(got))
	}
	steps, err := strconv.Atoi(b.calls("evalsha"))
	if first, _ := strconv.Atoi(before); err != nil || (steps-first+1)*trimBytes < (records-3)*300<<10 {
		t.Errorf("%d steps for %d records of 300 KiB: %v", steps-first, records, err)
	}
}

func TestLogStartOnlyRises(t *testing.T) {
	b, _, _ := filled(t, 1200)
	for _, c := range [][2]int64{{1000, 1000}, {999, 1000}, {9, 1000}, {0, 1000}, {1001, 1001}} {
		if got := b.trim(lifeOne, c[0]); got != c[1] {
			t.Errorf("trimming to %d gave a start at %d, want %d", c[0], got, c[1])
		}
	}
	if v := b.look(); v.LogStart != 1001 {
		t.Errorf("the registry says %d", v.LogStart)
	}
}

func TestLogStartIsComparedBeyondDoubles(t *testing.T) {
	b := newBench(t)
	const base = 1<<53 + 1
	f, token := b.mustFence(func(q *FenceRequest) { q.EndAtMin = SeqBefore(base) })
	b.mustSend(appendAt(token, f.Floor+1, base, values(4)))
	for _, start := range []int64{base + 1, base + 2} {
		b.trim(lifeOne, start)
		if got := b.entries(b.keys.Stream); got[0].Record.Offset != start {
			t.Errorf("after trimming to %d: %s", start, ids(got))
		}
	}
}

func TestTrimOfAnotherLifeIsRefused(t *testing.T) {
	b, _, _ := filled(t, 10)
	if _, err := b.shard.Trim(t.Context(), b.keys, lifeTwo, 5); !errors.Is(err, ErrDeleted) {
		t.Errorf("another life: %v", err)
	}
	if n := b.text("XLEN", b.keys.Stream); n != "10" {
		t.Errorf("%s entries, want 10", n)
	}
}

// A broker that learns late of the deletion must not leave a log start for the next life of the name.
func TestTrimOfADeletedLifeIsRefused(t *testing.T) {
	b, _, _ := filled(t, 10)
	if err := b.shard.Delete(t.Context(), b.keys, lifeOne); err != nil {
		t.Fatal(err)
	}
	if _, err := b.shard.Trim(t.Context(), b.keys, lifeOne, 5); !errors.Is(err, ErrDeleted) {
		t.Errorf("trim after the deletion: %v", err)
	}
	if n := b.text("EXISTS", b.keys.Segments); n != "0" {
		t.Error("it left a registry behind")
	}
}

func TestTrimBesideAppendsRemovesNothingAboveTheStart(t *testing.T) {
	b, token, ms := filled(t, 1000)
	trimmed := make(chan error, 1)
	go func() {
		var err error
		for start := int64(1); start <= 1000 && err == nil; start += 37 {
			_, err = b.shard.Trim(b.Context(), b.keys, lifeOne, start)
		}
		trimmed <- err
	}()
	for i := range int64(200) {
		b.mustSend(appendAt(token, ms+1, 1000+i, values(1)))
	}
	if err := <-trimmed; err != nil {
		t.Fatal(err)
	}
	v := b.look()
	for i, e := range b.entries(b.keys.Stream) {
		if e.Record.Offset != v.LogStart+int64(i) {
			t.Fatalf("entry %d of a log from %d on has offset %d", i, v.LogStart, e.Record.Offset)
		}
	}
	if end := EndOffset(v.LastSeq); end != 1200 {
		t.Errorf("the log ends at %d", end)
	}
}

func TestRollSealsTheOpenSegmentAndTheWriterGoesOn(t *testing.T) {
	b, token, ms := filled(t, 5)
	b.Do("HSET", b.keys.State(token), "t:4", "1004", "t:2", "9", "p:1", "x", "tail", "0 5 9")
	last := b.lastID(b.keys.Stream)
	if !b.roll(lifeOne, 0) {
		t.Fatal("not rolled")
	}
	if got := b.lastID(b.keys.Stream); got != last || b.text("XLEN", b.keys.Stream) != "0" {
		t.Errorf("the new open segment ends at %s, want %s", got, last)
	}
	b.mustSend(appendAt(token, ms, 5, values(3))) // the same ms: ids go on
	v := b.look()
	for i := range v.Segments {
		if v.Segments[i].Bytes <= 0 {
			t.Errorf("segment %d was not measured", i)
		}
		v.Segments[i].Bytes = 0
	}
	want := []Segment{{Number: 0, State: "sealed", Base: 0, Last: 4, FirstMs: ms, LastMs: ms, MaxTimestamp: 1004}}
	if !reflect.DeepEqual(v.Segments, want) || v.Open != 1 || EndOffset(v.LastSeq) != 8 {
		t.Errorf("view %+v, want segments %+v", v, want)
	}
	if got := ids(b.entries(b.keys.Segment(0))); got != fmt.Sprintf("%[1]d-0 %[1]d-1 %[1]d-2 %[1]d-3 %[1]d-4", ms) {
		t.Errorf("sealed entries %s", got)
	}
	if got := b.hash(b.keys.Times(0)); !reflect.DeepEqual(got, map[string]string{"4": "1004", "2": "9"}) {
		t.Errorf("the segment's time index is %v", got)
	}
	state := b.hash(b.keys.State(token))
	if state["t:4"] != "" || state["t:2"] != "" || state["p:1"] != "x" || state["tail"] != "0 5 9" {
		t.Errorf("state %v", state)
	}
	if !b.roll(lifeOne, 1) {
		t.Fatal("not rolled again")
	}
	if v := b.look(); len(v.Segments) != 2 || v.Segments[1].Base != 5 || v.Segments[1].Last != 7 || v.Open != 2 {
		t.Errorf("view %+v", v)
	}
	if f, _ := b.mustFence(nil); f.Alarm || EndOffset(f.LastSeq) != 8 {
		t.Errorf("a fence after the rolls: %+v", f)
	}
}

func TestRollKeepsNativeGroupsWhereTheyWere(t *testing.T) {
	b, token, ms := filled(t, 5)
	b.Do("XGROUP", "CREATE", b.keys.Stream, "behind", fmt.Sprintf("%d-1", ms))
	b.Do("XGROUP", "CREATE", b.keys.Stream, "atEnd", "$")
	b.roll(lifeOne, 0)
	b.mustSend(appendAt(token, ms+1, 5, values(2)))
	m := b.Do("XINFO", "GROUPS", b.keys.Stream)
	delivered := map[string]string{}
	for _, g := range must(m.ToArray()) {
		fields := must(g.AsMap())
		name, id := fields["name"], fields["last-delivered-id"]
		delivered[must(name.ToString())] = must(id.ToString())
	}
	want := map[string]string{"behind": fmt.Sprintf("%d-1", ms), "atEnd": fmt.Sprintf("%d-4", ms)}
	if !reflect.DeepEqual(delivered, want) {
		t.Errorf("groups %v, want %v", delivered, want)
	}
	for _, group := range []string{"behind", "atEnd"} {
		m := b.Do("XREADGROUP", "GROUP", group, "c", "STREAMS", b.keys.Stream, ">")
		read := must(m.AsXRead())
		if n := len(read[b.keys.Stream]); n != 2 {
			t.Errorf("group %s got %d entries of the new segment, want 2", group, n)
		}
	}
}

func TestRollDoesNothingWithoutEntriesOrForAnother(t *testing.T) {
	b := newBench(t)
	if b.roll(lifeOne, 0) {
		t.Error("rolled a partition that was never used")
	}
	f, token := b.mustFence(nil)
	if b.roll(lifeOne, 0) {
		t.Error("rolled an empty segment")
	}
	b.mustSend(appendAt(token, f.Floor+1, 0, values(3)))
	if b.roll(lifeTwo, 0) || b.roll(lifeOne, 1) {
		t.Error("rolled another life or another segment")
	}
	if !b.roll(lifeOne, 0) || b.roll(lifeOne, 0) {
		t.Error("a segment is rolled once")
	}
}

func TestRollOfALogThatWasTrimmedBeginsAtItsFirstEntry(t *testing.T) {
	b, _, _ := filled(t, 10)
	b.trim(lifeOne, 4)
	b.roll(lifeOne, 0)
	if v := b.look(); len(v.Segments) != 1 || v.Segments[0].Base != 4 || v.Segments[0].Last != 9 {
		t.Errorf("view %+v", v)
	}
}

func TestDeleteLeavesATombstoneAloneAndItsFloorHoldsTheNextLife(t *testing.T) {
	b, token, ms := filled(t, 5)
	b.roll(lifeOne, 0)
	b.mustSend(appendAt(token, ms+1, 5, values(3)))
	b.trim(lifeOne, 2)
	lease := must(strconv.ParseUint(b.text("HGET", b.keys.State(token), "exp"), 10, 64))
	for range 2 { // again does nothing more
		if err := b.shard.Delete(t.Context(), b.keys, lifeOne); err != nil {
			t.Fatal(err)
		}
		m := b.Do("KEYS", "*")
		if keys := must(m.AsStrSlice()); !reflect.DeepEqual(keys, []string{b.keys.Leader}) {
			t.Errorf("keys left: %v", keys)
		}
		floor := must(strconv.ParseUint(b.text("HGET", b.keys.Leader, "floor"), 10, 64))
		if leader := b.hash(b.keys.Leader); leader["deleted"] != lifeOne || len(leader) != 2 || floor < lease {
			t.Errorf("tombstone %v, want a floor of at least %d", leader, lease)
		}
		if ttl := b.text("TTL", b.keys.Leader); ttl == "-1" {
			t.Error("the tombstone stays for ever")
		}
	}
	if err := b.send(appendAt(token, lease-1, 8, values(1))); !errors.Is(err, ErrUnknownOutcome) {
		t.Errorf("an append after the deletion: %v", err)
	}
	f, next := b.mustFence(func(q *FenceRequest) { q.TopicID = lifeTwo })
	if f.Floor < lease {
		t.Errorf("the next life's floor is %d, below the last lease %d", f.Floor, lease)
	}
	if err := b.send(appendAt(token, lease-1, 8, values(1))); !errors.Is(err, ErrUnknownOutcome) {
		t.Errorf("an append of the life before into the next: %v", err)
	}
	b.mustSend(appendAt(next, f.Floor+1, 0, values(1)))
	if got := b.entries(b.keys.Stream); len(got) != 1 || got[0].Record.Offset != 0 {
		t.Errorf("the next life has %s", ids(got))
	}
}

// The worker's roll keeps the token. Its segment would be left for ever: nothing names it any more.
func TestDeletionSeesASegmentSealedMeanwhile(t *testing.T) {
	b, token, _ := filled(t, 5)
	view := b.look()
	b.roll(lifeOne, 0)
	v, err := b.shard.deleteSeen(t.Context(), b.keys, lifeOne, token, &view)
	if err != nil || len(v.Elems) == 0 || v.Elems[0].Str != "STALE" {
		t.Errorf("deletion of what was there before the roll: %v, %v", v.Elems, err)
	}
	if err := b.shard.Delete(t.Context(), b.keys, lifeOne); err != nil {
		t.Fatal(err)
	}
	if left := b.text("EXISTS", b.keys.Segment(0), b.keys.Stream, b.keys.Segments); left != "0" {
		t.Errorf("%s keys are left", left)
	}
}

// Thousands of segments in one script would hold up all clients of Redis.
func TestManySegmentsAreDeletedInSteps(t *testing.T) {
	b, token, _ := filled(t, 5)
	const segments = 2*deleteStep + 10
	registry := []string{"HSET", b.keys.Segments, "topic", lifeOne, "open", fmt.Sprint(segments), "sealed", "4"}
	for n := range int64(segments) {
		registry = append(registry, fmt.Sprint("s:", n), "sealed 0 4 1 1 -1 1")
		b.Do("XADD", b.keys.Segment(n), "1-1", "value", "v")
		b.Do("HSET", b.keys.Times(n), "1", "1")
	}
	b.Do(registry...)
	view := b.look()
	v, err := b.shard.deleteSeen(t.Context(), b.keys, lifeOne, token, &view)
	if err != nil || v.Elems[0].Str != "MORE" {
		t.Fatalf("first step: %v, %v", v.Elems, err)
	}
	if left := b.look(); len(left.Segments) != segments-deleteStep || left.TopicID != lifeOne {
		t.Errorf("after a step %d segments are left of life %s", len(left.Segments), left.TopicID)
	}
	if err := b.shard.Delete(t.Context(), b.keys, lifeOne); err != nil {
		t.Fatal(err)
	}
	if left := b.text("DBSIZE"); left != "1" { // the tombstone
		t.Errorf("%s keys are left", left)
	}
}

func TestLateDeletionOfAnEarlierLifeDoesNothing(t *testing.T) {
	b, _, _ := filled(t, 5)
	if err := b.shard.Delete(t.Context(), b.keys, lifeOne); err != nil {
		t.Fatal(err)
	}
	f, token := b.mustFence(func(q *FenceRequest) { q.TopicID = lifeTwo })
	b.mustSend(appendAt(token, f.Floor+1, 0, values(3)))
	if err := b.shard.Delete(t.Context(), b.keys, lifeOne); err != nil {
		t.Fatal(err)
	}
	if got := len(b.entries(b.keys.Stream)); got != 3 {
		t.Errorf("%d entries of the new life, want 3", got)
	}
	if err := b.shard.Delete(t.Context(), b.keys, lifeTwo); err != nil {
		t.Fatal(err)
	}
	if err := b.shard.Delete(t.Context(), b.keys, lifeOne); err != nil {
		t.Fatal(err)
	}
	if got := b.text("HGET", b.keys.Leader, "deleted"); got != lifeTwo {
		t.Errorf("the tombstone is of %s, want the later life", got)
	}
}

// The deletion of life one waits for an append under way, or its broker died: life two was created and deleted meanwhile.
// Were life one left to its own deletion, a broker that has only heard of life two would then begin it, and nobody would end it.
func TestDeletionOfALaterLifeEndsTheEarlierOneToo(t *testing.T) {
	b, _, _ := filled(t, 5)
	if err := b.shard.Delete(t.Context(), b.keys, lifeTwo); err != nil {
		t.Fatal(err)
	}
	if n := b.text("EXISTS", b.keys.Stream); n != "0" {
		t.Error("life one is there")
	}
	if err := b.shard.Delete(t.Context(), b.keys, lifeOne); err != nil {
		t.Fatal(err)
	}
	if _, _, err := b.fence(func(q *FenceRequest) { q.TopicID = lifeTwo }); !errors.Is(err, ErrDeleted) {
		t.Errorf("life two began after its deletion: %v", err)
	}
}

func TestDeleteOfAPartitionThatWasNeverUsedKeepsItFromBeingUsed(t *testing.T) {
	b := newBench(t)
	if err := b.shard.Delete(t.Context(), b.keys, lifeOne); err != nil {
		t.Fatal(err)
	}
	if _, _, err := b.fence(nil); !errors.Is(err, ErrDeleted) {
		t.Errorf("fence: %v", err)
	}
}

func TestDeleteBesideFencesEndsTheLife(t *testing.T) {
	b, _, _ := filled(t, 5)
	var fencing sync.WaitGroup
	fencing.Go(func() {
		for range 5 { // each changes the token under the deletion
			_, err := Await(b.Context(), func(done func(Fenced, error)) { Fence(b.conn, b.keys, request(nil), done) })
			if err != nil && !errors.Is(err, ErrDeleted) {
				t.Errorf("fence: %v", err)
			}
		}
	})
	err := b.shard.Delete(t.Context(), b.keys, lifeOne)
	fencing.Wait()
	if err != nil {
		t.Fatal(err)
	}
	if n := b.text("EXISTS", b.keys.Stream); n != "0" {
		t.Error("the stream is there")
	}
}

func TestLookAtWhatIsNotThere(t *testing.T) {
	b := newBench(t)
	if v := b.look(); !reflect.DeepEqual(v, View{LastSeq: BeforeFirst}) {
		t.Errorf("a missing partition: %+v", v)
	}
	f, _ := b.mustFence(nil)
	want := View{Exists: true, TopicID: lifeOne, Owner: "1/a", LastSeq: BeforeFirst, Epochs: []Epoch{{Epoch: 0, Start: 0}}}
	want.end = ID{f.Floor, BeforeFirst}
	if v := b.look(); !reflect.DeepEqual(v, want) || f.Epoch != 0 {
		t.Errorf("an empty partition: %+v, want %+v", v, want)
	}
}

func TestLookEndsTheLogBelowStrangersEntries(t *testing.T) {
	for name, id := range map[string]func(ms uint64) string{
		"low sequence":  func(ms uint64) string { return ID{ms + 1, 0}.String() },
		"high sequence": func(ms uint64) string { return ID{ms + 1, 500}.String() },
	} {
		t.Run(name, func(t *testing.T) {
			b, token, ms := filled(t, 5)
			b.Do("XADD", b.keys.Stream, id(ms), "f", "v")
			if v := b.look(); EndOffset(v.LastSeq) != 5 {
				t.Errorf("the log ends at %d, want 5", EndOffset(v.LastSeq))
			}
			b.Do("DEL", b.keys.State(token)) // nobody's note is left: the stream's own end counts
			if v := b.look(); EndOffset(v.LastSeq) == 5 {
				t.Error("the note of a leader was not what counted")
			}
		})
	}
}

func TestLookBelievesAStreamThatLostItsEnd(t *testing.T) {
	b, _, ms := filled(t, 5)
	b.Do("DEL", b.keys.Stream)
	b.Do("XADD", b.keys.Stream, ID{ms - 1, 1}.String(), "value", "v") // as a replica that lags has it
	if v := b.look(); EndOffset(v.LastSeq) != 2 {
		t.Errorf("the log ends at %d, want 2", EndOffset(v.LastSeq))
	}
}

func TestLookNamesTheStreamOfEveryOffset(t *testing.T) {
	b, token, ms := filled(t, 5)
	b.roll(lifeOne, 0)
	b.mustSend(appendAt(token, ms+1, 5, values(3)))
	b.roll(lifeOne, 1)
	b.mustSend(appendAt(token, ms+2, 8, values(2)))
	v := b.look()
	for offset, want := range map[int64]string{
		0: b.keys.Segment(0), 4: b.keys.Segment(0), 5: b.keys.Segment(1), 7: b.keys.Segment(1), 8: b.keys.Stream, 9: b.keys.Stream, 10: b.keys.Stream,
	} {
		if got := v.StreamOf(b.keys, offset); got != want {
			t.Errorf("offset %d is in %s, want %s", offset, got, want)
		}
	}
	b.Do("DEL", b.keys.Stream)
	if v := b.look(); v.Exists || EndOffset(v.LastSeq) != 8 {
		t.Errorf("without the open segment the log ends at %d, want 8", EndOffset(v.LastSeq))
	}
}

func TestStateGivesProducersAndEveryTimeIndex(t *testing.T) {
	b, token, ms := filled(t, 5)
	b.Do("HSET", b.keys.State(token), "t:4", "1004")
	b.roll(lifeOne, 0)
	a := appendAt(token, ms+1, 5, values(3))
	a.Fields = []Field{{"t:7", "1002"}, {"p:9", "state"}}
	for i := range 3000 {
		a.Fields = append(a.Fields, Field{fmt.Sprint("p:", 1000+i), "x"})
	}
	b.mustSend(a)
	view := must(Await(t.Context(), func(done func(View, error)) { Registry(b.conn, b.keys, done) }))
	got := map[string]string{}
	read := func(v View) error {
		_, err := Await(t.Context(), func(done func(bool, error)) {
			State(b.conn, b.keys, token, v, func(name, value string) { got[name] = value }, func(err error) { done(true, err) })
		})
		return err
	}
	if err := read(view); err != nil {
		t.Fatal(err)
	}
	if got["t:4"] != "1004" || got["t:7"] != "1002" || got["p:9"] != "state" || got["p:3999"] != "x" || len(got) != 3000+5 {
		t.Errorf("%d fields", len(got))
	}
	b.roll(lifeOne, 1)
	if err := read(view); !errors.Is(err, ErrRolled) {
		t.Errorf("after a roll: %v, want %v", err, ErrRolled)
	}
}

func TestWhatIsRemovedIsGone(t *testing.T) {
	b, token, _ := filled(t, 1)
	b.Do("HSET", b.keys.State(token), "p:1", "x", "p:2", "y")
	b.Do("HSET", b.keys.State("late"), "exp", "1")
	b.Do("HSET", b.keys.Epochs, "7", "0", "8", "0")
	RemoveFields(b.conn, b.keys, token, []string{"p:1", "p:3"})
	RemoveStates(b.conn, b.keys, []string{"late", "never"})
	RemoveEpochs(b.conn, b.keys, []int32{7, 9})
	_, err := Await(t.Context(), func(done func(resp.Value, error)) { // answered after them
		ask(b.conn, resp.AppendCommand(nil, "ECHO", "x"), done)
	})
	state, late, epochs := b.hash(b.keys.State(token)), b.hash(b.keys.State("late")), b.hash(b.keys.Epochs)
	if err != nil || state["p:1"] != "" || state["p:2"] != "y" || len(late) != 0 || epochs["7"] != "" || epochs["8"] != "0" {
		t.Errorf("%v, state %v, late %v, epochs %v", err, state, late, epochs)
	}
}

func TestSizeGrowsWithTheRecordsAndCountsMissingStreamsNothing(t *testing.T) {
	b, token, ms := filled(t, 5)
	streams := []string{b.keys.Stream, "missing"}
	before := must(b.shard.Size(t.Context(), streams))
	b.mustSend(appendAt(token, ms+1, 5, []record.Record{{Value: make([]byte, 110_000)}}))
	if after := must(b.shard.Size(t.Context(), streams)); after < before+100_000 {
		t.Errorf("%d bytes, after 110 kB more %d", before, after)
	}
}

// A compacted log is one stream, however long.
func TestSizeOfALongStreamDoesNotLookAtAllOfIt(t *testing.T) {
	b := newBench(t, "--stream-node-max-entries", "1")
	b.Do("EVAL", "for i = 1, ARGV[1] do redis.call('XADD', KEYS[1], '1-' .. i, 'value', 'v') end", "1", b.keys.Stream, strconv.Itoa(weighNodes))
	b.Do("XADD", b.keys.Stream, "2-0", "value", strings.Repeat("x", 1<<20))
	b.Do("XADD", b.keys.Stream, "3-0", "value", "v") // Redis looks at the last node in any case
	exact, err := strconv.ParseInt(b.text("MEMORY", "USAGE", b.keys.Stream, "SAMPLES", "0"), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	if size := must(b.shard.Size(t.Context(), []string{b.keys.Stream})); size > exact-1<<20 || size < exact/2 {
		t.Errorf("%d bytes, exactly they are %d: the entry behind %d others was looked at, or they were not", size, exact, weighNodes)
	}
}

func TestSegmentsFromAnOffsetOn(t *testing.T) {
	v := View{Segments: []Segment{{Number: 3, Base: 0, Last: 9}, {Number: 4, Base: 10, Last: 19}}}
	for offset, want := range map[int64]int{0: 2, 9: 2, 10: 1, 19: 1, 20: 0} {
		if got := len(v.From(offset)); got != want {
			t.Errorf("%d segments from offset %d on, want %d", got, offset, want)
		}
	}
}

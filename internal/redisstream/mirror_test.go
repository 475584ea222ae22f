package redisstream

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"
)

const mirrored = MirrorPrefix + "g"

func (b *bench) mirror(offset int64) {
	b.Helper()
	if err := b.shard.Mirror(b.Context(), b.keys, lifeOne, "g", offset); err != nil {
		b.Fatalf("mirror %d: %v", offset, err)
	}
}

// delivered is each native group's last delivered id.
func (b *bench) delivered(stream string) map[string]string {
	b.Helper()
	reply := b.Do("XINFO", "GROUPS", stream)
	groups, err := reply.ToArray()
	if err != nil {
		b.Fatal(err)
	}
	ids := map[string]string{}
	for _, g := range groups {
		fields, err := g.AsMap()
		if err != nil {
			b.Fatal(err)
		}
		name, id := fields["name"], fields["last-delivered-id"]
		text, err := name.ToString()
		if err != nil {
			b.Fatal(err)
		}
		if ids[text], err = id.ToString(); err != nil {
			b.Fatal(err)
		}
	}
	return ids
}

func TestMirroredGroupReadsFromTheCommittedOffsetOn(t *testing.T) {
	b := newBench(t)
	b.mustFence(nil)
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 30 {
		b.Do("XTRIM", b.keys.Stream, "MAXLEN", "0")
		b.Do("XSETID", b.keys.Stream, "0-0")
		var ids []ID
		at := ID{1000, uint64(rnd.IntN(3))}
		for range rnd.IntN(40) {
			at = ID{at.Ms + uint64(rnd.IntN(2)), at.Seq + 1 + uint64(rnd.IntN(2))} // with holes
			ids = append(ids, at)
		}
		if len(ids) == 0 {
			continue
		}
		b.add(b.keys.Stream, ids)
		for range 10 {
			offset := rnd.Int64N(int64(at.Seq) + 2)
			b.mirror(offset)
			want := "0-0"
			for _, id := range ids {
				if int64(id.Seq) < offset {
					want = id.String()
				}
			}
			if got := b.delivered(b.keys.Stream)[mirrored]; got != want {
				t.Fatalf("offset %d shows as %s, want %s, in %v", offset, got, want, ids)
			}
		}
	}
}

func TestMirrorOfATrimmedLogIsAtItsEnd(t *testing.T) {
	b, token, ms := filled(t, 10)
	b.mirror(4)
	b.trim(lifeOne, 7)
	b.mirror(5) // deleted since
	if got := b.delivered(b.keys.Stream)[mirrored]; got != "0-0" {
		t.Errorf("below the log start: %s", got)
	}
	b.mirror(8)
	if got, want := b.delivered(b.keys.Stream)[mirrored], fmt.Sprintf("%d-7", ms); got != want {
		t.Errorf("within the log: %s, want %s", got, want)
	}
	b.trim(lifeOne, 10)
	b.mirror(10)
	if got, want := b.delivered(b.keys.Stream)[mirrored], fmt.Sprintf("%d-9", ms); got != want {
		t.Errorf("at the end of an empty stream: %s, want %s", got, want)
	}
	b.mustSend(appendAt(token, ms+1, 10, values(1)))
	reply := b.Do("XREADGROUP", "GROUP", mirrored, "reader", "STREAMS", b.keys.Stream, ">")
	if read, err := reply.AsXRead(); err != nil || len(read[b.keys.Stream]) != 1 {
		t.Errorf("a native reader gets %v, %v", read, err)
	}
}

// What native readers have pending stays theirs, through commits, trims and rolls.
func TestMirrorLeavesPendingEntriesAlone(t *testing.T) {
	b, _, ms := filled(t, 10)
	b.mirror(2)
	b.Do("XREADGROUP", "GROUP", mirrored, "reader", "COUNT", "5", "STREAMS", b.keys.Stream, ">")
	pending := func() string {
		reply := b.Do("XPENDING", b.keys.Stream, mirrored)
		summary, err := reply.ToArray()
		if err != nil {
			t.Fatal(err)
		}
		n, err := summary[0].AsInt64()
		if err != nil {
			t.Fatal(err)
		}
		return strconv.FormatInt(n, 10)
	}
	b.trim(lifeOne, 5) // two of them
	b.mirror(9)
	b.mirror(0)
	if n := pending(); n != "5" {
		t.Errorf("%s entries are pending, want 5", n)
	}
	b.Do("XAUTOCLAIM", b.keys.Stream, mirrored, "another", "0", "0")
	b.mirror(10)
	if got, want := b.delivered(b.keys.Stream)[mirrored], fmt.Sprintf("%d-9", ms); got != want {
		t.Errorf("shows as %s, want %s", got, want)
	}
	if !b.roll(lifeOne, 0) {
		t.Fatal("not rolled")
	}
	for offset, want := range map[int64]string{10: fmt.Sprintf("%d-9", ms), 3: "0-0"} { // 3 is in the sealed segment
		if b.mirror(offset); b.delivered(b.keys.Stream)[mirrored] != want {
			t.Errorf("offset %d after a roll: shown at %s, want %s", offset, b.delivered(b.keys.Stream)[mirrored], want)
		}
	}
	if n := pending(); n != "0" {
		t.Errorf("%s entries are pending in the new segment", n)
	}
}

func TestMirrorMakesNothingWhereThereIsNoLog(t *testing.T) {
	b := newBench(t)
	b.mirror(0)
	if n := b.text("EXISTS", b.keys.Stream); n != "0" {
		t.Error("it made a stream")
	}
	b.mustFence(nil)
	for what, err := range map[string]error{
		"mirror":   b.shard.Mirror(t.Context(), b.keys, lifeTwo, "g", 0),
		"unmirror": b.shard.Unmirror(t.Context(), b.keys, lifeTwo, "g"),
	} {
		if err != nil {
			t.Errorf("%s of another life: %v", what, err)
		}
	}
	if got := b.delivered(b.keys.Stream); len(got) != 0 {
		t.Errorf("groups %v", got)
	}
	b.mirror(0)
	if got := b.delivered(b.keys.Stream); len(got) != 1 || !strings.HasSuffix(got[mirrored], "-18446744073709551615") {
		t.Errorf("groups of an empty log: %v", got)
	}
}

func TestAtMost500GroupsAreMirroredBesideNativeOnes(t *testing.T) {
	b, _, ms := filled(t, 3)
	b.Do("XGROUP", "CREATE", b.keys.Stream, "native", "0")
	for i := range 499 {
		b.Do("XGROUP", "CREATE", b.keys.Stream, fmt.Sprint(MirrorPrefix, i), "0")
	}
	b.mirror(1)
	if err := b.shard.Mirror(t.Context(), b.keys, lifeOne, "late", 1); err != nil {
		t.Error(err)
	}
	b.mirror(2)
	got := b.delivered(b.keys.Stream)
	if _, late := got[MirrorPrefix+"late"]; late || len(got) != 501 || got[mirrored] != fmt.Sprintf("%d-1", ms) || got["native"] != "0-0" {
		t.Errorf("%d groups, mirrored %s, native %s", len(got), got[mirrored], got["native"])
	}
	for range 2 {
		if err := b.shard.Unmirror(t.Context(), b.keys, lifeOne, "g"); err != nil {
			t.Error(err)
		}
	}
	if got := b.delivered(b.keys.Stream); len(got) != 500 || got[mirrored] != "" {
		t.Errorf("%d groups are left", len(got))
	}
}

func TestRoomForAMirrorIsLookedForOnceAMinute(t *testing.T) {
	b, _, _ := filled(t, 3)
	now := b.shard.now()
	b.shard.now = func() time.Time { return now }
	for i := range 500 {
		b.Do("XGROUP", "CREATE", b.keys.Stream, fmt.Sprint(MirrorPrefix, i), "0")
	}
	shown := func() bool {
		b.mirror(1)
		return b.delivered(b.keys.Stream)[mirrored] != ""
	}
	if shown() {
		t.Error("a 501st group is shown")
	}
	b.Do("XGROUP", "DESTROY", b.keys.Stream, MirrorPrefix+"7") // by hand
	if shown() {
		t.Error("room was looked for again at once")
	}
	if now = now.Add(time.Minute); !shown() {
		t.Error("not shown a minute later")
	}
	if err := b.shard.Mirror(t.Context(), b.keys, lifeOne, "late", 1); err != nil {
		t.Fatal(err)
	}
	if err := b.shard.Unmirror(t.Context(), b.keys, lifeOne, "8"); err != nil {
		t.Fatal(err)
	}
	if err := b.shard.Mirror(t.Context(), b.keys, lifeOne, "late", 1); err != nil {
		t.Fatal(err)
	}
	if b.delivered(b.keys.Stream)[MirrorPrefix+"late"] == "" {
		t.Error("not shown where another was removed")
	}
}

// Redis 6.2 refuses all of XGROUP then, later ones only what makes groups.
func TestFullRedisRefusesNewMirrors(t *testing.T) {
	b, _, ms := filled(t, 3)
	b.mirror(1)
	b.Do("CONFIG", "SET", "maxmemory", "1")
	oom := func(err error) bool {
		refused, ok := errors.AsType[*RefusedError](err)
		return ok && refused.Code == "OOM"
	}
	if err := b.shard.Mirror(t.Context(), b.keys, lifeOne, "new", 1); !oom(err) {
		t.Errorf("a new group: %v, want OOM", err)
	}
	want := fmt.Sprintf("map[%s:%d-2]", mirrored, ms)
	if err := b.shard.Mirror(t.Context(), b.keys, lifeOne, "g", 3); oom(err) {
		want = fmt.Sprintf("map[%s:%d-0]", mirrored, ms)
	} else if err != nil {
		t.Error(err)
	}
	if got := fmt.Sprint(b.delivered(b.keys.Stream)); got != want {
		t.Errorf("groups %s, want %s", got, want)
	}
}

// What showing one commit costs where many groups are shown, or as many as may be.
func BenchmarkMirror(b *testing.B) {
	for _, c := range []struct {
		shown int
		group func(i int) string
		what  string
	}{
		{1, func(int) string { return "0" }, "one that is shown"},
		{500, func(int) string { return "0" }, "one that is shown"},
		{200, func(i int) string { return fmt.Sprint("new", i) }, "new ones"}, // -benchtime 300x at most
		{500, func(int) string { return "new" }, "one more"},
	} {
		b.Run(fmt.Sprintf("groups=%d/%s", c.shown, c.what), func(b *testing.B) {
			f, _, _ := filled(b, 10)
			for i := range c.shown {
				f.Do("XGROUP", "CREATE", f.keys.Stream, fmt.Sprint(MirrorPrefix, i), "0")
			}
			for i := 0; b.Loop(); i++ {
				if err := f.shard.Mirror(b.Context(), f.keys, lifeOne, c.group(i), 5); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

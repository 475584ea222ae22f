package redisstream

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/korvet-io/korvet/internal/redisstream/resp"
)

func (b *bench) glance(keys ...Keys) []Glance {
	b.Helper()
	all, err := b.shard.Glances(b.Context(), keys)
	if err != nil {
		b.Fatalf("glance: %v", err)
	}
	return all
}

// calls tells how often Redis ran a command.
func (b *bench) calls(command string) string {
	b.Helper()
	for line := range strings.Lines(b.text("INFO", "commandstats")) {
		if stats, ok := strings.CutPrefix(line, "cmdstat_"+command+":calls="); ok {
			n, _, _ := strings.Cut(stats, ",")
			return n
		}
	}
	return "0"
}

func TestGlanceSeesWhatALookSees(t *testing.T) {
	b, token, ms := filled(t, 5)
	b.roll(lifeOne, 0)
	b.mustSend(appendAt(token, ms+1, 5, values(3)))
	b.trim(lifeOne, 6)
	g := b.glance(b.keys)[0]
	if g.Err != nil {
		t.Fatal(g.Err)
	}
	want := b.look()
	if !reflect.DeepEqual(g.View, want) {
		t.Errorf("glance %+v, look %+v", g.View, want)
	}
	if g.First != (ID{ms + 1, 6}) || g.Last != (ID{ms + 1, 7}) || g.Length != 2 || g.Now < ms {
		t.Errorf("open stream %v to %v, %d entries, now %d", g.First, g.Last, g.Length, g.Now)
	}
}

func TestGlanceOfWhatIsEmptyOrNotThere(t *testing.T) {
	b := newBench(t)
	b.mustFence(nil)
	all := b.glance(b.keys, NewKeys("korvet", "none", 0))
	if g := all[0]; g.Err != nil || !g.Exists || g.TopicID != lifeOne || g.Length != 0 || g.First != (ID{}) || g.LastSeq != BeforeFirst {
		t.Errorf("empty: %+v", g)
	}
	if g := all[1]; g.Err != nil || g.Exists || g.TopicID != "" || g.LastSeq != BeforeFirst {
		t.Errorf("not there: %+v", g)
	}
}

func TestGlanceOfABrokenPartitionHidesNoOther(t *testing.T) {
	b, _, _ := filled(t, 5)
	broken := NewKeys("korvet", "broken", 0)
	b.Do("SET", broken.Leader, "not a hash")
	bad := NewKeys("korvet", "bad", 0)
	b.Do("HSET", bad.Segments, "s:x", "sealed")
	all := b.glance(broken, bad, b.keys)
	if all[0].Err == nil || all[1].Err == nil || all[2].Err != nil || all[2].Length != 5 {
		t.Errorf("glances %+v", all)
	}
}

func TestGlanceTouchesNoSealedSegment(t *testing.T) {
	b, token, ms := filled(t, 5)
	b.roll(lifeOne, 0)
	b.mustSend(appendAt(token, ms+1, 5, values(1)))
	b.Do("CONFIG", "SET", "maxmemory-policy", "allkeys-lfu") // OBJECT FREQ counts every access
	before := b.text("OBJECT", "FREQ", b.keys.Segment(0))
	for range 50 {
		b.glance(b.keys)
	}
	if after := b.text("OBJECT", "FREQ", b.keys.Segment(0)); after != before {
		t.Errorf("accesses of the sealed segment rose from %s to %s", before, after)
	}
}

func TestGlanceLooksOnceAtEachPartition(t *testing.T) {
	b := newBench(t)
	keys := make([]Keys, 10_000)
	for i := range keys {
		keys[i] = NewKeys("korvet", "t", int32(i))
	}
	b.Do("CONFIG", "RESETSTAT")
	if n := len(b.glance(keys...)); n != len(keys) {
		t.Fatalf("%d glances", n)
	}
	if n := []string{b.calls("xinfo"), b.calls("xinfo|stream")}; !slices.Contains(n, fmt.Sprint(len(keys))) { // 6.2, and since
		t.Errorf("%s looks at %d partitions", n, len(keys))
	}
	for _, command := range []string{"eval", "evalsha", "xrange"} { // a value in Lua is copied again and again
		if n := b.calls(command); n != "0" {
			t.Errorf("%s: %s calls", command, n)
		}
	}
}

func TestGlanceOfASegmentThatIsRolledMeanwhileDoesNotCount(t *testing.T) {
	text := func(s string) resp.Value { return resp.Value{Kind: '$', Str: s} }
	list := func(v ...resp.Value) resp.Value { return resp.Value{Kind: '*', Elems: v} }
	now := list(text("1"), text("0"))
	answers := []resp.Value{text("1"), list(text("a"), text("1/b"), text("0")), text("5-4"), list(), list(text("open"), text("2")), now, {Kind: ':', Int: 1}, {Kind: ':', Int: 3}, list()}
	if g := parseGlance(answers); !errors.Is(g.Err, ErrRolled) {
		t.Errorf("a look at segment 1 and then at segment 2's registry: %+v", g)
	}
	answers[0] = text("2")
	if g := parseGlance(answers); g.Err != nil || g.Open != 2 || !g.Copied || g.Dictionaries != 3 || g.Now != 1000 {
		t.Errorf("a look at one segment: %+v", g)
	}
}

// FuzzGlance parses arbitrary bytes as the answer to a glance.
func FuzzGlance(f *testing.F) {
	leader := "$-1\r\n*3\r\n$1\r\na\r\n$3\r\n1/b\r\n$1\r\n0\r\n$3\r\n5-4\r\n"
	entry := "*2\r\n$3\r\n5-4\r\n*2\r\n$5\r\nvalue\r\n$1\r\nv\r\n"
	stream := "*8\r\n$6\r\nlength\r\n:1\r\n$17\r\nlast-generated-id\r\n$3\r\n5-4\r\n$11\r\nfirst-entry\r\n" + entry + "$10\r\nlast-entry\r\n" + entry
	clock := "*2\r\n$2\r\n99\r\n$1\r\n5\r\n:0\r\n:2\r\n"
	f.Add([]byte(leader + stream + "*2\r\n$5\r\nstart\r\n$1\r\n3\r\n" + clock))
	f.Add([]byte(leader + "-ERR no such key\r\n*2\r\n$3\r\ns:0\r\n$16\r\nsealed 0 4 12 13\r\n" + clock))
	f.Add([]byte(leader + stream + "-WRONGTYPE no\r\n" + clock))
	f.Add([]byte("-OOM no\r\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, v := resp.NewReader(bytes.NewReader(data)), make([]resp.Value, looksCommands)
		for i := range v {
			var err error
			if v[i], err = r.Value(); err != nil {
				return
			}
		}
		if g := parseGlance(v); g.Err != nil && (g.Exists || g.TopicID != "" || len(g.Segments) > 0) {
			t.Errorf("a glance with an error says %+v", g)
		}
	})
}

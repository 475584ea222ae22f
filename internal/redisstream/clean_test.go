package redisstream

import (
	"bytes"
	"errors"
	"reflect"
	"strconv"
	"testing"

	"github.com/korvet-io/korvet/internal/redisstream/resp"
)

func TestCleanIsReadAsItWasWritten(t *testing.T) {
	want := Clean{To: 1 << 60, Ms: 5, Kept: 3, Passed: 9, Largest: Stamp{true, -7, 1 << 59}, Tombstones: []Tombstones{{2, 3, 4}, {5, 6, 7}}}
	var got Clean
	got.field(cleanField, resp.Value{Str: want.text()})
	got.field(tombstonesField, resp.Value{Str: want.tombstonesText()})
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// FuzzClean parses arbitrary registry fields: whatever they say, a pass can begin.
func FuzzClean(f *testing.F) {
	f.Add("clean", "7 1000 3 2000")
	f.Add("clean", "7 1000 3 2000 -5 6")
	f.Add("tombstones", "7:1000:1 9:2000:5")
	f.Add("dense:0", "100 3")
	f.Add("holes:12", "41")
	f.Fuzz(func(t *testing.T, name, text string) {
		var c Clean
		c.field(name, resp.Value{Str: text})
		if c.To < 0 {
			t.Errorf("%q %q is read as %+v", name, text, c)
		}
	})
}

// A page that is sized for small entries may be of large ones.
func TestRewriteOfLargeEntriesBehindSmallOnesTakesSmallSteps(t *testing.T) {
	b, token, ms := filled(t, 40)
	const large = 40
	list := values(large)
	for i := range list {
		list[i].Value = bytes.Repeat([]byte{'x'}, 200<<10)
	}
	b.mustSend(appendAt(token, ms+1, 40, list))
	before, _ := strconv.Atoi(b.calls("evalsha"))
	c := Compaction{Shard: b.shard, Keys: b.keys, Claim: claimOne}
	if n, err := c.Rewrite(t.Context(), 0); err != nil || n != 40+large {
		t.Fatalf("%d entries, %v", n, err)
	}
	if got := b.entries(b.keys.Stream); len(got) != 40+large || len(got[79].Record.Value) != 200<<10 {
		t.Errorf("%d entries are left", len(got))
	}
	if steps, _ := strconv.Atoi(b.calls("evalsha")); steps-before < large-8 {
		t.Errorf("%d steps for %d records of 200 KiB", steps-before, large)
	}
}

func TestStepOfARewriteThatComesLateSpoilsNothing(t *testing.T) {
	b, _, _ := filled(t, 40)
	c := Compaction{Shard: b.shard, Keys: b.keys, Claim: claimOne}
	late := func(last string) {
		t.Helper()
		_, _, err := c.run(t.Context(), "copy", compactCopyScript, []string{c.Stream(0), b.keys.Copy}, "0", "0", last, "5", "1000")
		if !errors.Is(err, ErrChanged) {
			t.Errorf("a late step behind %q ended with %v", last, err)
		}
	}
	ids := b.entries(b.keys.Stream)
	late(ids[10].ID.String()) // the copy has taken the stream's place, or was removed
	if n := len(b.entries(b.keys.Copy)); n != 0 {
		t.Errorf("a late step has made a copy of %d entries", n)
	}
	for range 2 { // two steps of a rewrite
		_, v, err := c.run(t.Context(), "copy", compactCopyScript, []string{c.Stream(0), b.keys.Copy}, "0", "0", "", "5", "1000")
		if err != nil || v[0].Str != ids[4].ID.String() {
			t.Fatalf("copied up to %v, %v", v, err)
		}
	}
	late(ids[10].ID.String()) // of the rewrite before
	if n := len(b.entries(b.keys.Copy)); n != 5 {
		t.Errorf("the copy has %d entries", n)
	}
	if n, err := c.Rewrite(t.Context(), 0); err != nil || n != 40 || len(b.entries(b.keys.Stream)) != 40 {
		t.Errorf("%d entries, %v", n, err)
	}
}

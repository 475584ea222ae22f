package redisstream

import (
	"reflect"
	"testing"

	"github.com/korvet-io/korvet/internal/redisstream/resp"
)

func TestCleanIsReadAsItWasWritten(t *testing.T) {
	want := Clean{To: 1 << 60, Ms: 5, Kept: 3, Passed: 9, Tombstones: []Tombstones{{2, 3, 4}, {5, 6, 7}}}
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

package compaction

import (
	"strings"
	"testing"

	"github.com/korvet-io/korvet/internal/worker/workertest"
)

// longLog has all that a pass deals with: superseded records, a tombstone whose time is over, sealed segments, holes.
func longLog(t *testing.T) *keyedLog {
	t.Helper()
	l := newKeyedLog(t)
	l.put("gone=1", "gone", "=1", "a=1")
	l.compact()
	l.put("a=2", "b=1", "a=3")
	l.roll(0)
	l.fill(3000, 100)
	l.put("a=4", "b", "x=1")
	l.now = l.ms + 5000
	return l
}

func TestWorkerThatDiesAfterAnyCommandOfAPassLosesNothing(t *testing.T) {
	whole := longLog(t)
	whole.compact()
	want := whole.content()
	for n, finished := 0, false; !finished; n++ {
		l := longLog(t)
		f := workertest.NewFuse(t, l.Addr(), n)
		err := l.compactor(workertest.OpenShard(t, f.URI())).Compact(t.Context(), l.target())
		finished = err == nil
		l.stillNewest(want)
		if l.fence++; n%2 == 0 { // something comes between the two
			l.append(keyed("y", "1"))
		}
		l.compact()
		got := strings.TrimSuffix(l.content(), " 3010:y=1")
		if got != want {
			t.Fatalf("died after %d commands, then the next came to\n%.300s\nwant\n%.300s", n, got, want)
		}
		if left := l.number("EXISTS", l.keys.Copy); left != 0 {
			t.Fatalf("died after %d commands: the copy is left", n)
		}
	}
}

// stillNewest checks that all of the records that a whole pass leaves are there.
func (l *keyedLog) stillNewest(want string) {
	l.Helper()
	have := map[string]bool{}
	for word := range strings.FieldsSeq(l.content()) {
		have[word] = true
	}
	for word := range strings.FieldsSeq(want) {
		if !have[word] {
			l.Fatalf("%s is lost", word)
		}
	}
}

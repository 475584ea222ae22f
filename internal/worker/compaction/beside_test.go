package compaction

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/korvet-io/korvet/internal/worker/workertest"
)

// besides is what a log holds that is written, trimmed and read between any two commands of a pass.
type besides struct {
	*keyedLog
	rnd   *rand.Rand
	words []string // by offset, in content's notation
	start int64
}

// write appends one record of a few keys.
func (b *besides) write() {
	b.Helper()
	word := fmt.Sprintf("k%d", b.rnd.IntN(12))
	if b.rnd.IntN(8) > 0 {
		word += fmt.Sprintf("=%d", b.next)
	}
	b.words = append(b.words, fmt.Sprintf("%d:%s", b.next, word))
	b.put(word)
}

// trim deletes some records at the log's head.
func (b *besides) trim() {
	b.Helper()
	b.start = min(b.start+int64(b.rnd.IntN(20)), b.next-1)
	if _, err := b.shard.Trim(b.Context(), b.keys, life, b.start); err != nil {
		b.Fatal(err)
	}
}

func (b *besides) key(offset int64) string {
	_, word, _ := strings.Cut(b.words[offset], ":")
	key, _, _ := strings.Cut(word, "=")
	return key
}

// check reads the log: what is there is what was written, in order, and what is not is superseded.
func (b *besides) check() (left int) {
	b.Helper()
	there, last := map[int64]bool{}, int64(-1)
	for word := range strings.FieldsSeq(b.content()) {
		var offset int64
		if _, err := fmt.Sscanf(word, "%d:", &offset); err != nil || offset <= last || word != b.words[offset] {
			b.Fatalf("%q comes after offset %d (%v)", word, last, err)
		}
		there[offset], last = true, offset
		left++
	}
	newest := map[string]int64{}
	for offset := range b.next {
		newest[b.key(offset)] = offset
	}
	for offset := b.start; offset < b.next; offset++ {
		if !there[offset] && newest[b.key(offset)] == offset {
			b.Fatalf("%s is lost, the log starts at %d", b.words[offset], b.start)
		}
	}
	return left
}

func TestWritesTrimsAndReadsBetweenAnyTwoCommandsOfAPass(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			b := &besides{keyedLog: newKeyedLog(t, "--stream-node-max-entries", "5"), rnd: rand.New(rand.NewPCG(seed, 1))}
			for range 300 {
				b.write()
			}
			step := make(chan chan struct{})
			f := workertest.NewFuse(t, b.Addr(), math.MaxInt)
			f.Before = func() {
				done := make(chan struct{})
				step <- done
				<-done
			}
			c := b.compactor(workertest.OpenShard(t, f.URI()))
			trims := int(seed) % 3 // without trims a rewrite comes to its end
			for range 4 {
				passed, target := make(chan error), b.target()
				go func() { passed <- c.Compact(t.Context(), target) }()
				for ended := false; !ended; {
					select {
					case err := <-passed:
						if ended = true; err != nil {
							t.Fatal(err)
						}
					case done := <-step:
						if b.write(); trims > 0 && b.rnd.IntN(6) < trims {
							b.trim()
						}
						b.check()
						close(done)
					}
				}
			}
			if b.seen.removed == 0 || trims == 0 && b.seen.rewrites == 0 {
				t.Errorf("reports %+v", &b.seen)
			}
			b.put("x=1")
			for b.compact() {
			}
			if left := len(strings.Fields(b.content())); left > 14 {
				t.Errorf("%d records are left", left)
			}
		})
	}
}

package compaction

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// plainRecord is a record of the plain log that a compacted one is compared with.
type plainRecord struct {
	offset int64
	ms     uint64
	key    string // "" for none
	word   string // as content shows it
	stone  bool   // a tombstone
	clean  uint64 // when a pass found it first
}

// plainLog says in a few lines what a compacted log is.
type plainLog struct {
	records []plainRecord
	clean   int64
}

// upto is where a pass ends: before the newest append, and before what is younger than the lag.
func (p *plainLog) upto(now, lag uint64) int64 {
	for _, r := range p.records {
		if r.ms == p.records[len(p.records)-1].ms || r.ms+lag > now {
			return max(r.offset, p.clean)
		}
	}
	return p.clean
}

func (p *plainLog) compact(now, lag, deleteRetention uint64) {
	upto := p.upto(now, lag)
	newest := map[string]int64{}
	for _, r := range p.records {
		if r.offset < upto {
			newest[r.key] = r.offset
		}
	}
	var kept []plainRecord
	for _, r := range p.records {
		if r.offset < upto {
			expired := r.stone && r.offset < p.clean && now-r.clean > deleteRetention
			if r.key == "" || newest[r.key] > r.offset || expired {
				continue
			}
			if r.offset >= p.clean {
				r.clean = now
			}
		}
		kept = append(kept, r)
	}
	p.records, p.clean = kept, upto
}

// stonesDue tells whether the newest tombstones of the clean part may go.
func (p *plainLog) stonesDue(now, deleteRetention uint64) (due bool) {
	for _, r := range p.records {
		if r.stone && r.offset < p.clean {
			due = now-r.clean > deleteRetention
		}
	}
	return due
}

func (p *plainLog) content() string {
	var words []string
	for _, r := range p.records {
		words = append(words, r.word)
	}
	return strings.Join(words, " ")
}

func TestRandomProgramsAgreeWithAPlainCompactedLog(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { randomProgram(t, rand.New(rand.NewPCG(seed, 1))) })
	}
}

func randomProgram(t *testing.T, rnd *rand.Rand) {
	l, p := newKeyedLog(t), &plainLog{}
	l.cfg.DeleteRetentionMs = 400
	l.now = l.ms
	number, open := 0, int64(0)
	for range 120 {
		lag := uint64(l.cfg.MinCompactionLagMs)
		switch n := rnd.IntN(20); {
		case n < 11:
			l.ms = max(l.ms, l.now)
			number++
			word := fmt.Sprintf("%c=%d", 'a'+rnd.IntN(6), number)
			switch rnd.IntN(6) {
			case 0:
				word = word[:1] // a tombstone
			case 1:
				word = word[1:] // no key
			}
			l.put(word)
			key, _, valued := strings.Cut(word, "=")
			p.records = append(p.records, plainRecord{
				offset: l.next - 1, ms: l.ms, key: key, stone: !valued, word: fmt.Sprintf("%d:%s", l.next-1, word),
			})
			l.now = max(l.now, l.ms)
		case n < 13:
			l.now += uint64(rnd.IntN(300))
		case n < 14 && len(p.records) > 0: // DeleteRecords
			start := p.records[rnd.IntN(len(p.records))].offset
			if _, err := l.shard.Trim(t.Context(), l.keys, life, start); err != nil {
				t.Fatal(err)
			}
			for p.records[0].offset < start {
				p.records = p.records[1:]
			}
			p.clean = max(p.clean, start)
		case n < 15 && len(p.records) > 0 && l.number("XLEN", l.keys.Stream) > 0:
			l.roll(open)
			open++
		case n < 16:
			l.cfg.MinCompactionLagMs = int64(rnd.IntN(3) * 100)
		case len(p.records) > 0:
			due := p.upto(l.now, lag) > p.clean || p.stonesDue(l.now, 400)
			if passed := l.compact(); passed != due {
				t.Fatalf("a pass: %v, want %v, at\n%s", passed, due, p.content())
			}
			if due {
				p.compact(l.now, lag, 400)
			}
		}
		l.want(p.content())
		if t.Failed() {
			t.FailNow()
		}
	}
}

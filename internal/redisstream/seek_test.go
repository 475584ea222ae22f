package redisstream

import (
	"bytes"
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/korvet-io/korvet/internal/redisstream/resp"
)

// mostProbes bounds the commands of one search in a log without strangers' entries.
const mostProbes = 60

// add puts entries with these ids into a stream.
func (b *bench) add(stream string, ids []ID) {
	b.Helper()
	var request []byte
	for _, id := range ids {
		request = resp.AppendCommand(request, "XADD", stream, id.String(), "value", "v")
	}
	_, err := Await(b.Context(), func(done func([]resp.Value, error)) { askAll(b.conn, request, len(ids), done) })
	if err != nil {
		b.Fatalf("add entries: %v", err)
	}
}

func (b *bench) seek(stream string, offset int64) (id ID, found bool, probes int64) {
	b.Helper()
	id, found, probes, err := b.shard.seek(b.Context(), stream, offset, seekBytes)
	if err != nil {
		b.Fatalf("seek %d: %v", offset, err)
	}
	const small = 400 // many steps come to the same end
	if again, ok, _, err := b.shard.seek(b.Context(), stream, offset, small); err != nil || ok != found || again != id {
		b.Errorf("seek %d in small steps gave %v (%v), %v, want %v (%v)", offset, again, ok, err, id, found)
	}
	return id, found, probes
}

// first is the model: the first entry at or above offset, in a log without strangers' entries.
func first(ids []ID, offset int64) (ID, bool) {
	for _, id := range ids {
		if int64(id.Seq) >= offset {
			return id, true
		}
	}
	return ID{}, false
}

// checkSeek compares searches for these offsets with the model.
func (b *bench) checkSeek(stream string, ids []ID, offsets []int64, limit int64) {
	b.Helper()
	for _, offset := range offsets {
		got, found, probes := b.seek(stream, offset)
		want, wanted := first(ids, offset)
		if found != wanted || got != want {
			b.Errorf("seek %d in %s gave %v (%v), want %v (%v), in %v", offset, stream, got, found, want, wanted, shorten(ids))
			return
		}
		if probes > limit {
			b.Errorf("seek %d took %d probes in %v", offset, probes, shorten(ids))
		}
	}
}

func shorten(ids []ID) string {
	if len(ids) > 60 {
		return fmt.Sprintf("%v ... %v (%d entries)", ids[:30], ids[len(ids)-30:], len(ids))
	}
	return fmt.Sprint(ids)
}

func TestSeekStepsOverAStrangersEntry(t *testing.T) {
	b := newBench(t)
	ids := []ID{{10, 4}, {12, 5}, {20, 0}, {30, 6}}
	b.add("s", ids)
	b.checkSeek("s", slices.Delete(ids, 2, 3), []int64{0, 1, 4, 5, 6, 7}, mostProbes)
}

// The clock of whoever wrote the records may be behind: they may come in the ms of a stranger's entries.
func TestSeekFindsRecordsInTheMsOfStrangersEntries(t *testing.T) {
	b := newBench(t)
	records := []ID{{10, 38}, {10, 39}, {20, 40}, {20, 41}, {20, 42}, {20, 43}, {20, 44}, {30, 45}}
	for _, strangers := range []int{1, 2, 3, 7, 19} {
		stream := fmt.Sprint("s", strangers)
		b.add(stream, records[:2])
		for i := range strangers {
			b.add(stream, []ID{{20, uint64(i)}})
		}
		b.add(stream, records[2:])
		b.checkSeek(stream, records, []int64{38, 39, 40, 41, 42, 43, 44, 45, 46}, mostProbes)
	}
}

func TestSeekInAnEmptyOrMissingStreamFindsNothing(t *testing.T) {
	b := newBench(t)
	b.mustFence(nil)
	for _, stream := range []string{b.keys.Stream, "missing"} {
		if _, found, err := b.shard.Seek(t.Context(), stream, 0); found || err != nil {
			t.Errorf("%s: %v, %v", stream, found, err)
		}
	}
}

// log makes a log's ids: batches of one ms, with holes, bursts and pauses.
func log(r *rand.Rand, n int, base int64) []ID {
	var ids []ID
	ms, offset := uint64(r.IntN(1000)+1), uint64(base)
	for len(ids) < n {
		switch r.IntN(6) {
		case 0:
			ms += uint64(r.IntN(3))
		case 1:
			ms += uint64(r.IntN(1000))
		case 2:
			ms += uint64(r.IntN(10_000_000))
		case 3:
			offset += uint64(r.IntN(5)) // a hole
		case 4:
			if r.IntN(10) == 0 {
				offset += uint64(r.IntN(100_000))
			}
		}
		ms++
		for range 1 + r.IntN([]int{1, 3, 200}[r.IntN(3)]) {
			ids = append(ids, ID{ms, offset})
			offset++
		}
	}
	return ids
}

// offsetsOf picks offsets to look for: those of entries, of holes, and beyond the ends.
func offsetsOf(r *rand.Rand, ids []ID, n int) []int64 {
	low, high := int64(ids[0].Seq), int64(ids[0].Seq)
	for _, id := range ids {
		low, high = min(low, int64(id.Seq)), max(high, int64(id.Seq))
	}
	offsets := []int64{0, low, low + 1, high - 1, high, high + 1}
	for range n {
		offsets = append(offsets, int64(ids[r.IntN(len(ids))].Seq)+int64(r.IntN(3))-1, low+r.Int64N(high-low+1))
	}
	return slices.DeleteFunc(offsets, func(o int64) bool { return o < 0 })
}

func TestSeekFindsWhatAModelFinds(t *testing.T) {
	b := newBench(t)
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		base := []int64{0, 0, 7, 1<<53 - 50, 1<<62 + 12345}[r.IntN(5)]
		ids := log(r, 1+r.IntN(2000), base)
		stream := fmt.Sprint("log", seed)
		b.add(stream, ids)
		b.checkSeek(stream, ids, offsetsOf(r, ids, 60), mostProbes)
	}
}

// Strangers' entries have ids as XADD * gives them: a ms of their own, sequences from 0 on.
func TestSeekFindsWhatAModelFindsAmongStrangersEntries(t *testing.T) {
	b := newBench(t)
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 2))
		ids := log(r, 1+r.IntN(800), []int64{0, 500, 1<<53 - 50}[r.IntN(3)])
		for i := range ids {
			ids[i].Ms = 10 * (ids[i].Ms + 1)
		}
		all := slices.Clone(ids)
		for range 1 + r.IntN(6) { // a stranger comes
			ms := ids[r.IntN(len(ids))].Ms + 1
			for range 1 + r.IntN(4) {
				for seq := range uint64(1 + r.IntN([]int{1, 2, 60}[r.IntN(3)])) {
					all = append(all, ID{ms, seq})
				}
				ms += uint64(1 + r.IntN(2))
			}
		}
		stream := fmt.Sprint("strange", seed)
		b.add(stream, inOrder(all))
		b.checkSeek(stream, ids, offsetsOf(r, ids, 40), 1000)
	}
}

func inOrder(ids []ID) []ID {
	slices.SortFunc(ids, func(a, b ID) int { return cmp.Or(cmp.Compare(a.Ms, b.Ms), cmp.Compare(a.Seq, b.Seq)) })
	return slices.Compact(ids)
}

func TestSeekFindsTheLogAroundAThousandStrangersEntries(t *testing.T) {
	b := newBench(t)
	ids := log(rand.New(rand.NewPCG(1, 3)), 500, 0)
	half := len(ids) / 2
	for i := half; i < len(ids); i++ {
		ids[i].Ms += 100_000
	}
	all := slices.Clone(ids)
	ms := ids[half-1].Ms
	for range 1000 {
		ms++
		all = append(all, ID{ms, 0}, ID{ms, 1})
	}
	b.add("s", inOrder(all))
	b.checkSeek("s", ids, []int64{0, 1, 2, 250, int64(ids[half].Seq), int64(ids[half-1].Seq), 498, 499, 600, 1e9}, 10_000)
}

// A search reads whole entries inside Redis: large ones must make many short steps.
func TestSeekAmongLargeEntriesTakesSmallSteps(t *testing.T) {
	b := newBench(t)
	f, token := b.mustFence(nil)
	const records = 40
	var ids []ID
	for i := range uint64(records) {
		list := values(1)
		list[0].Value = bytes.Repeat([]byte{'x'}, 200<<10)
		ids = append(ids, ID{f.Floor + 1 + i*i, i})
		b.mustSend(appendAt(token, ids[i].Ms, int64(i), list))
	}
	before, _ := strconv.Atoi(b.calls("evalsha"))
	for offset := range int64(records) {
		id, found, err := b.shard.Seek(t.Context(), b.keys.Stream, offset)
		if err != nil || !found || id != ids[offset] {
			t.Errorf("seek %d gave %v (%v), %v", offset, id, found, err)
		}
	}
	if steps, _ := strconv.Atoi(b.calls("evalsha")); steps-before < 2*records {
		t.Errorf("%d steps for %d searches among records of 200 KiB", steps-before, records)
	}
}

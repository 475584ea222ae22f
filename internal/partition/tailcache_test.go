package partition

import (
	"fmt"
	"testing"
)

// fill puts n batches of 10 offsets and 1,000 bytes behind a tail that ends at from.
func fill(b *budget, t *tail, from, n int) {
	for i := from; i < from+n; i++ {
		b.add(t, cached{base: int64(10 * i), last: int64(10*i + 9), raw: make([]byte, 1000)})
	}
}

func (t *tail) cost() (cost int64) {
	for _, c := range t.batches[t.head:] {
		cost += c.cost()
	}
	return cost
}

func TestTailsOfManyPartitionsStayWithinOneBudget(t *testing.T) {
	b := &budget{max: 100_000}
	tails := make([]tail, 50)
	for round := range 40 {
		for i := range tails {
			fill(b, &tails[i], round, 1)
			if i%7 == round%7 {
				b.reset(&tails[i])
			}
			total := int64(0)
			for k := range tails {
				total += tails[k].cost()
			}
			if total > b.max || total != b.used {
				t.Fatalf("round %d: the tails have %d bytes, the budget counts %d of %d", round, total, b.used, b.max)
			}
		}
	}
	if b.used < b.max/2 {
		t.Errorf("only %d of %d bytes are used", b.used, b.max)
	}
}

func TestNewestBatchesOfABusyPartitionPushTheOldestOfAnyOut(t *testing.T) {
	b := &budget{max: 20 * 1256}
	var idle, busy tail
	fill(b, &idle, 0, 5)
	fill(b, &busy, 0, 30)
	if n := len(idle.batches) - idle.head; n != 0 {
		t.Errorf("%d old batches are kept", n)
	}
	if _, hit := busy.read(nil, ReadRequest{Offset: 299, MaxBytes: 1 << 20, AtLeastOne: true}, 300); !hit {
		t.Error("the newest batch is gone")
	}
	if _, hit := busy.read(nil, ReadRequest{Offset: 99, MaxBytes: 1 << 20, AtLeastOne: true}, 300); hit {
		t.Error("an old batch is kept")
	}
}

func TestBudgetForgetsClearedTails(t *testing.T) {
	b := &budget{max: 1 << 30}
	for range 1000 {
		var gone tail
		fill(b, &gone, 0, 100)
		b.reset(&gone)
	}
	if n := len(b.order) - b.head; n > 10_000 {
		t.Errorf("%d batches of tails that were cleared are remembered", n)
	}
	if b.used != 0 {
		t.Errorf("%d bytes are counted", b.used)
	}
}

func TestBatchLargerThanTheBudgetIsNotKeptAndLeavesNoGap(t *testing.T) {
	b := &budget{max: 5000}
	var tl tail
	fill(b, &tl, 0, 2)
	b.add(&tl, cached{base: 20, last: 29, raw: make([]byte, 6000)})
	fill(b, &tl, 3, 1)
	for offset, want := range map[int64]bool{5: false, 25: false, 35: true} {
		if _, hit := tl.read(nil, ReadRequest{Offset: offset, MaxBytes: 1 << 20, AtLeastOne: true}, 40); hit != want {
			t.Errorf("offset %d hits: %v, want %v", offset, hit, want)
		}
	}
}

func TestTailReadsWholeBatchesWithinTheLimits(t *testing.T) {
	b := &budget{max: 1 << 20}
	var tl tail
	fill(b, &tl, 0, 5)
	for _, c := range []struct {
		offset, high int64
		limit        int
		one          bool
		want         int // batches
	}{
		{0, 50, 1 << 20, false, 5}, {0, 50, 2500, false, 2}, {0, 50, 2500, true, 2}, {9, 50, 1 << 20, false, 5}, {10, 50, 1 << 20, false, 4},
		{0, 50, 999, false, 0}, {0, 50, 999, true, 1}, {0, 50, 0, true, 1}, {0, 30, 1 << 20, false, 3}, {0, 25, 1 << 20, false, 2}, {45, 50, 0, true, 1},
	} {
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			out, hit := tl.read([]byte("x"), ReadRequest{Offset: c.offset, MaxBytes: c.limit, AtLeastOne: c.one}, c.high)
			if !hit || len(out) != 1+1000*c.want {
				t.Errorf("got %d bytes (%v), want %d batches", len(out)-1, hit, c.want)
			}
		})
	}
	for _, offset := range []int64{-1, 50, 60} {
		if _, hit := tl.read(nil, ReadRequest{Offset: offset, MaxBytes: 1 << 20, AtLeastOne: true}, 50); hit {
			t.Errorf("offset %d hits", offset)
		}
	}
}

func TestTailForgetsWhatRedisNoLongerHas(t *testing.T) {
	b := &budget{max: 1 << 20}
	var tl tail
	fill(b, &tl, 0, 5)
	b.dropBelow(&tl, 15)
	if tl.begins() != 20 || !tl.holds(49) || b.used != tl.cost() {
		t.Errorf("the tail begins at %d, the budget counts %d of %d bytes", tl.begins(), b.used, tl.cost())
	}
	if b.dropBelow(&tl, 50); tl.begins() != everybody || b.used != 0 {
		t.Errorf("the tail begins at %d, the budget counts %d", tl.begins(), b.used)
	}
}

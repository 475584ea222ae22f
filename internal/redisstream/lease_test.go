package redisstream

import (
	"errors"
	"testing"

	"github.com/korvet-io/korvet/internal/redistest"
)

const leaseKey = "korvet:storage:worker"

func (b *bench) lease(owner string, length, held int64) (int64, error) {
	b.Helper()
	return b.shard.Lease(b.Context(), LeaseRequest{Key: leaseKey, Owner: owner, LengthMs: length, Held: held})
}

func (b *bench) mustLease(owner string, length, held int64) int64 {
	b.Helper()
	fence, err := b.lease(owner, length, held)
	if err != nil {
		b.Fatalf("lease of %s: %v", owner, err)
	}
	return fence
}

func TestLeaseIsHeldByOneUntilItIsGivenBack(t *testing.T) {
	b := newBench(t)
	first := b.mustLease("a", 60_000, 0)
	if _, err := b.lease("b", 60_000, 0); heldBy(err) != "a" {
		t.Errorf("b got %v, want that a holds it", err)
	}
	if got := b.mustLease("a", 60_000, first); got != first {
		t.Errorf("renewed with fence %d, want %d", got, first)
	}
	if got := b.mustLease("a", 0, first); got != first {
		t.Errorf("given back with fence %d, want %d", got, first)
	}
	if second := b.mustLease("b", 60_000, 0); second <= first {
		t.Errorf("fence %d after %d", second, first)
	}
}

func heldBy(err error) string {
	if held, ok := errors.AsType[*HeldError](err); ok {
		return held.Owner
	}
	return ""
}

func TestLeaseThatRanOutIsTakenAndItsHolderNoticesThat(t *testing.T) {
	b := newBench(t)
	first := b.mustLease("a", 60_000, 0)
	b.Do("HSET", leaseKey, "until", "1")
	second := b.mustLease("b", 60_000, 0)
	if _, err := b.lease("a", 60_000, first); !errors.Is(err, ErrLeaseLost) {
		t.Errorf("a renewed what b has: %v", err)
	}
	if _, err := b.lease("a", 0, first); !errors.Is(err, ErrLeaseLost) || b.mustLease("b", 60_000, second) != second {
		t.Errorf("a gave back what b has: %v", err)
	}
}

// After a failover to a replica whose clock is behind, a lease of a dead process would be waited for as long as that is.
func TestLeaseThatAClockAheadGaveIsWaitedForNoLongerThanItWasGivenFor(t *testing.T) {
	b := newBench(t)
	first := b.mustLease("a", 50, 0)
	b.Do("HSET", leaseKey, "until", "99999999999999")
	_, err := b.lease("b", 60_000, 0)
	held, ok := errors.AsType[*HeldError](err)
	if !ok || held.Expiry != held.Now+50 {
		t.Fatalf("b got %v", err)
	}
	redistest.Eventually(t, "the lease to run out", func() bool {
		second, err := b.lease("b", 60_000, 0)
		return err == nil && second > first
	})
}

func TestLeaseOfADeadProcessIsNotWaitedFor(t *testing.T) {
	b := newBench(t)
	first := b.mustLease("a", 60_000, 0)
	gone := func(owner string) bool { return owner == "a" }
	second, err := b.shard.Lease(t.Context(), LeaseRequest{Key: leaseKey, Owner: "b", LengthMs: 60_000, Gone: gone})
	if err != nil || second <= first {
		t.Errorf("fence %d after %d, %v", second, first, err)
	}
}

func TestLeaseThatPassedFromADeadProcessToALivingOneIsHeld(t *testing.T) {
	b := newBench(t)
	b.mustLease("a", 60_000, 0)
	gone := func(owner string) bool {
		b.Do("HSET", leaseKey, "owner", "c") // took it between the answer and what follows from it
		return owner == "a"
	}
	_, err := b.shard.Lease(t.Context(), LeaseRequest{Key: leaseKey, Owner: "b", LengthMs: 60_000, Gone: gone})
	if heldBy(err) != "c" {
		t.Errorf("b got %v, want that c holds it", err)
	}
}

func TestFenceNumbersRiseAlsoAfterRedisLostThem(t *testing.T) {
	b := newBench(t)
	first := b.mustLease("a", 0, 0)
	b.Do("DEL", leaseKey)
	if second := b.mustLease("b", 0, 0); second < first {
		t.Errorf("fence %d after %d", second, first)
	}
	b.Do("HSET", leaseKey, "fence", "99999999999999") // of a clock that was ahead
	if got := b.mustLease("c", 0, 0); got != 100_000_000_000_000 {
		t.Errorf("fence %d, want one more", got)
	}
}

func TestLeaseWorksWithRedisFull(t *testing.T) {
	b := newBench(t)
	b.Do("CONFIG", "SET", "maxmemory", "1")
	first := b.mustLease("a", 60_000, 0)
	b.mustLease("a", 60_000, first)
	b.mustLease("a", 0, first)
	if second := b.mustLease("b", 60_000, 0); second <= first {
		t.Errorf("fence %d after %d", second, first)
	}
}

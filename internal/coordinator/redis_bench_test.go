package coordinator

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/korvet-io/korvet/internal/redistest"
)

// One commit at a time: what a lone group waits for.
func BenchmarkCommit(b *testing.B) {
	for _, offsets := range []int{1, 10, 100} {
		b.Run(fmt.Sprintf("offsets=%d", offsets), func(b *testing.B) { benchmarkCommits(b, 1, offsets) })
	}
}

// Many groups that each wait for their own commits: what one broker's connection to Redis carries.
func BenchmarkCommitOfManyGroups(b *testing.B) {
	for _, groups := range []int{16, 256, 2000} {
		for _, offsets := range []int{1, 10, 100} {
			b.Run(fmt.Sprintf("groups=%d/offsets=%d", groups, offsets), func(b *testing.B) { benchmarkCommits(b, groups, offsets) })
		}
	}
}

func benchmarkCommits(b *testing.B, groups, offsets int) {
	redis := redistest.Start(b)
	client, err := rueidis.NewClient(rueidis.ClientOption{ // as package app makes it
		InitAddress: []string{redis.Addr()}, DisableCache: true, ForceSingleClient: true, PipelineMultiplex: -1, RingScaleEachConn: 8,
		ReadBufferEachConn: 32 << 10, WriteBufferEachConn: 32 << 10,
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(client.Close)
	s := NewRedisStore(client, "korvet", "1/boot", 10*time.Second)
	tokens := make([]Token, groups)
	for g := range tokens {
		if tokens[g], _, err = s.Claim(b.Context(), fmt.Sprint(g)); err != nil {
			b.Fatal(err)
		}
	}
	var left atomic.Int64
	var wg sync.WaitGroup
	left.Store(int64(b.N))
	b.ReportAllocs()
	b.ResetTimer()
	for g, token := range tokens {
		wg.Go(func() {
			set := make([]Offset, offsets)
			for n := int64(0); left.Add(-1) >= 0; n++ {
				for i := range set {
					set[i] = someOffset(int32(i), n)
				}
				if err := s.Commit(b.Context(), fmt.Sprint(g), token, set, nil); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "commits/s")
}

package compaction

import (
	"fmt"
	"testing"
)

// BenchmarkCompaction is one first pass over a log, with the rewrite that follows; a tenth of the records stays. records/s
// counts the log's records, whatever a pass looks at twice.
func BenchmarkCompaction(b *testing.B) {
	const n = 200_000
	for _, bytes := range []int{200, 1000} {
		b.Run(fmt.Sprintf("bytes=%d", bytes), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				l := newKeyedLog(b)
				l.memory = 128 << 20
				l.fill(n, bytes)
				b.StartTimer()
				l.compact()
				b.StopTimer()
				if l.seen.removed < n*8/10 || l.seen.rewrites != 1 {
					b.Fatalf("reports %+v", &l.seen)
				}
				l.Kill()
				b.StartTimer()
			}
			b.ReportMetric(n*float64(b.N)/b.Elapsed().Seconds(), "records/s")
		})
	}
}

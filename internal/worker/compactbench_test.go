package worker

import (
	"testing"
)

// BenchmarkCompaction is one pass over a log of 200,000 records of 200 bytes, a tenth of which stays. scanned/s counts the
// log's records, each of which a first pass reads twice.
func BenchmarkCompaction(b *testing.B) {
	const n = 200_000
	for b.Loop() {
		b.StopTimer()
		l := newKeyedLog(b)
		l.memory = 128 << 20
		l.fill(n, 200)
		b.StartTimer()
		l.compact()
		b.StopTimer()
		if l.seen.removed < n*8/10 {
			b.Fatalf("reports %+v", &l.seen)
		}
		l.Kill()
		b.StartTimer()
	}
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "records/s")
}

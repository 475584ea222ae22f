package demo

import (
	"math"
	"sync"
	"time"
)

// Buckets of latencies grow by a tenth from 1 us on; the last holds what is above half an hour.
const (
	bucketGrowth = 1.1
	bucketCount  = 225
	latencySpan  = 10 // windows that percentiles look back on
)

// latencies keeps the distribution of the last windows. It is safe for concurrent use.
type latencies struct {
	mu      sync.Mutex
	windows [latencySpan][bucketCount]int64
	now     int
}

func (l *latencies) add(d time.Duration) {
	i := 0
	if us := float64(d) / float64(time.Microsecond); us > 1 {
		i = min(int(math.Log(us)/math.Log(bucketGrowth)), bucketCount-1)
	}
	l.mu.Lock()
	l.windows[l.now][i]++
	l.mu.Unlock()
}

// next begins a window and forgets the oldest.
func (l *latencies) next() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now = (l.now + 1) % latencySpan
	l.windows[l.now] = [bucketCount]int64{}
}

// percentiles returns the latencies that the given shares of all were not above; 0 when there are none.
func (l *latencies) percentiles(shares ...float64) []time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	var sum [bucketCount]int64
	total := int64(0)
	for _, w := range l.windows {
		for i, n := range w {
			sum[i] += n
			total += n
		}
	}
	result := make([]time.Duration, len(shares))
	for k, share := range shares {
		left := int64(math.Ceil(share * float64(total)))
		for i := 0; i < bucketCount && left > 0; i++ {
			if left -= sum[i]; left <= 0 {
				result[k] = time.Duration(math.Pow(bucketGrowth, float64(i)+0.5) * float64(time.Microsecond))
			}
		}
	}
	return result
}

// Package stats holds the few numbers that the benchmark makes of its samples.
package stats

import (
	"math"
	"slices"
)

// Summary is what is shown of the rounds' values of one measure.
type Summary struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
	Rounds int     `json:"rounds"`
}

// Summarize returns the median and the ends of values, which must not be empty.
func Summarize(values []float64) Summary {
	sorted := slices.Sorted(slices.Values(values))
	half := len(sorted) / 2
	median := sorted[half]
	if len(sorted)%2 == 0 {
		median = (sorted[half-1] + sorted[half]) / 2
	}
	return Summary{Median: median, Min: sorted[0], Max: sorted[len(sorted)-1], Rounds: len(sorted)}
}

// Spread is half the distance between the ends, as a part of the median.
func (s Summary) Spread() float64 {
	if s.Median == 0 {
		return 0
	}
	return (s.Max - s.Min) / 2 / math.Abs(s.Median)
}

// Quantiles are those of a run's latencies, in milliseconds.
type Quantiles struct {
	P50  float64 `json:"p50"`
	P99  float64 `json:"p99"`
	P999 float64 `json:"p99.9"`
	Max  float64 `json:"max"`
}

// QuantilesOf sorts samples (ns) and returns their quantiles by nearest rank; all are 0 when there are no samples.
func QuantilesOf(samples []int64) Quantiles {
	if len(samples) == 0 {
		return Quantiles{}
	}
	slices.Sort(samples)
	at := func(q float64) float64 {
		rank := int(math.Ceil(q * float64(len(samples))))
		return float64(samples[max(rank, 1)-1]) / 1e6
	}
	return Quantiles{P50: at(0.5), P99: at(0.99), P999: at(0.999), Max: at(1)}
}

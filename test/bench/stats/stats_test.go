package stats

import "testing"

func TestMedianOfAnEvenNumberIsTheMeanOfTheMiddleTwo(t *testing.T) {
	got := Summarize([]float64{4, 1, 3, 2})
	if want := (Summary{Median: 2.5, Min: 1, Max: 4, Rounds: 4}); got != want {
		t.Fatalf("got %+v, want %+v", got, want)
	}
	if spread := got.Spread(); spread != 0.6 {
		t.Errorf("spread %v, want 0.6", spread)
	}
}

func TestQuantilesGoByNearestRank(t *testing.T) {
	var samples []int64
	for i := int64(1000); i > 0; i-- {
		samples = append(samples, i*1e6)
	}
	got := QuantilesOf(samples)
	if want := (Quantiles{P50: 500, P99: 990, P999: 999, Max: 1000}); got != want {
		t.Fatalf("got %+v, want %+v", got, want)
	}
	if got := QuantilesOf(nil); got != (Quantiles{}) {
		t.Errorf("no samples gave %+v", got)
	}
}

package topicstats

import "fmt"

// Recommendation is the row to choose and why.
type Recommendation struct {
	Codec      string `json:"codec"`
	Dictionary bool   `json:"dictionary"`
	Text       string `json:"text"`
}

const (
	worthIt  = 0.9 // of the bytes of none: a codec that leaves more is not worth its time
	nearBest = 1.1 // of the best one's bytes: a codec that takes no more and half the time is better
)

// Recommend chooses by Redis memory where all rows have it, else by stored bytes. The first row is that of none.
func Recommend(rows []Row) Recommendation {
	bytes, unit := func(r Row) float64 { return r.RedisBytes }, "of Redis memory a record"
	for _, r := range rows {
		if r.RedisBytes == 0 {
			bytes, unit = func(r Row) float64 { return r.StoredBytes }, "a value"
		}
	}
	none, best := rows[0], rows[0]
	for _, r := range rows {
		if bytes(r) < bytes(best) {
			best = r
		}
	}
	if bytes(best) > worthIt*bytes(none) {
		return Recommendation{Codec: none.Codec, Text: fmt.Sprintf("%s: no codec makes these values much smaller (%s: %.0f instead of %.0f bytes %s)", none.Codec, best.Name(), bytes(best), bytes(none), unit)}
	}
	chosen := best
	for _, r := range rows {
		if bytes(r) <= nearBest*bytes(best) && 2*(r.CompressUs+r.DecompressUs) < chosen.CompressUs+chosen.DecompressUs {
			chosen = r
		}
	}
	return Recommendation{Codec: chosen.Codec, Dictionary: chosen.Dictionary,
		Text: fmt.Sprintf("%s: %.1f times less than none (%.0f instead of %.0f bytes %s)", chosen.Name(), bytes(none)/bytes(chosen), bytes(chosen), bytes(none), unit)}
}

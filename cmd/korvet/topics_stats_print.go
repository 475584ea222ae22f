package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/korvet-io/korvet/internal/topicstats"
)

// topicStats is what korvet topics stats tells.
type topicStats struct {
	Topic           string                    `json:"topic"`
	Partitions      int                       `json:"partitions"`
	Offsets         int64                     `json:"offsets"` // from log starts to log ends: compaction leaves fewer records
	Sampled         int                       `json:"sampled"`
	Nulls           int                       `json:"nulls"` // of the sampled ones
	ValueBytes      float64                   `json:"value_bytes"`
	Codec           string                    `json:"codec"` // the topic's own
	Dictionary      bool                      `json:"dictionary"`
	Rows            []topicstats.Row          `json:"rows"`
	DictionaryBytes int                       `json:"dictionary_bytes,omitempty"`
	Redis           string                    `json:"redis,omitempty"` // where memory was measured
	RedisProblem    string                    `json:"redis_problem,omitempty"`
	Recommended     topicstats.Recommendation `json:"recommended"`
}

func (s *topicStats) count(records []topicstats.Record) {
	bytes := 0
	for _, r := range records {
		s.Sampled++
		bytes += len(r.Value)
		if r.Value == nil {
			s.Nulls++
		}
	}
	s.ValueBytes = float64(bytes) / float64(max(1, s.Sampled-s.Nulls))
}

func (s *topicStats) print(out io.Writer, asJSON bool) error {
	if asJSON {
		return printJSON(out, s)
	}
	fmt.Fprintf(out, "topic %s: %s sampled, of %s, values of %.0f bytes on average", s.Topic, count(s.Sampled, "record"), count(int(s.Offsets), "offset"), s.ValueBytes)
	if s.Nulls > 0 {
		fmt.Fprintf(out, ", %d null", s.Nulls)
	}
	fmt.Fprintln(out)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "codec\tbytes/value\tratio\tcompress us\tdecompress us\tRedis bytes/record\t\n")
	for _, r := range s.Rows {
		memory, mark := "-", ""
		if r.RedisBytes > 0 {
			memory = fmt.Sprintf("%.0f", r.RedisBytes)
		}
		if r.Present {
			mark = "  <- the topic's own"
		}
		fmt.Fprintf(w, "%s\t%.0f\t%.1f\t%.1f\t%.1f\t%s\t%s\n", r.Name(), r.StoredBytes, r.Ratio, r.CompressUs, r.DecompressUs, memory, mark)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if s.DictionaryBytes == 0 {
		fmt.Fprintln(out, "no dictionary can be made of these values: they are too few, too short or all the same")
	}
	_, err := fmt.Fprintf(out, "recommended: %s\n", s.Recommended.Text)
	return err
}

package readers_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
)

// summary is what is compared of rows: python/rows.py makes the same of what an engine read.
type summary struct {
	Rows       int                `json:"rows"`
	Content    string             `json:"content"` // checksum over partition, offset, key, value
	Rest       string             `json:"rest"`    // checksum over partition, offset, timestamp, headers
	Partitions map[string][]int64 `json:"partitions"`
	Appended   [2]int64           `json:"appended"` // the least and the greatest append_time, in microseconds
}

// summarize makes the summary of records, but for the append times, which nobody knows beforehand.
func summarize(records []*kgo.Record) summary {
	records = slices.Clone(records)
	slices.SortFunc(records, func(a, b *kgo.Record) int {
		if a.Partition != b.Partition {
			return int(a.Partition - b.Partition)
		}
		return int(a.Offset - b.Offset)
	})
	content, rest := sha256.New(), sha256.New()
	s := summary{Rows: len(records), Partitions: map[string][]int64{}}
	for _, r := range records {
		fmt.Fprintf(content, "%d %d %s %s\n", r.Partition, r.Offset, text(r.Key), text(r.Value))
		var headers []string
		for _, h := range r.Headers {
			headers = append(headers, text([]byte(h.Key))+":"+text(h.Value))
		}
		fmt.Fprintf(rest, "%d %d %d %s\n", r.Partition, r.Offset, r.Timestamp.UnixMilli()*1000, strings.Join(headers, ","))
		p := fmt.Sprint(r.Partition)
		if s.Partitions[p] == nil {
			s.Partitions[p] = []int64{r.Offset, 0, 0}
		}
		s.Partitions[p][1] = r.Offset
		s.Partitions[p][2]++
	}
	s.Content, s.Rest = hex.EncodeToString(content.Sum(nil)), hex.EncodeToString(rest.Sum(nil))
	return s
}

func text(b []byte) string {
	if b == nil {
		return "-"
	}
	return "=" + hex.EncodeToString(b)
}

// differs says how what was read differs from what it should be; "" where it does not.
func (s summary) differs(want summary) string {
	switch {
	case s.Rows != want.Rows:
		return fmt.Sprintf("%d rows %v, want %d %v", s.Rows, s.Partitions, want.Rows, want.Partitions)
	case fmt.Sprint(s.Partitions) != fmt.Sprint(want.Partitions):
		return fmt.Sprintf("partitions %v, want %v", s.Partitions, want.Partitions)
	case s.Content != want.Content:
		return "keys or values differ"
	case s.Rest != want.Rest:
		return "timestamps or headers differ"
	}
	return ""
}

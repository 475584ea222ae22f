// Package redisstream is the local tier: a partition's log as Redis Streams. It speaks records and offsets, ids and keys,
// and knows nothing of Kafka requests, batches or ownership policy. Every rule of the append protocol that Redis
// enforces is in a script beside the code that calls it.
package redisstream

import (
	"fmt"
	"strconv"
	"strings"
)

// ID is a stream entry's id: the time of its append and its offset. The sequence before offset 0 is 2^64 - 1.
type ID struct {
	Ms  uint64
	Seq uint64
}

// BeforeFirst is the sequence of an empty log that starts at offset 0.
const BeforeFirst = ^uint64(0)

// ParseID parses "<ms>-<seq>".
func ParseID(s string) (ID, error) {
	ms, seq, ok := strings.Cut(s, "-")
	if !ok {
		return ID{}, fmt.Errorf("parse id %q: no dash", s)
	}
	m, err := strconv.ParseUint(ms, 10, 64)
	if err != nil {
		return ID{}, fmt.Errorf("parse id %q: %w", s, err)
	}
	n, err := strconv.ParseUint(seq, 10, 64)
	if err != nil {
		return ID{}, fmt.Errorf("parse id %q: %w", s, err)
	}
	return ID{m, n}, nil
}

// Append appends the id's text to dst.
func (id ID) Append(dst []byte) []byte {
	dst = strconv.AppendUint(dst, id.Ms, 10)
	dst = append(dst, '-')
	return strconv.AppendUint(dst, id.Seq, 10)
}

func (id ID) String() string { return string(id.Append(nil)) }

// After tells whether id is above other, as Redis orders ids.
func (id ID) After(other ID) bool {
	return id.Ms > other.Ms || id.Ms == other.Ms && id.Seq > other.Seq
}

// EndOffset is the log end offset when seq is the last sequence: the next offset to write.
func EndOffset(seq uint64) int64 { return int64(seq + 1) }

// SeqBefore is the sequence of the last record below offset.
func SeqBefore(offset int64) uint64 { return uint64(offset) - 1 }

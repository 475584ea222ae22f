// Package load puts checkable load on a Kafka broker while it and what it stands on are failing: producers that note the
// outcome of every record, consumers that note every record they see, and a last reading of the log. Package checker
// judges the result.
package load

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"hash/fnv"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/korvet-io/korvet/test/faults/checker"
	"github.com/twmb/franz-go/pkg/kgo"
)

// mark begins what carries a record's identity: `load <producer> <seq> <crc of the filler> <filler>`.
const mark = "load"

// newRecord makes a record of random size and shape. The identity is in the value, or in the key of a record without value.
func newRecord(id checker.ID, now time.Time, rnd *rand.Rand) *kgo.Record {
	r := &kgo.Record{Timestamp: now.Truncate(time.Millisecond)}
	carrier := identity(id, filler(rnd))
	switch rnd.IntN(20) {
	case 0: // a tombstone
		r.Key = carrier
	case 1:
		r.Key, r.Value = []byte{}, carrier
	case 2, 3, 4, 5, 6, 7, 8:
		r.Key, r.Value = fmt.Appendf(nil, "key-%d", rnd.IntN(1000)), carrier
	default:
		r.Value = carrier
	}
	if rnd.IntN(4) == 0 {
		r.Headers = []kgo.RecordHeader{
			{Key: "null"}, {Key: "empty", Value: []byte{}}, {Key: "n", Value: strconv.AppendInt(nil, id.Seq, 10)}, {Key: "n", Value: []byte("again")},
		}[rnd.IntN(4):]
	}
	return r
}

func filler(rnd *rand.Rand) []byte {
	n := rnd.IntN(200)
	switch rnd.IntN(200) {
	case 0:
		n = 20_000 + rnd.IntN(20_000)
	case 1, 2, 3, 4, 5, 6, 7, 8, 9, 10:
		n = 1_000 + rnd.IntN(2_000)
	}
	b := make([]byte, n+8)
	for i := 0; i < n; i += 8 {
		binary.LittleEndian.PutUint64(b[i:], rnd.Uint64())
	}
	return b[:n]
}

func identity(id checker.ID, filler []byte) []byte {
	head := fmt.Appendf(nil, "%s %d %d %08x ", mark, id.Producer, id.Seq, crc32.ChecksumIEEE(filler))
	return append(head, filler...)
}

// Entry is what is noted of a record that was read.
func Entry(r *kgo.Record) checker.Entry {
	carrier := r.Value
	if carrier == nil {
		carrier = r.Key
	}
	id, err := parseIdentity(carrier)
	if err != nil {
		id = checker.ID{Producer: -1}
	}
	return checker.Entry{Offset: r.Offset, ID: id, Digest: digest(r)}
}

func parseIdentity(b []byte) (checker.ID, error) {
	parts := strings.SplitN(string(b), " ", 5)
	if len(parts) != 5 || parts[0] != mark {
		return checker.ID{}, fmt.Errorf("parse identity: not a record of this package")
	}
	producer, err := strconv.ParseInt(parts[1], 10, 32)
	if err != nil {
		return checker.ID{}, fmt.Errorf("parse producer: %w", err)
	}
	seq, err := strconv.ParseInt(parts[2], 10, 64)
	if err != nil {
		return checker.ID{}, fmt.Errorf("parse sequence: %w", err)
	}
	if sum := fmt.Sprintf("%08x", crc32.ChecksumIEEE([]byte(parts[4]))); sum != parts[3] {
		return checker.ID{}, fmt.Errorf("parse filler: checksum %s, expected %s", sum, parts[3])
	}
	return checker.ID{Producer: int32(producer), Seq: seq}, nil
}

// digest covers everything of a record but its offset, and tells null from empty.
func digest(r *kgo.Record) uint64 {
	h := fnv.New64a()
	part := func(b []byte) {
		n := int64(len(b))
		if b == nil {
			n = -1
		}
		_ = binary.Write(h, binary.BigEndian, n) // a hash does not fail
		h.Write(b)
	}
	part(r.Key)
	part(r.Value)
	for _, header := range r.Headers {
		part([]byte(header.Key))
		part(header.Value)
	}
	_ = binary.Write(h, binary.BigEndian, r.Timestamp.UnixMilli())
	return h.Sum64()
}

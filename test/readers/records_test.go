package readers_test

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// wildTimes are timestamps that programs have got wrong: none (-1), before the epoch, fractions of a second, far away.
var wildTimes = []time.Time{
	time.UnixMilli(-1),
	time.UnixMilli(0),
	time.Date(1969, 7, 20, 20, 17, 40, 1_000_000, time.UTC),
	time.Date(1950, 1, 1, 0, 0, 0, 0, time.UTC),
	time.Date(2026, 3, 29, 1, 30, 0, 999_000_000, time.UTC),
	time.Date(2100, 2, 28, 23, 59, 59, 123_000_000, time.UTC),
}

// wanted is a timestamp that one record has and that differs from others in its milliseconds alone.
const wanted = "2026-01-02 03:04:05.678"

// maker makes records of every shape that Kafka allows: null and empty keys and values, headers that are repeated, empty or null,
// bytes that are no text, times out of order. A seed gives the same records again.
type maker struct {
	rng        *rand.Rand
	topic      string
	partitions int32
	next       []int64 // by partition
}

func newMaker(topic string, partitions int32) *maker {
	return &maker{rng: rand.New(rand.NewPCG(6, 0)), topic: topic, partitions: partitions, next: make([]int64, partitions)}
}

// make makes n records; their offsets are those that they get in a topic that has nothing else.
func (m *maker) make(n int) []*kgo.Record {
	records := make([]*kgo.Record, n)
	for i := range records {
		p := m.rng.Int32N(m.partitions)
		r := &kgo.Record{Topic: m.topic, Partition: p, Offset: m.next[p], Key: m.bytes(), Value: m.bytes(), Headers: m.headers(), Timestamp: m.time()}
		m.next[p]++
		records[i] = r
	}
	return records
}

func (m *maker) bytes() []byte {
	switch m.rng.IntN(5) {
	case 0:
		return nil
	case 1:
		return []byte{}
	case 2:
		return fmt.Appendf(nil, `{"n":%d,"city":"Zürich"}`, m.rng.IntN(1000))
	}
	b := make([]byte, m.rng.IntN(120))
	for i := range b {
		b[i] = byte(m.rng.Uint32())
	}
	return b
}

func (m *maker) headers() []kgo.RecordHeader {
	switch m.rng.IntN(4) {
	case 0:
		return []kgo.RecordHeader{{Key: "trace", Value: m.bytes()}}
	case 1:
		return []kgo.RecordHeader{{Key: "twice", Value: []byte("1")}, {Key: "", Value: []byte{}}, {Key: "twice", Value: nil}, {Key: "ü", Value: []byte{0xff}}}
	}
	return nil
}

func (m *maker) time() time.Time {
	if m.rng.IntN(20) == 0 {
		return wildTimes[m.rng.IntN(len(wildTimes))]
	}
	return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(m.rng.IntN(1_000_000)) * time.Millisecond)
}

// marked makes two records of the first partition whose timestamps are the wanted one and a millisecond after it.
func (m *maker) marked() []*kgo.Record {
	at, err := time.Parse("2006-01-02 15:04:05.000", wanted)
	if err != nil {
		panic(err) // a constant
	}
	var records []*kgo.Record
	for _, t := range []time.Time{at, at.Add(time.Millisecond)} {
		records = append(records, &kgo.Record{Topic: m.topic, Offset: m.next[0], Value: []byte(t.String()), Timestamp: t})
		m.next[0]++
	}
	return records
}

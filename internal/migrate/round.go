package migrate

import (
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"
)

// What a round takes at most, so that a process that copies needs some tens of megabytes, and a journal's entry stays
// below journalBatch.
const (
	roundBytes   = 8 << 20
	roundRecords = 20_000
)

// queue is what was read of a partition of the source and is not in a round yet.
type queue struct {
	partition int32
	from      int64 // everything below is in a round
	records   []*kgo.Record
	next      int64 // everything below was read
	end       int64 // the log's end, as far as known
	got       int   // records of the last read
	empty     int   // reads in a row that waited and found nothing, though the log goes on
}

// roundBuilder puts a round together.
type roundBuilder struct {
	place   *placer
	limit   int     // bytes of a batch
	ends    []int64 // of the target
	round   Round
	batches map[int32]*batchBuilder
	bytes   int
	records int
}

func newRoundBuilder(place *placer, limit int, ends []int64) *roundBuilder {
	return &roundBuilder{place: place, limit: limit, ends: ends, batches: map[int32]*batchBuilder{}}
}

// takeFrom moves records of a queue into the round until a batch or the round is full.
func (b *roundBuilder) takeFrom(q *queue) {
	placed := map[int32]*Runs{}
	taken := 0
	for _, r := range q.records {
		if b.bytes >= roundBytes || b.records >= roundRecords || !b.add(b.place.place(r), r, placed) {
			break
		}
		taken++
	}
	b.cut(q, taken, placed)
}

// add puts a record behind the others of its partition, unless that one's batch is full.
func (b *roundBuilder) add(target int32, r *kgo.Record, placed map[int32]*Runs) bool {
	one := b.batches[target]
	if one == nil {
		one = &batchBuilder{}
		b.batches[target] = one
	}
	before := len(one.records)
	if !one.add(r, b.limit) {
		return false
	}
	if placed[target] == nil {
		placed[target] = &Runs{}
	}
	placed[target].Add(r.Offset)
	b.bytes += len(one.records) - before
	b.records++
	return true
}

// cut ends a slice behind the records that were taken, or where all are, behind all that was read.
func (b *roundBuilder) cut(q *queue, taken int, placed map[int32]*Runs) {
	to := q.next
	if taken < len(q.records) {
		to = q.from
		if taken > 0 {
			to = q.records[taken-1].Offset + 1
		}
	}
	if to > q.from {
		b.round.Slices = append(b.round.Slices, Slice{Partition: q.partition, From: q.from, To: to, Records: inOrder(placed)})
	}
	q.records, q.from = q.records[taken:], to
}

func inOrder(placed map[int32]*Runs) []Placed {
	list := []Placed{}
	for target, offsets := range placed {
		list = append(list, Placed{Target: target, Offsets: *offsets})
	}
	slices.SortFunc(list, func(a, b Placed) int { return int(a.Target - b.Target) })
	return list
}

// finish gives the round and its batches as they are sent.
func (b *roundBuilder) finish(producer int64) (*Round, map[int32][]byte, error) {
	encoded := map[int32][]byte{}
	for target, one := range b.batches {
		if one.count == 0 {
			continue
		}
		raw, err := one.encode(producer, 0, b.ends[target])
		if err != nil {
			return nil, nil, err
		}
		if len(raw) > b.limit {
			return nil, nil, fmt.Errorf("a record for partition %d of the target makes a batch of %d bytes, compressed, and its max.message.bytes is %d", target, len(raw), b.limit)
		}
		encoded[target] = raw
		b.round.Parts = append(b.round.Parts, Part{Target: target, Base: b.ends[target], Count: one.count})
	}
	slices.SortFunc(b.round.Parts, func(a, b Part) int { return int(a.Target - b.Target) })
	return &b.round, encoded, nil
}

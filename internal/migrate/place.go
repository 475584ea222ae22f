package migrate

import "github.com/twmb/franz-go/pkg/kgo"

// placer says to which partition of the target a record goes. It is not safe for concurrent use.
type placer struct {
	same  bool
	count int
	keys  kgo.TopicPartitioner
}

// newPlacer is for topics of so many partitions.
func newPlacer(source, target int) *placer {
	return &placer{same: source == target, count: target, keys: kgo.StickyKeyPartitioner(nil).ForTopic("")}
}

// place keeps the partition where both topics have as many. Else a key decides as in Kafka's own clients (murmur2), so
// that a key's records stay in order and producers go on with the partition they find; without one, the record's place
// in the source does.
func (p *placer) place(r *kgo.Record) int32 {
	switch {
	case p.same:
		return r.Partition
	case r.Key != nil:
		return int32(p.keys.Partition(r, p.count))
	default:
		return int32((uint64(r.Partition) + uint64(r.Offset)) % uint64(p.count))
	}
}

// Package batch reads and writes Kafka's record batches (magic 2) and reads the older message sets (magic 0 and 1).
// It is a leaf that the wire, the tail cache and the log share.
package batch

import "github.com/korvet-io/korvet/internal/record"

// Batch is a record batch that Parse or Convert has validated: its CRC, lengths, counts, codec and every record were
// checked, so that a cursor over it cannot fail.
type Batch struct {
	Raw             []byte // the whole batch, from its base offset on, as sent
	Codec           Codec
	BaseTimestamp   int64
	MaxTimestamp    int64 // of the records, not what the header claims
	ProducerID      int64 // -1: none
	ProducerEpoch   int16
	BaseSequence    int32
	Count           int32
	Transactional   bool
	UncompressedLen int // bytes of the records section when not compressed
}

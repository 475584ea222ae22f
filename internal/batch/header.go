package batch

import (
	"encoding/binary"
	"hash/crc32"
)

// Where the fields of a batch header are (https://kafka.apache.org/documentation/#recordbatch).
const (
	atBaseOffset      = 0
	atLength          = 8
	atLeaderEpoch     = 12
	atMagic           = 16
	atCRC             = 17
	atAttributes      = 21 // the CRC covers all from here on
	atLastOffsetDelta = 23
	atBaseTimestamp   = 27
	atMaxTimestamp    = 35
	atProducerID      = 43
	atProducerEpoch   = 51
	atBaseSequence    = 53
	atCount           = 57

	// HeaderSize is the size of a batch without records, in bytes.
	HeaderSize = 61

	lengthOverhead = atLeaderEpoch // what the length field does not count
	magicV2        = 2
)

// The bits of a batch's attributes.
const (
	codecMask        = 0x07
	appendTimeBit    = 0x08
	transactionalBit = 0x10
	controlBit       = 0x20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func int16At(b []byte, at int) int16 { return int16(binary.BigEndian.Uint16(b[at:])) }
func int32At(b []byte, at int) int32 { return int32(binary.BigEndian.Uint32(b[at:])) }
func int64At(b []byte, at int) int64 { return int64(binary.BigEndian.Uint64(b[at:])) }

func putInt16(b []byte, at int, v int16) { binary.BigEndian.PutUint16(b[at:], uint16(v)) }
func putInt32(b []byte, at int, v int32) { binary.BigEndian.PutUint32(b[at:], uint32(v)) }
func putInt64(b []byte, at int, v int64) { binary.BigEndian.PutUint64(b[at:], uint64(v)) }

func checksum(raw []byte) uint32 { return crc32.Checksum(raw[atAttributes:], castagnoli) }

func sealCRC(raw []byte) { binary.BigEndian.PutUint32(raw[atCRC:], checksum(raw)) }

// Header is what Peek reads of a batch that is stored already.
type Header struct {
	BaseOffset   int64
	LastOffset   int64
	Size         int // bytes of the whole batch: the next one starts there
	Count        int32
	MaxTimestamp int64 // ms
	LeaderEpoch  int32
	Codec        Codec
}

// Peek reads the header of the batch that b starts with, without validating it, to walk a run of batches that this
// package made or accepted. It reports false when b does not hold a whole batch.
func Peek(b []byte) (Header, bool) {
	if len(b) < HeaderSize {
		return Header{}, false
	}
	size := int(int32At(b, atLength)) + lengthOverhead
	if size < HeaderSize || size > len(b) {
		return Header{}, false
	}
	base := int64At(b, atBaseOffset)
	return Header{
		BaseOffset:   base,
		LastOffset:   base + int64(int32At(b, atLastOffsetDelta)),
		Size:         size,
		Count:        int32At(b, atCount),
		MaxTimestamp: int64At(b, atMaxTimestamp),
		LeaderEpoch:  int32At(b, atLeaderEpoch),
		Codec:        Codec(int16At(b, atAttributes) & codecMask),
	}, true
}

// Stamp gives the batch its place in the log: Raw is changed in place. The CRC does not cover these fields.
func (b *Batch) Stamp(baseOffset int64, leaderEpoch int32) {
	putInt64(b.Raw, atBaseOffset, baseOffset)
	putInt32(b.Raw, atLeaderEpoch, leaderEpoch)
}

// StampAppendTime makes ms the timestamp of every record (message.timestamp.type=LogAppendTime): Raw is changed in
// place and its CRC computed anew.
func (b *Batch) StampAppendTime(ms int64) {
	b.MinTimestamp, b.MaxTimestamp, b.appended = ms, ms, true
	putInt16(b.Raw, atAttributes, int16At(b.Raw, atAttributes)|appendTimeBit)
	putInt64(b.Raw, atMaxTimestamp, ms)
	sealCRC(b.Raw)
}

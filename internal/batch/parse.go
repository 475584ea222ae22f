package batch

import "encoding/binary"

// Parse validates a producer's records: exactly one batch of magic 2, every record of it. The batch keeps raw, which
// must not be changed or reused afterwards. Two fields are corrected in it, as Kafka does: a wrong max timestamp, and
// the append-time bit, which is the broker's to set.
//
// Errors wrap one of the kinds of this package, and those about single records are a *RecordError.
func Parse(raw []byte, lim Limits) (*Batch, error) {
	lim = lim.withDefaults()
	if err := checkFrame(raw); err != nil {
		return nil, err
	}
	b := &Batch{
		Raw:           raw,
		BaseTimestamp: int64At(raw, atBaseTimestamp),
		ProducerID:    max(int64At(raw, atProducerID), -1),
		ProducerEpoch: int16At(raw, atProducerEpoch),
		BaseSequence:  int32At(raw, atBaseSequence),
		Count:         int32At(raw, atCount),
		Transactional: int16At(raw, atAttributes)&transactionalBit != 0,
	}
	if err := b.checkHeader(lim); err != nil {
		return nil, err
	}
	if err := b.openRecords(lim); err != nil {
		return nil, err
	}
	if err := b.checkRecords(lim); err != nil {
		b.Release()
		return nil, err
	}
	b.correctHeader()
	return b, nil
}

// checkFrame tells whether raw is one whole, undamaged batch of magic 2.
func checkFrame(raw []byte) error {
	if len(raw) <= atMagic {
		return refuse(ErrInvalidRecord, "%d bytes are less than a batch", len(raw))
	}
	length := int64(int32At(raw, atLength))
	if length < messageOverheadV0 {
		return refuse(ErrCorrupt, "batch length %d is less than a header", length)
	}
	switch magic := int8(raw[atMagic]); magic {
	case magicV2:
	case 0, 1:
		return refuse(ErrInvalidRecord, "magic %d where only record batches of magic 2 may be", magic)
	default:
		return refuse(ErrCorrupt, "magic %d is unknown", magic)
	}
	switch size := length + lengthOverhead; {
	case size < HeaderSize:
		return refuse(ErrCorrupt, "batch length %d is less than a header", length)
	case size > int64(len(raw)):
		return refuse(ErrInvalidRecord, "batch length %d does not fit %d bytes", length, len(raw))
	case size < int64(len(raw)):
		return refuse(ErrInvalidRecord, "%d bytes follow the batch: one batch a partition is allowed", int64(len(raw))-size)
	}
	if base := int64At(raw, atBaseOffset); base != 0 {
		return refuse(ErrInvalidRecord, "base offset is %d, not 0", base)
	}
	if stored, computed := binary.BigEndian.Uint32(raw[atCRC:]), checksum(raw); stored != computed {
		return refuse(ErrCorrupt, "CRC is %08x, computed %08x", stored, computed)
	}
	return nil
}

func (b *Batch) checkHeader(lim Limits) error {
	attributes := int16At(b.Raw, atAttributes)
	b.Codec = Codec(attributes & codecMask)
	lastDelta := int32At(b.Raw, atLastOffsetDelta)
	switch {
	case attributes&controlBit != 0:
		return refuse(ErrInvalidRecord, "control batches are the broker's to write")
	case b.Count < 1 || b.Count-1 != lastDelta:
		return refuse(ErrInvalidRecord, "record count %d and last offset delta %d do not agree", b.Count, lastDelta)
	case b.ProducerID >= 0 && (b.ProducerEpoch < 0 || b.BaseSequence < 0):
		return refuse(ErrInvalidRecord, "producer id %d with epoch %d and sequence %d", b.ProducerID, b.ProducerEpoch, b.BaseSequence)
	case !b.Codec.known():
		return refuse(ErrUnsupportedCompression, "%v", b.Codec)
	case int(b.Count) > lim.MaxRecords:
		return refuse(ErrTooLarge, "%d records, at most %d are allowed", b.Count, lim.MaxRecords)
	}
	return nil
}

// openRecords finds the records, decompressed.
func (b *Batch) openRecords(lim Limits) error {
	b.records = b.Raw[HeaderSize:]
	if b.Codec != None {
		scratch := newBuffer()
		records, err := b.Codec.decompress(scratch.b, b.records, lim.MaxDecompressed)
		if err != nil {
			scratch.release()
			return err
		}
		scratch.b = records
		b.records, b.scratch = records, scratch
	}
	b.UncompressedLen = len(b.records)
	if b.UncompressedLen > lim.MaxDecompressed {
		return refuse(ErrTooLarge, "%d bytes of records, at most %d are allowed", b.UncompressedLen, lim.MaxDecompressed)
	}
	return nil
}

func (b *Batch) checkRecords(lim Limits) error {
	if err := b.validateRecords(); err != nil {
		return err
	}
	if lim.AnyTimestamp {
		return nil
	}
	return b.checkTimestamps()
}

// correctHeader makes the header say what is true of the records.
func (b *Batch) correctHeader() {
	attributes := int16At(b.Raw, atAttributes)
	if attributes&appendTimeBit == 0 && int64At(b.Raw, atMaxTimestamp) == b.MaxTimestamp {
		return
	}
	putInt16(b.Raw, atAttributes, attributes&^appendTimeBit)
	putInt64(b.Raw, atMaxTimestamp, b.MaxTimestamp)
	sealCRC(b.Raw)
}

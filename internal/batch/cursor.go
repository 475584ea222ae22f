package batch

import "github.com/korvet-io/korvet/internal/record"

// Cursor walks the records of a batch in offset order, without allocating. The slices it gives alias the batch: they
// are valid until Release. It keeps the base offset and the append time that were stamped before it was made.
type Cursor struct {
	records       []byte
	baseOffset    int64
	baseTimestamp int64
	appendTime    int64
	appended      bool
}

var _ record.Cursor = (*Cursor)(nil)

// Cursor starts at the batch's first record.
func (b *Batch) Cursor() Cursor {
	var c Cursor
	c.Reset(b)
	return c
}

// Reset starts again at b's first record.
func (c *Cursor) Reset(b *Batch) {
	*c = Cursor{
		records:       b.records,
		baseOffset:    int64At(b.Raw, atBaseOffset),
		baseTimestamp: b.BaseTimestamp,
		appendTime:    b.MaxTimestamp,
		appended:      b.appended,
	}
}

// Next decodes the next record into r and reports whether there was one.
func (c *Cursor) Next(r *record.Record) bool {
	size, start := readVarint32(c.records, 0)
	if start < 0 {
		return false
	}
	rec := c.records[start : start+size]
	c.records = c.records[start+size:]

	timestampDelta, at := readVarint64(rec, 1) // after the attributes
	offsetDelta, at := readVarint32(rec, at)
	r.Offset = c.baseOffset + int64(offsetDelta)
	r.Timestamp = c.appendTime
	if !c.appended {
		r.Timestamp = addSaturating(c.baseTimestamp, timestampDelta)
	}
	r.Key, at = readBytes(rec, at)
	r.Value, at = readBytes(rec, at)
	r.Headers = nil
	if count, _ := readVarint32(rec, at); count > 0 {
		r.Headers = rec[at:]
	}
	return true
}

// readBytes reads a field of a validated record; a null one is nil.
func readBytes(rec []byte, at int) (field []byte, next int) {
	size, at := readVarint32(rec, at)
	if size < 0 {
		return nil, at
	}
	return rec[at : at+size], at + size
}

// each visits the records in order.
func (b *Batch) each(visit func(index int32, timestamp int64, nullKey bool)) {
	c := b.Cursor()
	var r record.Record
	for index := int32(0); c.Next(&r); index++ {
		visit(index, r.Timestamp, r.Key == nil)
	}
}

// Package record holds the plain types that storage and the wire share. It imports nothing of korvet.
package record

import (
	"encoding/binary"
	"strconv"
)

// Record is one record of a partition's log. A nil Key or Value is Kafka's null; an empty, non-nil one is empty.
// The slices alias the buffer they were decoded from and are valid until the next record is read from it.
type Record struct {
	Offset    int64
	Timestamp int64 // ms since the epoch; -1 when the producer set none
	Key       []byte
	Value     []byte
	// Headers is the record's header section as record batch v2 encodes it (varint count, then the headers).
	// It is nil when the record has none.
	Headers []byte
}

// AppendHeader appends one header as a header section has it, behind the count. A nil value is null.
func AppendHeader(dst []byte, key string, value []byte) []byte {
	dst = append(binary.AppendVarint(dst, int64(len(key))), key...)
	if value == nil {
		return binary.AppendVarint(dst, -1)
	}
	return append(binary.AppendVarint(dst, int64(len(value))), value...)
}

// AppendTimeHeader is the header that tells when a record was appended: ms since the epoch, as decimal text.
const AppendTimeHeader = "korvet.log.append.timestamp.ms"

// WithAppendTime appends a header section to dst: the headers of one that may be nil, and AppendTimeHeader.
func WithAppendTime(dst, headers []byte, ms int64) []byte {
	count, n := binary.Varint(headers)
	if n <= 0 || count < 0 {
		headers, count, n = nil, 0, 0
	}
	dst = append(binary.AppendVarint(dst, count+1), headers[n:]...)
	var text [20]byte
	return AppendHeader(dst, AppendTimeHeader, strconv.AppendInt(text[:0], ms, 10))
}

// Cursor walks records in offset order without allocating.
type Cursor interface {
	// Next decodes the next record into r and reports whether there was one.
	Next(r *Record) bool
}

// Sink takes records in offset order. Put reports whether it wants more. It must copy what it keeps.
// When Put returns false it did not take r: the record belongs to whoever comes next.
type Sink interface {
	Put(r *Record) bool
}

package api

import (
	"encoding/binary"
	"errors"

	"github.com/google/uuid"

	"github.com/korvet-io/korvet/internal/kafka/server"
)

// errMalformed is a request that is not of the layout that its key and version have.
var errMalformed = errors.New("malformed request")

// wireReader reads Kafka's primitive types without copying. After a failure it reads zero values and stays failed, so
// that a row of reads needs one check. In flexible versions (KIP-482) lengths are unsigned varints.
type wireReader struct {
	src      []byte
	flexible bool
	failed   bool
}

// next takes n bytes; nil after a failure.
func (r *wireReader) next(n int) []byte {
	if n < 0 || n > len(r.src) || r.failed {
		r.failed, r.src = true, nil
		return nil
	}
	b := r.src[:n:n]
	r.src = r.src[n:]
	return b
}

func (r *wireReader) int16() int16 {
	if b := r.next(2); b != nil {
		return int16(binary.BigEndian.Uint16(b))
	}
	return 0
}

func (r *wireReader) int32() int32 {
	if b := r.next(4); b != nil {
		return int32(binary.BigEndian.Uint32(b))
	}
	return 0
}

func (r *wireReader) uuid() (id uuid.UUID) {
	copy(id[:], r.next(len(id)))
	return id
}

func (r *wireReader) uvarint() uint32 {
	v, n := server.Uvarint(r.src)
	if n == 0 {
		n = -1
	}
	r.next(n)
	return v
}

// length reads a length or count; -1 is null. size16 tells that it has two bytes where the version is not flexible.
func (r *wireReader) length(size16 bool) int {
	switch {
	case r.flexible:
		return int(r.uvarint()) - 1
	case size16:
		return int(r.int16())
	}
	return int(r.int32())
}

// string reads a nullable string, which aliases the request.
func (r *wireReader) string() (s []byte, null bool) {
	n := r.length(true)
	if n == -1 {
		return nil, true
	}
	return r.next(n), false
}

// bytes reads nullable bytes, which alias the request; null is nil.
func (r *wireReader) bytes() []byte {
	n := r.length(false)
	if n == -1 {
		return nil
	}
	return r.next(n)
}

// array reads the count of an array whose elements take at least minSize bytes each. Null is a failure.
func (r *wireReader) array(minSize int) int {
	n := r.length(false)
	if n < 0 || n > len(r.src)/minSize {
		r.next(-1)
		return 0
	}
	return n
}

// tags skips tagged fields, which flexible versions have.
func (r *wireReader) tags() {
	if !r.flexible {
		return
	}
	for n := r.uvarint(); n > 0 && !r.failed; n-- {
		r.uvarint()
		r.next(int(r.uvarint()))
	}
}

// The writers of primitive types, which append as encoding/binary does.

func appendUvarint(dst []byte, v int) []byte { return binary.AppendUvarint(dst, uint64(v)) }

func appendInt16(dst []byte, v int16) []byte { return binary.BigEndian.AppendUint16(dst, uint16(v)) }

func appendInt32(dst []byte, v int32) []byte { return binary.BigEndian.AppendUint32(dst, uint32(v)) }

func appendInt64(dst []byte, v int64) []byte { return binary.BigEndian.AppendUint64(dst, uint64(v)) }

func appendArrayLen(dst []byte, n int, flexible bool) []byte {
	if flexible {
		return appendUvarint(dst, n+1)
	}
	return appendInt32(dst, int32(n))
}

func appendString(dst []byte, s string, flexible bool) []byte {
	if flexible {
		dst = appendUvarint(dst, len(s)+1)
	} else {
		dst = appendInt16(dst, int16(len(s)))
	}
	return append(dst, s...)
}

func appendNullableString(dst []byte, s *string, flexible bool) []byte {
	switch {
	case s != nil:
		return appendString(dst, *s, flexible)
	case flexible:
		return append(dst, 0)
	}
	return appendInt16(dst, -1)
}

// appendBytesLen appends the length of bytes that follow.
func appendBytesLen(dst []byte, n int, flexible bool) []byte {
	return appendArrayLen(dst, n, flexible)
}

// noTags ends a structure without tagged fields.
func noTags(dst []byte, flexible bool) []byte {
	if flexible {
		return append(dst, 0)
	}
	return dst
}

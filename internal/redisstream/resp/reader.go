// Package resp speaks Redis's RESP2: a buffered reader whose callers parse in place, a small reply tree for everything
// that is not hot, and a writer of commands.
package resp

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// Limits of a reply. Redis itself bounds a bulk string to 512 MB; nothing korvet asks for comes near these.
const (
	maxBulk     = 64 << 20
	maxElements = 1 << 20
	maxDepth    = 8
	maxLine     = 64 << 10
	firstBuffer = 32 << 10
	keepBuffer  = 1 << 20 // a larger buffer is given up once it is empty
)

// ErrProtocol is a reply that is not RESP2, or beyond the limits. The connection cannot be used any more.
var ErrProtocol = errors.New("redis protocol error")

var errLine = fmt.Errorf("%w: a line of over %d bytes", ErrProtocol, maxLine)

// Reader buffers a connection's replies. Slices it returns are valid until the next call that may read.
type Reader struct {
	src   io.Reader
	buf   []byte
	r, w  int
	first int // size of the buffer at first
}

// NewReader returns a reader of src with a small buffer.
func NewReader(src io.Reader) *Reader { return NewReaderSize(src, firstBuffer) }

// NewReaderSize returns a reader of src with a buffer of n bytes, which grows to the largest item parsed at once.
func NewReaderSize(src io.Reader, n int) *Reader {
	return &Reader{src: src, buf: make([]byte, n), first: n}
}

// Buffered returns what was read and not yet discarded.
func (r *Reader) Buffered() []byte { return r.buf[r.r:r.w] }

// Discard drops the first n buffered bytes.
func (r *Reader) Discard(n int) {
	r.r += n
	if r.r == r.w {
		r.r, r.w = 0, 0
		if len(r.buf) > keepBuffer {
			r.buf = make([]byte, r.first)
		}
	}
}

// More reads until at least n bytes are buffered, and always at least one more than there are.
func (r *Reader) More(n int) error {
	if n <= r.w-r.r {
		n = r.w - r.r + 1
	}
	if n > maxBulk+1024 {
		return fmt.Errorf("%w: an item of %d bytes", ErrProtocol, n)
	}
	r.makeRoom(n)
	for r.w-r.r < n {
		m, err := r.src.Read(r.buf[r.w:])
		r.w += m
		if err != nil && r.w-r.r < n {
			return err
		}
	}
	return nil
}

func (r *Reader) makeRoom(n int) {
	if r.r+n <= len(r.buf) && r.w < len(r.buf) {
		return
	}
	if n <= len(r.buf)/2 {
		r.w = copy(r.buf, r.buf[r.r:r.w])
		r.r = 0
		return
	}
	grown := make([]byte, max(2*len(r.buf), n))
	r.w = copy(grown, r.buf[r.r:r.w])
	r.buf, r.r = grown, 0
}

// Line returns the next line without its CRLF and discards it.
func (r *Reader) Line() ([]byte, error) {
	for seen := 0; ; {
		b := r.Buffered()
		if i := bytes.IndexByte(b[seen:], '\n'); i >= 0 {
			end := seen + i
			if end > maxLine {
				return nil, errLine
			}
			if end == 0 || b[end-1] != '\r' {
				return nil, fmt.Errorf("%w: a line without CR", ErrProtocol)
			}
			line := b[:end-1]
			r.r += end + 1 // not Discard: it may reuse the buffer while line is in use
			return line, nil
		}
		seen = len(b)
		if seen > maxLine {
			return nil, errLine
		}
		if err := r.More(0); err != nil {
			return nil, err
		}
	}
}

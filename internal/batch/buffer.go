package batch

import "sync"

// maxPooled is the largest buffer, in bytes, that is kept for the next batch.
const maxPooled = 4 << 20

// buffer is pooled memory for the records of one batch.
type buffer struct{ b []byte }

var buffers = sync.Pool{New: func() any { return new(buffer) }}

func newBuffer() *buffer { return buffers.Get().(*buffer) }

func (b *buffer) release() {
	if cap(b.b) > maxPooled {
		return
	}
	b.b = b.b[:0]
	buffers.Put(b)
}

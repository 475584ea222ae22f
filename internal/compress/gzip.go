package compress

import (
	"bytes"
	"sync"

	"github.com/klauspost/compress/gzip"
)

// appender is a writer to memory. It cannot fail.
type appender struct{ b []byte }

func (a *appender) Write(p []byte) (int, error) {
	a.b = append(a.b, p...)
	return len(p), nil
}

type gzipWriter struct {
	dst appender
	zw  *gzip.Writer
}

type gzipReader struct {
	src bytes.Reader
	zr  gzip.Reader
}

// gzipWriters are made when a level is first used: one holds about a megabyte.
var (
	gzipWriters [gzip.BestCompression + 1]sync.Pool
	gzipReaders = sync.Pool{New: func() any { return new(gzipReader) }}
)

// gzipDefault is the library's own choice between speed and size.
const gzipDefault = 5

// AppendGzip appends src as one gzip member to dst. The level is 1 to 9; a higher one counts as 9.
func AppendGzip(dst, src []byte, level int) []byte {
	level = min(level, gzip.BestCompression)
	pool := &gzipWriters[level]
	w, ok := pool.Get().(*gzipWriter)
	if !ok {
		w = newGzipWriter(level)
	}
	defer pool.Put(w)
	w.dst.b = dst
	w.zw.Reset(&w.dst)
	_, _ = w.zw.Write(src) // into memory: neither can fail
	_ = w.zw.Close()
	out := w.dst.b
	w.dst.b = nil
	return out
}

func newGzipWriter(level int) *gzipWriter {
	w := new(gzipWriter)
	zw, err := gzip.NewWriterLevel(&w.dst, level)
	if err != nil {
		panic("compress: gzip level: " + err.Error()) // it is in range
	}
	w.zw = zw
	return w
}

// DecodeGzip appends what frame, of one or more gzip members, holds to dst. Beyond limit bytes: ErrTooLong.
func DecodeGzip(dst, frame []byte, limit int) ([]byte, error) {
	r := gzipReaders.Get().(*gzipReader)
	defer gzipReaders.Put(r)
	defer r.src.Reset(nil)
	r.src.Reset(frame)
	if err := r.zr.Reset(&r.src); err != nil {
		return nil, err
	}
	return readAll(dst, &r.zr, limit)
}

package batch

import (
	"bytes"
	"slices"
	"sync"

	"github.com/klauspost/compress/gzip"
)

type gzipReader struct {
	src bytes.Reader
	zr  gzip.Reader
}

var gzipReaders = sync.Pool{New: func() any { return new(gzipReader) }}

func gunzip(dst, src []byte, limit int) ([]byte, error) {
	r := gzipReaders.Get().(*gzipReader)
	defer gzipReaders.Put(r)
	defer r.src.Reset(nil)
	r.src.Reset(src)
	if err := r.zr.Reset(&r.src); err != nil {
		return nil, err
	}
	return readAll(slices.Grow(dst, sizeHint(src, limit)), &r.zr, limit)
}

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

// gzipWriters are made when a level is first used: one holds about a megabyte.
var gzipWriters [gzip.BestCompression + 1]sync.Pool

func appendGzip(dst, src []byte, level int) []byte {
	if level <= 0 {
		level = gzipDefaultLevel
	}
	pool := &gzipWriters[min(level, gzip.BestCompression)]
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

// gzipDefaultLevel is what level -1 stands for.
const gzipDefaultLevel = 6

func newGzipWriter(level int) *gzipWriter {
	w := new(gzipWriter)
	zw, err := gzip.NewWriterLevel(&w.dst, min(level, gzip.BestCompression))
	if err != nil {
		panic("batch: gzip level: " + err.Error()) // it is in range
	}
	w.zw = zw
	return w
}

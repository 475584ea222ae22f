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

// Both are reused: a writer holds about a megabyte.
var (
	gzipWriters = sync.Pool{New: func() any { return &gzipWriter{zw: gzip.NewWriter(nil)} }}
	gzipReaders = sync.Pool{New: func() any { return new(gzipReader) }}
)

func appendGzip(dst, value []byte) []byte {
	w := gzipWriters.Get().(*gzipWriter)
	defer gzipWriters.Put(w)
	w.dst.b = dst
	w.zw.Reset(&w.dst)
	_, _ = w.zw.Write(value) // memory takes all
	_ = w.zw.Close()
	dst, w.dst.b = w.dst.b, nil
	return dst
}

func decodeGzip(dst, frame []byte, limit int) ([]byte, error) {
	r := gzipReaders.Get().(*gzipReader)
	defer gzipReaders.Put(r)
	defer r.src.Reset(nil)
	r.src.Reset(frame)
	if err := r.zr.Reset(&r.src); err != nil {
		return nil, err
	}
	return readAll(dst, &r.zr, limit)
}

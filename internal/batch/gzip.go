package batch

import (
	"slices"

	"github.com/korvet-io/korvet/internal/compress"
)

func gunzip(dst, src []byte, limit int) ([]byte, error) {
	return compress.DecodeGzip(slices.Grow(dst, sizeHint(src, limit)), src, limit)
}

// gzipDefaultLevel is what level -1 stands for.
const gzipDefaultLevel = 6

func appendGzip(dst, src []byte, level int) []byte {
	if level <= 0 {
		level = gzipDefaultLevel
	}
	return compress.AppendGzip(dst, src, level)
}

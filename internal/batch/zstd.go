package batch

import (
	"errors"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"
)

const (
	// zstdMaxWindow is the largest window, in bytes, that Java's clients read. It costs no memory here: the output is
	// the window.
	zstdMaxWindow = 128 << 20
	// zstdWindow is what is written: as much as the largest batch by default.
	zstdWindow = 1 << 20

	zstdDefaultLevel = 3
)

// zstdDecoders decode in the goroutine of the caller and never beyond the capacity they are given.
var zstdDecoders = sync.Pool{New: func() any {
	d, err := zstd.NewReader(nil,
		zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(zstdMaxWindow),
		zstd.WithDecodeAllCapLimit(true))
	if err != nil {
		panic("batch: zstd decoder options: " + err.Error()) // they are constants
	}
	return d
}}

func unzstd(dst, src []byte, limit int) ([]byte, error) {
	d := zstdDecoders.Get().(*zstd.Decoder)
	defer zstdDecoders.Put(d)
	room := zstdSize(src, limit)
	for {
		dst = slices.Grow(dst[:0], room)
		out, err := d.DecodeAll(src, dst[:0:min(cap(dst), limit)])
		switch {
		case err == nil:
			return out, nil
		case !errors.Is(err, zstd.ErrDecoderSizeExceeded):
			return nil, err
		case cap(dst) >= limit:
			return nil, errTooLong
		}
		room = min(4*cap(dst), limit)
	}
}

// zstdSize is how many bytes the first frame says it holds, or a guess: Java's producers do not say.
func zstdSize(src []byte, limit int) int {
	var h zstd.Header
	if err := h.Decode(src); err != nil || !h.HasFCS {
		return sizeHint(src, limit)
	}
	return int(min(h.FrameContentSize, uint64(limit)))
}

// zstdEncoders are made when a level is first used: one holds some megabytes.
var zstdEncoders [zstd.SpeedBestCompression + 1]sync.Pool

func appendZstd(dst, src []byte, level int) []byte {
	if level == DefaultLevel {
		level = zstdDefaultLevel
	}
	speed := zstd.EncoderLevelFromZstd(level)
	pool := &zstdEncoders[speed]
	e, ok := pool.Get().(*zstd.Encoder)
	if !ok {
		e = newZstdEncoder(speed)
	}
	defer pool.Put(e)
	return e.EncodeAll(src, dst)
}

func newZstdEncoder(speed zstd.EncoderLevel) *zstd.Encoder {
	e, err := zstd.NewWriter(nil,
		zstd.WithEncoderConcurrency(1),
		zstd.WithEncoderLevel(speed),
		zstd.WithWindowSize(zstdWindow),
		zstd.WithLowerEncoderMem(true))
	if err != nil {
		panic("batch: zstd encoder options: " + err.Error()) // they are constants
	}
	return e
}

package batch

import (
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/korvet-io/korvet/internal/compress"
)

const (
	// zstdMaxWindow is the largest window, in bytes, that Java's clients read. It costs no memory here: the output is
	// the window.
	zstdMaxWindow = 128 << 20
	// zstdWindow is what is written: as much as the largest batch by default.
	zstdWindow = 1 << 20

	zstdDefaultLevel = 3

	// The parts of a frame (RFC 8878, section 3.1.1).
	zstdBlockHeader  = 3
	zstdChecksumSize = 4
	zstdMaxBlock     = 128 << 10 // bytes a block can hold
	zstdRaw          = 0
	zstdRepeated     = 1 // one byte, many times
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
	bound := zstdBound(src)
	dst = slices.Grow(dst, min(bound, limit))
	d := zstdDecoders.Get().(*zstd.Decoder)
	defer zstdDecoders.Put(d)
	out, err := d.DecodeAll(src, dst[:0:min(cap(dst), limit)])
	if err != nil && bound > limit {
		return nil, compress.ErrTooLong // the decoder has several errors for it
	}
	return out, err
}

// zstdBound walks frames and blocks by their lengths and returns the most bytes they can hold. It stops where something
// is wrong, which the decoder will find as well.
func zstdBound(src []byte) int {
	total := 0
	for len(src) > 0 {
		var h zstd.Header
		rest, err := h.DecodeAndStrip(src)
		if err != nil {
			break
		}
		size := int(h.SkippableSize)
		if !h.Skippable {
			var content int
			content, size = zstdFrameBound(rest)
			if h.HasFCS {
				content = int(min(uint64(content), h.FrameContentSize))
			}
			total += content
		}
		if h.HasCheckSum {
			size += zstdChecksumSize
		}
		src = rest[min(size, len(rest)):]
	}
	return total
}

// zstdFrameBound is zstdBound for the blocks of one frame, which take size bytes.
func zstdFrameBound(blocks []byte) (bound, size int) {
	for size+zstdBlockHeader <= len(blocks) {
		head := int(blocks[size]) | int(blocks[size+1])<<8 | int(blocks[size+2])<<16
		last, kind, n := head&1 != 0, head>>1&3, head>>3
		size += zstdBlockHeader
		switch kind {
		case zstdRaw:
			bound += n
			size += n
		case zstdRepeated:
			bound += n
			size++
		default:
			bound += zstdMaxBlock
			size += n
		}
		if last {
			break
		}
	}
	return bound, size
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

package compress

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"
)

const (
	// zstdWindow is what the pure Go encoder keeps: it bounds its memory to some megabytes.
	zstdWindow = 64 << 10
	// zstdMaxWindow is the largest window of a foreign frame that does not tell its size; the stock tool's own limit.
	zstdMaxWindow = 128 << 20
	// zstdBlock is the most bytes that a block of a frame holds, and leastBlock the least that one takes: its header and a byte.
	zstdBlock  = 128 << 10
	leastBlock = 4
)

var errFrame = errors.New("not one frame")

// FrameDictionary tells the dictionary that a zstd frame needs, by id; 0 is none.
func FrameDictionary(frame []byte) (uint32, error) {
	var h zstd.Header
	if err := h.Decode(frame); err != nil {
		return 0, err
	}
	return h.DictionaryID, nil
}

// FrameSize tells how large the value in a zstd frame is, in bytes, where its header says so. Frames of this package do.
func FrameSize(frame []byte) (int, error) {
	var h zstd.Header
	if err := h.Decode(frame); err != nil {
		return 0, err
	}
	if h.Skippable || !h.HasFCS || h.FrameContentSize > math.MaxInt32 {
		return 0, errFrame
	}
	return int(h.FrameContentSize), nil
}

// AppendZstdFast appends the zstd frame of a block of many values to dst, at the level that takes least time. An empty one has no
// frame.
func AppendZstdFast(dst, block []byte) []byte {
	if len(block) == 0 {
		return dst
	}
	return appendZstdFast(dst, block)
}

func decodeZstd(dst, frame []byte, limit int, d *Dictionary) ([]byte, error) {
	var h zstd.Header
	if err := h.Decode(frame); err != nil {
		return nil, err
	}
	switch {
	case h.Skippable:
		return nil, errFrame
	case h.DictionaryID == 0:
		d = nil
	case d == nil || d.id != h.DictionaryID:
		return nil, &UnknownDictionaryError{h.DictionaryID}
	}
	if !h.HasFCS {
		return streamZstd(dst, frame, limit, d)
	}
	if h.FrameContentSize > uint64(max(limit, 0)) {
		return nil, ErrTooLong
	}
	size := int(h.FrameContentSize)
	if size > (len(frame)/leastBlock+1)*zstdBlock { // before so much memory is taken: no frame is that dense
		return nil, errFrame
	}
	dst = slices.Grow(dst, size+1) // libzstd is not called without room
	out, err := decodeSized(dst, frame, size, d)
	if err == nil && len(out) != len(dst)+size {
		err = errFrame
	}
	return out, err
}

type zstdReader struct {
	src bytes.Reader
	zr  *zstd.Decoder
}

// zstdReaders decode frames without a dictionary, in the caller's goroutine.
var zstdReaders = sync.Pool{New: func() any { return newZstdReader(nil) }}

func newZstdReader(d *Dictionary) *zstdReader {
	options := []zstd.DOption{
		zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(zstdMaxWindow),
		zstd.WithDecodeAllCapLimit(true),
	}
	if d != nil {
		options = append(options, zstd.WithDecoderDicts(d.blob))
	}
	zr, err := zstd.NewReader(nil, options...)
	if err != nil {
		panic("compress: zstd decoder options: " + err.Error()) // they are constants, and the dictionary was read before
	}
	return &zstdReader{zr: zr}
}

// streamZstd decodes a frame that does not tell its size.
func streamZstd(dst, frame []byte, limit int, d *Dictionary) ([]byte, error) {
	pool := d.readerPool()
	r := pool.Get().(*zstdReader)
	defer pool.Put(r)
	defer r.src.Reset(nil)
	r.src.Reset(frame)
	if err := r.zr.Reset(&r.src); err != nil {
		return nil, err
	}
	return readAll(dst, r.zr, limit)
}

package compress

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/pierrec/lz4/v4"
)

const (
	// lz4Header begins the frames made here: independent blocks of at most 64 KiB, without checksums.
	lz4Header = "\x04\x22\x4d\x18\x60\x40\x82"
	lz4Block  = 64 << 10
	lz4Stored = 1 << 31 // in a block's length: it is not compressed
	lz4Length = 4
)

var errLZ4 = errors.New("bad block")

type lz4Reader struct {
	src bytes.Reader
	zr  *lz4.Reader
}

var (
	lz4Writers = sync.Pool{New: func() any { return new(lz4.Compressor) }}
	lz4Readers = sync.Pool{New: func() any { return &lz4Reader{zr: lz4.NewReader(nil)} }}
)

func appendLZ4(dst, value []byte) []byte {
	c := lz4Writers.Get().(*lz4.Compressor)
	defer lz4Writers.Put(c)
	return AppendLZ4(dst, value, c)
}

// LZ4Compressor is what the fast and the high compressor of the library have in common.
type LZ4Compressor interface {
	CompressBlock(src, dst []byte) (int, error)
}

// AppendLZ4 appends src as one LZ4 frame of independent blocks, the kind that Java's clients read, to dst.
func AppendLZ4(dst, src []byte, c LZ4Compressor) []byte {
	dst = append(dst, lz4Header...)
	for len(src) > 0 {
		block := src[:min(len(src), lz4Block)]
		src = src[len(block):]
		at := len(dst) + lz4Length
		dst = slices.Grow(dst, lz4Length+len(block))[:at+len(block)]
		n, err := c.CompressBlock(block, dst[at:])
		size := uint32(n)
		if err != nil || n == 0 || n >= len(block) { // it does not become smaller
			n = copy(dst[at:], block)
			size = uint32(n) | lz4Stored
		}
		binary.LittleEndian.PutUint32(dst[at-lz4Length:], size)
		dst = dst[:at+n]
	}
	return append(dst, 0, 0, 0, 0)
}

// DecodeLZ4 appends what one LZ4 frame holds to dst. Beyond limit bytes: ErrTooLong.
func DecodeLZ4(dst, frame []byte, limit int) ([]byte, error) {
	if strings.HasPrefix(string(frame[:min(len(frame), len(lz4Header))]), lz4Header) {
		return decodeOwnLZ4(dst, frame[len(lz4Header):], limit)
	}
	r := lz4Readers.Get().(*lz4Reader)
	defer lz4Readers.Put(r)
	r.src.Reset(frame)
	r.zr.Reset(&r.src)
	out, err := readAll(dst, r.zr, limit)
	if err == nil && r.src.Len() > 0 {
		err = errLZ4
	}
	r.src.Reset(nil)
	r.zr.Reset(nil)
	return out, err
}

// decodeOwnLZ4 decodes the blocks of a frame of the kind made here, up to its end mark.
func decodeOwnLZ4(dst, blocks []byte, limit int) ([]byte, error) {
	for left := limit; len(blocks) >= lz4Length; {
		head := binary.LittleEndian.Uint32(blocks)
		size := int(head &^ lz4Stored)
		blocks = blocks[lz4Length:]
		if size == 0 && len(blocks) == 0 {
			return dst, nil
		}
		if size == 0 || size > lz4Block || size > len(blocks) {
			return nil, errLZ4
		}
		at := len(dst)
		var err error
		if dst, err = appendLZ4Block(dst, blocks[:size], head&lz4Stored != 0, left); err != nil {
			return nil, err
		}
		left -= len(dst) - at
		blocks = blocks[size:]
	}
	return nil, errLZ4
}

func appendLZ4Block(dst, block []byte, stored bool, left int) ([]byte, error) {
	if stored {
		if len(block) > left {
			return nil, ErrTooLong
		}
		return append(dst, block...), nil
	}
	at := len(dst)
	dst = slices.Grow(dst, lz4Block)
	n, err := lz4.UncompressBlock(block, dst[at:at+lz4Block])
	switch {
	case err != nil:
		return nil, err
	case n > left:
		return nil, ErrTooLong
	}
	return dst[:at+n], nil
}

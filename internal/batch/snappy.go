package batch

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"

	"github.com/klauspost/compress/s2"

	"github.com/korvet-io/korvet/internal/compress"
)

// Java's producers write snappy in the framing of the xerial library: a header, then blocks, each after its length.
// Others write one raw block.
const (
	xerialMagic      = "\x82SNAPPY\x00"
	xerialHeaderSize = len(xerialMagic) + 8 // the version, and the oldest version that can read it
	xerialBlockSize  = 32 << 10

	// snappyMaxRatio is the most a block can grow: a copy of 64 bytes takes three.
	snappyMaxRatio = 22
)

var errSnappy = errors.New("bad snappy block")

func unsnappy(dst, src []byte, limit int) ([]byte, error) {
	if !bytes.HasPrefix(src, []byte(xerialMagic)) {
		return appendSnappyBlock(dst, src, limit)
	}
	if len(src) < xerialHeaderSize {
		return nil, errSnappy
	}
	src = src[xerialHeaderSize:]
	dst = slices.Grow(dst, sizeHint(src, limit))
	for len(src) > 0 {
		if len(src) < 4 {
			return nil, errSnappy
		}
		size := int(int32At(src, 0))
		src = src[4:]
		if size < 0 || size > len(src) {
			return nil, errSnappy
		}
		var err error
		if dst, err = appendSnappyBlock(dst, src[:size], limit); err != nil {
			return nil, err
		}
		src = src[size:]
	}
	return dst, nil
}

func appendSnappyBlock(dst, block []byte, limit int) ([]byte, error) {
	size, err := s2.DecodedLen(block)
	switch {
	case err != nil:
		return nil, err
	case size > snappyMaxRatio*len(block) || usesS2(block):
		return nil, errSnappy
	case size > limit-len(dst):
		return nil, compress.ErrTooLong
	}
	at := len(dst)
	dst = slices.Grow(dst, size)[:at+size]
	if _, err := s2.Decode(dst[at:], block); err != nil {
		return nil, err
	}
	return dst, nil
}

// usesS2 tells whether a block has S2's repeated offsets. The decoder takes them, other snappy decoders, so consumers,
// do not. Whatever else is wrong with the block the decoder finds.
func usesS2(block []byte) bool {
	_, at := binary.Uvarint(block)
	for at > 0 && at < len(block) {
		tag := block[at]
		switch tag & 3 {
		case 0:
			at = skipLiteral(block, at)
		case 1:
			if at+1 < len(block) && tag>>5 == 0 && block[at+1] == 0 {
				return true
			}
			at += 2
		case 2:
			at += 3
		case 3:
			at += 5
		}
	}
	return false
}

// skipLiteral returns where the literal at position at ends. Tags above 59 are followed by one to four bytes of length.
func skipLiteral(block []byte, at int) int {
	size := int(block[at] >> 2)
	at++
	if size >= 60 {
		var length [4]byte
		n := size - 59
		copy(length[:n], block[at:])
		size = int(binary.LittleEndian.Uint32(length[:]))
		at += n
	}
	return at + size + 1
}

func appendSnappy(dst, src []byte) []byte {
	dst = append(dst, xerialMagic...)
	dst = append(dst, 0, 0, 0, 1, 0, 0, 0, 1)
	for len(src) > 0 {
		block := src[:min(len(src), xerialBlockSize)]
		src = src[len(block):]
		at := len(dst) + 4
		room := s2.MaxEncodedLen(len(block))
		dst = slices.Grow(dst, 4+room)[:at+room]
		n := len(s2.EncodeSnappy(dst[at:], block))
		putInt32(dst, at-4, int32(n))
		dst = dst[:at+n]
	}
	return dst
}

package batch

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/bits"
	"slices"
	"sync"

	"github.com/pierrec/lz4/v4"

	"github.com/korvet-io/korvet/internal/compress"
)

// Java's clients read one LZ4 frame of independent blocks, so nothing else may reach a consumer.
const (
	lz4Magic          = 0x184D2204
	lz4DescriptorAt   = 4 // the flags, the block size, maybe the content size, the header checksum
	lz4ContentSizeBit = 0x08
	lz4ContentSumBit  = 0x04
	lz4BlockSumBit    = 0x10
	lz4IndependentBit = 0x20
	lz4StoredBit      = 1 << 31 // in a block's length: it is not compressed
	lz4SmallestHeader = 7
)

var errLZ4 = errors.New("not one LZ4 frame of independent blocks")

func unlz4(dst, src []byte, limit int) ([]byte, error) {
	if !isKafkaFrame(src) {
		return nil, errLZ4
	}
	return compress.DecodeLZ4(slices.Grow(dst, sizeHint(src, limit)), src, limit)
}

// isKafkaFrame walks the frame's blocks by their lengths: it must be of the kind consumers read, and end with src.
func isKafkaFrame(src []byte) bool {
	at := lz4HeaderSize(src)
	if at == 0 || src[lz4DescriptorAt]&lz4IndependentBit == 0 {
		return false
	}
	flags := src[lz4DescriptorAt]
	for len(src)-at >= 4 {
		size := int(binary.LittleEndian.Uint32(src[at:]) &^ lz4StoredBit)
		at += 4
		switch {
		case size > 0 && flags&lz4BlockSumBit != 0:
			at += size + 4
		case size > 0:
			at += size
		case flags&lz4ContentSumBit != 0:
			return at+4 == len(src)
		default:
			return at == len(src)
		}
	}
	return false
}

// lz4HeaderSize is the size of the frame's header with its checksum byte; 0 when src does not begin with one.
func lz4HeaderSize(src []byte) int {
	if len(src) < lz4SmallestHeader || binary.LittleEndian.Uint32(src) != lz4Magic {
		return 0
	}
	if src[lz4DescriptorAt]&lz4ContentSizeBit == 0 {
		return lz4SmallestHeader
	}
	if len(src) < lz4SmallestHeader+8 {
		return 0
	}
	return lz4SmallestHeader + 8
}

// repairLZ4 returns src with the right header checksum. Messages of magic 0 have one that was computed over the wrong
// bytes, and Kafka ignores it in them (KIP-57).
func repairLZ4(src []byte) []byte {
	size := lz4HeaderSize(src)
	if size == 0 {
		return src
	}
	src = bytes.Clone(src)
	src[size-1] = byte(shortXXH32(src[lz4DescriptorAt:size-1]) >> 8)
	return src
}

// shortXXH32 is XXH32 with seed 0 of fewer than 16 bytes, such as a frame's descriptor.
func shortXXH32(b []byte) uint32 {
	const prime1, prime2, prime3, prime4, prime5 = 2654435761, 2246822519, 3266489917, 668265263, 374761393
	h := prime5 + uint32(len(b))
	for ; len(b) >= 4; b = b[4:] {
		h = bits.RotateLeft32(h+binary.LittleEndian.Uint32(b)*prime3, 17) * prime4
	}
	for _, c := range b {
		h = bits.RotateLeft32(h+uint32(c)*prime5, 11) * prime1
	}
	h = (h ^ h>>15) * prime2
	h = (h ^ h>>13) * prime3
	return h ^ h>>16
}

var (
	lz4Fast = sync.Pool{New: func() any { return new(lz4.Compressor) }}
	lz4HC   = sync.Pool{New: func() any { return new(lz4.CompressorHC) }}
)

// lz4DefaultLevel is Kafka's. As in Kafka it means the fast compressor, the other levels the high one.
const lz4DefaultLevel = 9

func appendLZ4(dst, src []byte, level int) []byte {
	if level <= DefaultLevel || level == lz4DefaultLevel {
		c := lz4Fast.Get().(*lz4.Compressor)
		defer lz4Fast.Put(c)
		return compress.AppendLZ4(dst, src, c)
	}
	c := lz4HC.Get().(*lz4.CompressorHC)
	defer lz4HC.Put(c)
	c.Level = lz4.Level1 << (min(level, 9) - 1)
	return compress.AppendLZ4(dst, src, c)
}

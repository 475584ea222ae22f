package datafile

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"io"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/korvet-io/korvet/internal/compress"
)

// Bounds of what one page may claim, whatever its header says.
const (
	mostPage   = 256 << 20 // bytes, uncompressed; a record is smaller by far
	mostValues = 8 << 20
	mostRatio  = 40_000 // of a page of more than 1 MiB to what it is compressed to: zstd's best
)

// Kinds of pages.
const (
	pageData       = 0
	pageIndex      = 1
	pageDictionary = 2
	pageDataV2     = 3
)

type pageHeader struct {
	kind                int64
	raw, stored         int64
	crc                 uint32
	checked             bool // it has a checksum
	values, encoding    int64
	levelEncodings      [2]int64 // definition, repetition; of version 1
	defBytes, repBytes  int64    // of version 2
	notCompressed, body bool     // body: it has the header of its kind
}

// readPageHeader reads a header and tells how long it is. A failure may also mean that there is more of it.
func readPageHeader(b []byte) (h pageHeader, size int, err error) {
	t := thrift{b: b}
	t.structure(wireStruct, func(id int16, kind byte) bool {
		switch id {
		case 1:
			h.kind = t.int(kind)
		case 2:
			h.raw = t.int(kind)
		case 3:
			h.stored = t.int(kind)
		case 4:
			h.crc, h.checked = uint32(t.int(kind)), true
		case 5, 7:
			h.body = true
			t.structure(kind, h.version1(&t))
		case 8:
			h.body = true
			t.structure(kind, h.version2(&t))
		default:
			return false
		}
		return true
	})
	if t.bad {
		return h, 0, fmt.Errorf("%w: malformed page header", ErrCorrupt)
	}
	return h, len(b) - len(t.b), h.check()
}

func (h *pageHeader) version1(t *thrift) func(int16, byte) bool {
	return func(id int16, kind byte) bool {
		switch id {
		case 1:
			h.values = t.int(kind)
		case 2:
			h.encoding = t.int(kind)
		case 3, 4:
			if kind == wireTrue || kind == wireFalse { // of a dictionary: whether it is sorted
				return false
			}
			h.levelEncodings[id-3] = t.int(kind)
		default:
			return false
		}
		return true
	}
}

func (h *pageHeader) version2(t *thrift) func(int16, byte) bool {
	return func(id int16, kind byte) bool {
		switch id {
		case 1:
			h.values = t.int(kind)
		case 4:
			h.encoding = t.int(kind)
		case 5:
			h.defBytes = t.int(kind)
		case 6:
			h.repBytes = t.int(kind)
		case 7:
			h.notCompressed = kind == wireFalse
		default:
			return false
		}
		return true
	}
}

func (h *pageHeader) check() error {
	switch {
	case h.kind != pageIndex && !h.body:
		return fmt.Errorf("%w: page of kind %d without its header", ErrCorrupt, h.kind)
	case h.raw < 0 || h.raw > mostPage || h.stored < 0 || h.stored > mostPage:
		return fmt.Errorf("%w: page of %d bytes, %d uncompressed: at most %d", ErrCorrupt, h.stored, h.raw, mostPage)
	case h.values < 0 || h.values > mostValues:
		return fmt.Errorf("%w: page of %d values: at most %d", ErrCorrupt, h.values, mostValues)
	case h.defBytes < 0 || h.repBytes < 0 || h.defBytes > h.stored || h.repBytes > h.stored-h.defBytes || h.defBytes+h.repBytes > h.raw:
		return fmt.Errorf("%w: levels of %d and %d bytes in a page of %d", ErrCorrupt, h.repBytes, h.defBytes, h.stored)
	}
	return nil
}

// nextPage takes a page and its header from the beginning of b.
func nextPage(b []byte) (h pageHeader, body, rest []byte, err error) {
	h, n, err := readPageHeader(b)
	if err != nil {
		return h, nil, nil, err
	}
	if h.stored > int64(len(b)-n) {
		return h, nil, nil, fmt.Errorf("%w: page of %d bytes where there are %d", ErrCorrupt, h.stored, len(b)-n)
	}
	body, rest = b[n:n+int(h.stored)], b[n+int(h.stored):]
	if h.checked && crc32.ChecksumIEEE(body) != h.crc {
		return h, nil, nil, fmt.Errorf("%w: checksum of a page is %08x, not %08x", ErrCorrupt, crc32.ChecksumIEEE(body), h.crc)
	}
	return h, body, rest, nil
}

// zstdDecoder never writes beyond what it is given.
var zstdDecoder = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecodeAllCapLimit(true), zstd.WithDecoderMaxMemory(mostPage))
})

// Codecs of Parquet.
const (
	codecNone   = 0
	codecSnappy = 1
	codecGzip   = 2
	codecZstd   = 6
	codecLZ4Raw = 7
)

// pageSlack is what memory for pages is a multiple of, in bytes: those of a file are about as large, and use it one after the other.
const pageSlack = 8 << 10

// decompress returns src uncompressed, in *room, which grows where it has to; a page that is not compressed is src itself. It takes
// no more memory than size tells.
func decompress(codec int64, room *[]byte, src []byte, size int64) (plain []byte, err error) {
	switch {
	case codec == codecNone:
		plain = src
	case size > 1<<20+mostRatio*int64(len(src)):
		err = fmt.Errorf("%d bytes out of %d", size, len(src))
	case size > 0: // of nothing there may be no frame
		if most := int64(cap(*room)); most <= size || most > 2*size+pageSlack { // libzstd wants a byte more; what is too large may be kept
			*room = make([]byte, 0, size+1+pageSlack-(size+1)%pageSlack)
		}
		plain, err = uncompress(codec, (*room)[:size+1], src)
	}
	if err == nil && int64(len(plain)) != size {
		err = fmt.Errorf("%d bytes instead of %d", len(plain), size)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: decompress page: %w", ErrCorrupt, err)
	}
	return plain, nil
}

// uncompress fills room but for its last byte.
func uncompress(codec int64, room, src []byte) ([]byte, error) {
	size := len(room) - 1
	dst := room[:0:size]
	switch codec {
	case codecZstd:
		if n, err := compress.FrameSize(src); err == nil && n == size {
			return compress.Zstd.Decode(room[:0:size+1], src, n, nil)
		}
		d, err := zstdDecoder()
		if err != nil {
			return nil, err
		}
		return d.DecodeAll(src, dst)
	case codecSnappy:
		if n, err := snappy.DecodedLen(src); err != nil || n != cap(dst) {
			return nil, fmt.Errorf("snappy block of %d bytes: %v", n, err)
		}
		return snappy.Decode(dst[:cap(dst)], src)
	case codecGzip:
		r, err := gzip.NewReader(bytes.NewReader(src))
		if err != nil {
			return nil, err
		}
		n, err := io.ReadFull(r, dst[:cap(dst)])
		if err != nil {
			return nil, err
		}
		if more, err := io.Copy(io.Discard, io.LimitReader(r, 1)); more > 0 || err != nil { // the checksum is at its end
			return nil, fmt.Errorf("gzip of more than %d bytes: %w", n, err)
		}
		return dst[:n], nil
	case codecLZ4Raw:
		n, err := lz4.UncompressBlock(src, dst[:cap(dst)])
		return dst[:max(n, 0)], err
	}
	return nil, fmt.Errorf("codec %d is not supported", codec)
}

package compress

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math/bits"
	"slices"
	"strings"

	"github.com/klauspost/compress/s2"
)

// The snappy framing format: a stream identifier, then chunks, each a type byte, three bytes of length, and for data the
// masked CRC-32C of what it holds uncompressed.
const (
	snappyIdentifier   = "\xff\x06\x00\x00sNaPpY"
	snappyCompressed   = 0x00
	snappyUncompressed = 0x01
	snappyReserved     = 0x80 // chunks below it, and not data, must not be skipped
	snappyIsIdentifier = 0xff
	snappyHead         = 4
	snappySum          = 4
	snappyChunk        = 64 << 10 // most bytes of a chunk, uncompressed
)

var (
	errSnappy  = errors.New("bad chunk")
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
)

// snappyCRC is the masked checksum of a chunk's data.
func snappyCRC(b []byte) uint32 {
	return bits.RotateLeft32(crc32.Checksum(b, castagnoli), 17) + 0xa282ead8
}

func appendSnappy(dst, value []byte) []byte {
	dst = append(dst, snappyIdentifier...)
	for len(value) > 0 {
		part := value[:min(len(value), snappyChunk)]
		value = value[len(part):]
		at := len(dst)
		room := s2.MaxEncodedLen(len(part))
		dst = slices.Grow(dst, snappyHead+snappySum+room)[:at+snappyHead+snappySum]
		kind := byte(snappyCompressed)
		packed := s2.EncodeSnappy(dst[len(dst):len(dst)+room], part)
		if len(packed) >= len(part) {
			kind, packed = snappyUncompressed, part
		}
		binary.LittleEndian.PutUint32(dst[at:], uint32(len(packed)+snappySum)<<8|uint32(kind))
		binary.LittleEndian.PutUint32(dst[at+snappyHead:], snappyCRC(part))
		dst = append(dst, packed...)
	}
	return dst
}

func decodeSnappy(dst, frame []byte, limit int) ([]byte, error) {
	if !strings.HasPrefix(string(frame[:min(len(frame), len(snappyIdentifier))]), snappyIdentifier) {
		return nil, errSnappy
	}
	left := limit
	for len(frame) > 0 {
		if len(frame) < snappyHead {
			return nil, errSnappy
		}
		head := binary.LittleEndian.Uint32(frame)
		kind, size := byte(head), int(head>>8)
		frame = frame[snappyHead:]
		if size > len(frame) {
			return nil, errSnappy
		}
		body := frame[:size]
		frame = frame[size:]
		var err error
		before := len(dst)
		switch {
		case kind == snappyCompressed || kind == snappyUncompressed:
			dst, err = appendSnappyChunk(dst, body, kind, left)
		case kind == snappyIsIdentifier && string(body) != snappyIdentifier[snappyHead:], kind < snappyReserved:
			err = errSnappy
		}
		if err != nil {
			return nil, err
		}
		left -= len(dst) - before
	}
	return dst, nil
}

// appendSnappyChunk appends the data of one chunk and checks its sum.
func appendSnappyChunk(dst, body []byte, kind byte, left int) ([]byte, error) {
	if len(body) < snappySum {
		return nil, errSnappy
	}
	sum, data := binary.LittleEndian.Uint32(body), body[snappySum:]
	size := len(data)
	if kind == snappyCompressed {
		var err error
		if size, err = s2.DecodedLen(data); err != nil {
			return nil, err
		}
	}
	switch {
	case size > snappyChunk:
		return nil, errSnappy
	case size > left:
		return nil, ErrTooLong
	}
	at := len(dst)
	dst = slices.Grow(dst, size)[:at+size]
	if kind == snappyUncompressed {
		copy(dst[at:], data)
	} else if _, err := s2.Decode(dst[at:], data); err != nil {
		return nil, err
	}
	if snappyCRC(dst[at:]) != sum {
		return nil, errSnappy
	}
	return dst, nil
}

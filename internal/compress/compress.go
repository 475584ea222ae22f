// Package compress makes and reads the frames that values are stored as: one value is one frame of the codec's standard
// format, with no marker of ours, so that any stock tool reads it.
//
// What its gzip and LZ4 have in common with those of record batches serves both.
//
// zstd is libzstd where cgo is on and pure Go otherwise; frames of each decode in the other.
package compress

import (
	"errors"
	"fmt"
	"io"
	"slices"
)

// Codec is how a topic's values are stored.
type Codec uint8

// The codecs. The zero one stores values as they are.
const (
	None   Codec = iota
	Gzip         // RFC 1952
	Snappy       // the framing format
	LZ4          // the LZ4 frame format
	Zstd         // RFC 8878, with a dictionary where there is one
)

var names = [...]string{None: "none", Gzip: "gzip", Snappy: "snappy", LZ4: "lz4", Zstd: "zstd"}

// Parse finds a codec by the name that storage.compression.type has for it.
func Parse(name string) (Codec, error) {
	if i := slices.Index(names[:], name); i >= 0 {
		return Codec(i), nil
	}
	return None, fmt.Errorf("parse codec: %q is none", name)
}

// String is the codec's name.
func (c Codec) String() string { return names[c] }

// The errors of decoding. Whatever else is wrong with a frame is an error that wraps ErrCorrupt.
var (
	ErrCorrupt = errors.New("the value is not a frame of its topic's codec")
	ErrTooLong = errors.New("the value is longer than allowed")
)

// UnknownDictionaryError is a frame that needs another dictionary than the one it was to be decoded with.
type UnknownDictionaryError struct{ ID uint32 }

func (e *UnknownDictionaryError) Error() string {
	return fmt.Sprintf("the value needs zstd dictionary %d", e.ID)
}

// Append appends value's frame to dst. An empty value has an empty frame. d may be nil and counts for Zstd only. A value
// that does not shrink costs 9 to 25 bytes.
func (c Codec) Append(dst, value []byte, d *Dictionary) []byte {
	if len(value) == 0 {
		return dst
	}
	switch c {
	case Gzip:
		return AppendGzip(dst, value, gzipDefault)
	case Snappy:
		return appendSnappy(dst, value)
	case LZ4:
		return appendLZ4(dst, value)
	case Zstd:
		return appendZstd(dst, value, d)
	}
	return append(dst, value...)
}

// Decode appends the value of a frame to dst, at most limit bytes of it: a longer one is ErrTooLong. A zstd frame that
// names a dictionary must be given that one, else the error is an *UnknownDictionaryError; one that names none ignores d.
func (c Codec) Decode(dst, frame []byte, limit int, d *Dictionary) ([]byte, error) {
	if len(frame) == 0 {
		return dst, nil
	}
	start := len(dst)
	out, err := c.decode(dst, frame, limit, d)
	var unknown *UnknownDictionaryError
	switch {
	case err == nil && len(out)-start <= limit:
		return out, nil
	case err == nil:
		return dst, ErrTooLong
	case errors.Is(err, ErrTooLong), errors.As(err, &unknown):
		return dst, err
	}
	return dst, fmt.Errorf("%w: %s: %w", ErrCorrupt, c, err)
}

func (c Codec) decode(dst, frame []byte, limit int, d *Dictionary) ([]byte, error) {
	switch c {
	case Gzip:
		return DecodeGzip(dst, frame, limit)
	case Snappy:
		return decodeSnappy(dst, frame, limit)
	case LZ4:
		return DecodeLZ4(dst, frame, limit)
	case Zstd:
		return decodeZstd(dst, frame, limit, d)
	}
	if len(frame) > limit {
		return nil, ErrTooLong
	}
	return append(dst, frame...), nil
}

// minRead is the least room, in bytes, that readAll offers a reader.
const minRead = 512

// readAll appends all that r gives to dst, at most limit bytes, and takes memory beyond a constant for no more.
func readAll(dst []byte, r io.Reader, limit int) ([]byte, error) {
	start := len(dst)
	for {
		if cap(dst)-len(dst) < minRead {
			read := len(dst) - start
			dst = slices.Grow(dst, min(max(read, minRead), limit+minRead-read))
		}
		n, err := r.Read(dst[len(dst):cap(dst)])
		dst = dst[:len(dst)+n]
		switch {
		case len(dst)-start > limit:
			return nil, ErrTooLong
		case err == io.EOF:
			return dst, nil
		case err != nil:
			return nil, err
		}
	}
}

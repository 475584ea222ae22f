package batch

import (
	"errors"
	"fmt"
	"slices"

	"github.com/korvet-io/korvet/internal/compress"
)

// Codec is how a batch's records are compressed. The numbers are those of the batch attributes.
type Codec int8

// The codecs of record batches. Message sets have no zstd.
const (
	None Codec = iota
	Gzip
	Snappy
	LZ4
	Zstd
)

// DefaultLevel asks for a codec's own default level.
const DefaultLevel = 0

var codecNames = [...]string{None: "uncompressed", Gzip: "gzip", Snappy: "snappy", LZ4: "lz4", Zstd: "zstd"}

func (c Codec) known() bool { return c >= None && c <= Zstd }

// String names the codec as the topic setting compression.type does.
func (c Codec) String() string {
	if !c.known() {
		return fmt.Sprintf("codec %d", int8(c))
	}
	return codecNames[c]
}

// ParseCodec reads a value of the topic setting compression.type. "none" is another word for "uncompressed";
// "producer" is no codec.
func ParseCodec(name string) (Codec, error) {
	if name == "none" {
		return None, nil
	}
	if i := slices.Index(codecNames[:], name); i >= 0 {
		return Codec(i), nil
	}
	return None, refuse(ErrUnsupportedCompression, "%q", name)
}

// decompress returns src decompressed, in the memory of scratch where that is enough. It never makes more than limit
// bytes, nor takes memory beyond a constant for them.
func (c Codec) decompress(scratch, src []byte, limit int) ([]byte, error) {
	var out []byte
	var err error
	switch c {
	case Gzip:
		out, err = gunzip(scratch[:0], src, limit)
	case Snappy:
		out, err = unsnappy(scratch[:0], src, limit)
	case LZ4:
		out, err = unlz4(scratch[:0], src, limit)
	case Zstd:
		out, err = unzstd(scratch[:0], src, limit)
	default:
		return nil, refuse(ErrUnsupportedCompression, "%v", c)
	}
	switch {
	case errors.Is(err, compress.ErrTooLong):
		return nil, refuse(ErrTooLarge, "%v records are more than %d bytes when decompressed", c, limit)
	case err != nil:
		return nil, fmt.Errorf("%w: decompress %v: %w", ErrInvalidRecord, c, err)
	}
	return out, nil
}

// compress appends src, compressed, to dst. The level is the codec's own as Kafka's compression.*.level settings
// have it, brought into its range; DefaultLevel is its default. An unknown codec compresses nothing.
func (c Codec) compress(dst, src []byte, level int) []byte {
	switch c {
	case Gzip:
		return appendGzip(dst, src, level)
	case Snappy:
		return appendSnappy(dst, src)
	case LZ4:
		return appendLZ4(dst, src, level)
	case Zstd:
		return appendZstd(dst, src, level)
	}
	return append(dst, src...)
}

// sizeHint guesses how much src will be when decompressed, in bytes.
func sizeHint(src []byte, limit int) int {
	return min(limit, max(4*len(src), 16<<10))
}

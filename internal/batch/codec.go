package batch

import "fmt"

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

func (c Codec) known() bool { return c >= None && c <= Zstd }

// String names the codec as the topic setting compression.type does.
func (c Codec) String() string {
	switch c {
	case None:
		return "uncompressed"
	case Gzip:
		return "gzip"
	case Snappy:
		return "snappy"
	case LZ4:
		return "lz4"
	case Zstd:
		return "zstd"
	}
	return fmt.Sprintf("codec %d", int8(c))
}

package compress

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// Dictionary is a zstd dictionary, read once and used for many values. It is safe for concurrent use.
type Dictionary struct {
	id      uint32
	blob    []byte
	readers sync.Pool // of *zstdReader
	native  nativeDictionary
}

// zstdDictionaryMagic begins a dictionary in zstd's format; four bytes of id follow, both little-endian.
const (
	zstdDictionaryMagic = 0xEC30A437
	dictionaryHead      = 8
)

// NewDictionary reads a dictionary in zstd's own format (RFC 8878, section 5). The blob must not be changed afterwards.
func NewDictionary(blob []byte) (*Dictionary, error) {
	d := &Dictionary{id: DictionaryID(blob), blob: blob}
	if d.id == 0 {
		return nil, errors.New("read zstd dictionary: it has no id")
	}
	if _, err := zstd.InspectDictionary(blob); err != nil {
		return nil, fmt.Errorf("read zstd dictionary %d: %w", d.id, err)
	}
	d.readers.New = func() any { return newZstdReader(d) }
	if err := d.open(); err != nil {
		return nil, fmt.Errorf("read zstd dictionary %d: %w", d.id, err)
	}
	return d, nil
}

// ID is what frames name the dictionary by.
func (d *Dictionary) ID() uint32 { return d.id }

// Blob is the dictionary as `zstd -D` takes it. It must not be changed.
func (d *Dictionary) Blob() []byte { return d.blob }

// readerPool has decoders for frames of the dictionary; of none for nil.
func (d *Dictionary) readerPool() *sync.Pool {
	if d == nil {
		return &zstdReaders
	}
	return &d.readers
}

// DictionaryID is the id that a blob says it has; 0 for what is none.
func DictionaryID(blob []byte) uint32 {
	if len(blob) < dictionaryHead || binary.LittleEndian.Uint32(blob) != zstdDictionaryMagic {
		return 0
	}
	return binary.LittleEndian.Uint32(blob[4:])
}

// ErrUntrainable is a set of values from which no dictionary can be made: too few, too short or all the same.
var ErrUntrainable = errors.New("no dictionary can be made of these values")

// maxSample is how much of a value is looked at: beyond it a value has redundancy of its own.
const maxSample = 32 << 10

// Train makes a dictionary of at most size bytes from values, with an id; frames name one below 256 in one byte, below
// 65536 in two. It takes some tenths of a second per megabyte of values. ErrUntrainable.
func Train(values [][]byte, size int, id uint32) ([]byte, error) {
	samples := make([][]byte, 0, len(values))
	for _, v := range values {
		if len(v) > 0 {
			samples = append(samples, v[:min(len(v), maxSample)])
		}
	}
	if len(samples) < fewestSamples {
		return nil, ErrUntrainable
	}
	blob, err := train(samples, size, id)
	if err != nil {
		return nil, err
	}
	if DictionaryID(blob) == 0 {
		return nil, ErrUntrainable
	}
	binary.LittleEndian.PutUint32(blob[4:], id) // trainers choose one of four bytes
	return blob, nil
}

// fewestSamples is what trainers need at least.
const fewestSamples = 10

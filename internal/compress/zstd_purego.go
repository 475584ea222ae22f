//go:build !cgo

package compress

import (
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// nativeDictionary has the encoders of a dictionary, which are made as they are needed: each holds some megabytes.
type nativeDictionary struct{ writers sync.Pool }

func (d *Dictionary) open() error {
	w, err := newZstdWriter(d)
	if err != nil {
		return err
	}
	d.native.writers.Put(w)
	return nil
}

// zstdWriters encode without a dictionary.
var zstdWriters sync.Pool

// fastWriter encodes large blocks, in the caller's goroutine.
var fastWriter = sync.OnceValue(func() *zstd.Encoder {
	w, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderCRC(false))
	if err != nil {
		panic("compress: zstd encoder options: " + err.Error()) // they are constants
	}
	return w
})

func appendZstdFast(dst, block []byte) []byte { return fastWriter().EncodeAll(block, dst) }

func newZstdWriter(d *Dictionary) (*zstd.Encoder, error) {
	options := []zstd.EOption{
		zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedDefault), zstd.WithWindowSize(zstdWindow),
		zstd.WithLowerEncoderMem(true), zstd.WithSingleSegment(true), zstd.WithEncoderCRC(false),
	}
	if d != nil {
		options = append(options, zstd.WithEncoderDict(d.blob))
	}
	return zstd.NewWriter(nil, options...)
}

func appendZstd(dst, value []byte, d *Dictionary) []byte {
	pool := &zstdWriters
	if d != nil {
		pool = &d.native.writers
	}
	w, ok := pool.Get().(*zstd.Encoder)
	if !ok {
		var err error
		if w, err = newZstdWriter(d); err != nil {
			panic("compress: zstd encoder options: " + err.Error()) // they are constants, and the dictionary was taken before
		}
	}
	defer pool.Put(w)
	return w.EncodeAll(value, dst)
}

// decodeSized appends a frame of known size to dst, which has room for it and one byte more.
func decodeSized(dst, frame []byte, size int, d *Dictionary) ([]byte, error) {
	pool := d.readerPool()
	r := pool.Get().(*zstdReader)
	defer pool.Put(r)
	return r.zr.DecodeAll(frame, dst[:len(dst):len(dst)+size])
}

// train takes whole values as the dictionary's content and tables of all of them. The library panics on some sets of
// values that it cannot make tables of.
func train(samples [][]byte, size int, id uint32) (blob []byte, err error) {
	defer func() {
		if bad := recover(); bad != nil {
			blob, err = nil, fmt.Errorf("%w: %v", ErrUntrainable, bad)
		}
	}()
	const tables = 1 << 10 // they take less
	total := 0
	for _, s := range samples {
		total += len(s)
	}
	room := min(size-tables, total/2) // values that are in it whole say nothing about the tables
	var history []byte
	for _, s := range samples {
		if len(history)+len(s) <= room {
			history = append(history, s...)
		}
	}
	blob, err = zstd.BuildDict(zstd.BuildDictOptions{
		ID: id, Contents: samples, History: history, Offsets: [3]int{1, 4, 8}, CompatV155: true, Level: zstd.SpeedDefault,
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUntrainable, err)
	}
	return blob, nil
}

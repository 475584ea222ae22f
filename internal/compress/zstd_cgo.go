//go:build cgo

package compress

import (
	"fmt"
	"slices"

	"github.com/valyala/gozstd"
)

// zstdLevel is libzstd's default: higher ones cost twice the time for some percent.
const zstdLevel = 3

// nativeDictionary is libzstd's form of a dictionary. Its memory is given back when it is collected.
type nativeDictionary struct {
	enc *gozstd.CDict
	dec *gozstd.DDict
}

// open has libzstd read the dictionary, and tries it: what libzstd does not take shows only then.
func (d *Dictionary) open() (err error) {
	if d.native.enc, err = gozstd.NewCDictLevel(d.blob, zstdLevel); err != nil {
		return err
	}
	if d.native.dec, err = gozstd.NewDDict(d.blob); err != nil {
		return err
	}
	defer func() {
		if bad := recover(); bad != nil { // so gozstd says that there is no dictionary
			err = fmt.Errorf("libzstd does not take it: %v", bad)
		}
	}()
	_, err = gozstd.DecompressDict(make([]byte, 0, 64), gozstd.CompressDict(make([]byte, 0, 64), []byte("probe"), d.native.enc), d.native.dec)
	return err
}

func appendZstdFast(dst, block []byte) []byte {
	dst = slices.Grow(dst, len(block)+len(block)>>8+64)
	return gozstd.CompressLevel(dst, block, 1)
}

func appendZstd(dst, value []byte, d *Dictionary) []byte {
	dst = slices.Grow(dst, len(value)+len(value)>>8+64) // ZSTD_COMPRESSBOUND: so libzstd writes in place
	if d == nil {
		return gozstd.CompressLevel(dst, value, zstdLevel)
	}
	return gozstd.CompressDict(dst, value, d.native.enc)
}

// decodeSized appends a frame of known size to dst, which has room for it and one byte more.
func decodeSized(dst, frame []byte, size int, d *Dictionary) ([]byte, error) {
	room := dst[: len(dst) : len(dst)+size+1]
	if d == nil {
		return gozstd.DecompressLimited(room, frame, size+1)
	}
	return gozstd.DecompressDictLimited(room, frame, d.native.dec, size+1)
}

func train(samples [][]byte, size int, _ uint32) ([]byte, error) {
	blob := gozstd.BuildDict(samples, size)
	if len(blob) == 0 {
		return nil, ErrUntrainable
	}
	return blob, nil
}

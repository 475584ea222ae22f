package datafile

import (
	"encoding/binary"
	"fmt"
)

// Encodings of Parquet.
const (
	encodingPlain           = 0
	encodingPlainDictionary = 2
	encodingRLE             = 3
	encodingDelta           = 5
	encodingDeltaLengths    = 6
	encodingDeltaBytes      = 7
	encodingDictionary      = 8
	encodingSplit           = 9
)

// width is how many bytes a number takes.
func (l *leaf) width() int {
	if l.kind == kindInt32 || l.kind == kindFloat {
		return 4
	}
	return 8
}

func plainNumbers(dst []int64, src []byte, width, n int) ([]int64, error) {
	if len(src) < width*n {
		return dst, errEncoding
	}
	for i := range n {
		if width == 4 {
			dst = append(dst, int64(int32(binary.LittleEndian.Uint32(src[4*i:]))))
			continue
		}
		dst = append(dst, int64(binary.LittleEndian.Uint64(src[8*i:])))
	}
	return dst, nil
}

// splitNumbers reads numbers whose first bytes come first, then all second ones.
func splitNumbers(dst []int64, src []byte, width, n int) ([]int64, error) {
	if len(src) != width*n {
		return dst, errEncoding
	}
	for i := range n {
		v := uint64(0)
		for b := range width {
			v |= uint64(src[b*n+i]) << (8 * b)
		}
		if width == 4 {
			v = uint64(int32(v))
		}
		dst = append(dst, int64(v))
	}
	return dst, nil
}

func (c *column) readNumbers(encoding int64, data []byte, n int) ([]int64, error) {
	dst := c.numbers[:0]
	switch encoding {
	case encodingPlain:
		return plainNumbers(dst, data, c.leaf.width(), n)
	case encodingDelta:
		dst, _, err := delta(dst, data, n)
		if err == nil && len(dst) != n {
			err = errEncoding
		}
		return dst, err
	case encodingDictionary, encodingPlainDictionary:
		if err := c.readIndexes(data, n, len(c.dictNumbers)); err != nil {
			return dst, err
		}
		for _, i := range c.indexes {
			dst = append(dst, c.dictNumbers[i])
		}
		return dst, nil
	case encodingSplit:
		return splitNumbers(dst, data, c.leaf.width(), n)
	}
	return dst, fmt.Errorf("not supported")
}

func (c *column) readPlaces(encoding int64, data []byte, n int) (places []where, err error) {
	places = c.places[:0]
	c.data, c.lent, c.scattered = data, nil, false
	if c.unpacked {
		c.lent = &c.raw
	}
	switch encoding {
	case encodingPlain:
		return plainBytes(places, data, n)
	case encodingDeltaLengths:
		places, c.numbers, c.data, err = deltaLengths(places, c.numbers, data, n)
		return places, err
	case encodingDeltaBytes:
		places, c.joined, err = deltaBytes(places, c.joined[:0], data, n, mostPage)
		c.data, c.lent = c.joined, &c.joined
		return places, err
	case encodingDictionary, encodingPlainDictionary:
		if err := c.readIndexes(data, n, len(c.dictPlaces)); err != nil {
			return places, err
		}
		c.data, c.lent, c.scattered = c.dictData, nil, true
		for _, i := range c.indexes {
			places = append(places, c.dictPlaces[i])
		}
		return places, nil
	}
	return places, fmt.Errorf("not supported")
}

// readIndexes reads n places in a dictionary of a size.
func (c *column) readIndexes(data []byte, n, size int) (err error) {
	c.indexes = c.indexes[:0]
	if n == 0 {
		return nil
	}
	if len(data) == 0 || data[0] > 32 {
		return errEncoding
	}
	if c.indexes, err = hybrid(c.indexes, data[1:], int(data[0]), n); err != nil {
		return err
	}
	for _, i := range c.indexes {
		if int64(i) >= int64(size) {
			return errEncoding
		}
	}
	return nil
}

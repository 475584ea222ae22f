package datafile

import (
	"encoding/binary"
	"errors"
)

var errEncoding = errors.New("malformed encoding")

// hybrid reads n numbers in Parquet's hybrid of runs and packed bits.
func hybrid[T byte | uint32](dst []T, src []byte, width, n int) ([]T, error) {
	if width == 0 {
		for range n {
			dst = append(dst, 0)
		}
		return dst, nil
	}
	for n > 0 {
		head, size := binary.Uvarint(src)
		if size <= 0 || head>>1 == 0 {
			return dst, errEncoding
		}
		src = src[size:]
		take := n
		if most := head >> 1; head&1 == 0 {
			if most < uint64(n) {
				take = int(most)
			}
			bytes := (width + 7) / 8
			if len(src) < bytes {
				return dst, errEncoding
			}
			var word [8]byte
			copy(word[:], src[:bytes])
			v := T(binary.LittleEndian.Uint64(word[:]))
			src = src[bytes:]
			for range take {
				dst = append(dst, v)
			}
		} else {
			if most <= uint64(n)/8 {
				take = int(most) * 8
			}
			if (take*width+7)/8 > len(src) {
				return dst, errEncoding
			}
			dst = unpackSmall(dst, src, width, take)
			if n == take {
				return dst, nil
			}
			src = src[take*width/8:]
		}
		n -= take
	}
	return dst, nil
}

// unpackSmall takes n numbers of up to 32 bits each.
func unpackSmall[T byte | uint32](dst []T, src []byte, width, n int) []T {
	mask, held, bits := uint64(1)<<width-1, uint64(0), 0
	for range n {
		for bits < width {
			held |= uint64(src[0]) << bits
			src = src[1:]
			bits += 8
		}
		dst = append(dst, T(held&mask))
		held >>= width
		bits -= width
	}
	return dst
}

// delta reads numbers in DELTA_BINARY_PACKED, at most so many, and returns what follows them.
func delta(dst []int64, src []byte, most int) (numbers []int64, rest []byte, err error) {
	t := thrift{b: src}
	block, minis, total, value := t.uvarint(), t.uvarint(), t.uvarint(), t.zigzag()
	if t.bad || total > uint64(most) || minis == 0 || block == 0 || block > 1<<20 || block%minis != 0 || block/minis%8 != 0 {
		return dst, nil, errEncoding
	}
	if total == 0 {
		return dst, t.b, nil
	}
	dst = append(dst, value)
	left, per := int(total)-1, int(block/minis)
	for left > 0 {
		least := t.zigzag()
		widths := t.take(minis)
		for _, width := range widths {
			n := min(left, per)
			need := (n*int(width) + 7) / 8
			if width > 64 || need > len(t.b) {
				return dst, nil, errEncoding
			}
			dst, value = undelta(dst, t.b, int(width), n, value, least)
			t.b = t.b[min(len(t.b), per*int(width)/8):]
			if left -= n; left == 0 {
				break
			}
		}
		if t.bad {
			return dst, nil, errEncoding
		}
	}
	return dst, t.b, nil
}

// undelta appends n numbers, each as much above the one before as its bits and the least step tell.
func undelta(dst []int64, src []byte, width, n int, value, least int64) ([]int64, int64) {
	if width == 0 {
		for range n {
			value += least
			dst = append(dst, value)
		}
		return dst, value
	}
	mask := ^uint64(0) >> (64 - width)
	var end [16]byte
	for i := range n {
		at, shift := i*width>>3, uint(i*width&7)
		word := src[at:]
		if len(word) < 9 {
			end = [16]byte{}
			copy(end[:], word)
			word = end[:]
		}
		v := binary.LittleEndian.Uint64(word) >> shift
		if int(shift)+width > 64 {
			v |= uint64(word[8]) << (64 - shift)
		}
		value += least + int64(v&mask)
		dst = append(dst, value)
	}
	return dst, value
}

// where is a value's place in the bytes that hold it.
type where struct{ from, to uint32 }

// plainBytes finds n values, each after its length.
func plainBytes(dst []where, src []byte, n int) ([]where, error) {
	at := 0
	for range n {
		if len(src)-at < 4 {
			return dst, errEncoding
		}
		size := int64(binary.LittleEndian.Uint32(src[at:]))
		at += 4
		if size > int64(len(src)-at) {
			return dst, errEncoding
		}
		dst = append(dst, where{uint32(at), uint32(at + int(size))})
		at += int(size)
	}
	return dst, nil
}

// deltaLengths finds n values whose lengths come first; data is what holds them.
func deltaLengths(dst []where, lengths []int64, src []byte, n int) (places []where, numbers []int64, data []byte, err error) {
	lengths, data, err = delta(lengths[:0], src, n)
	if err != nil || len(lengths) != n {
		return dst, lengths, nil, errEncoding
	}
	at := int64(0)
	for _, size := range lengths {
		if size < 0 || size > int64(len(data))-at {
			return dst, lengths, nil, errEncoding
		}
		dst = append(dst, where{uint32(at), uint32(at + size)})
		at += size
	}
	return dst, lengths, data, nil
}

// deltaBytes puts n values together that share prefixes with those before them, into at most so many bytes.
func deltaBytes(dst []where, out, src []byte, n, most int) ([]where, []byte, error) {
	prefixes, rest, err := delta(nil, src, n)
	if err != nil || len(prefixes) != n {
		return dst, out, errEncoding
	}
	suffixes, _, data, err := deltaLengths(nil, nil, rest, n)
	if err != nil {
		return dst, out, err
	}
	last := where{}
	for i, prefix := range prefixes {
		if prefix < 0 || prefix > int64(last.to-last.from) {
			return dst, out, errEncoding
		}
		suffix := data[suffixes[i].from:suffixes[i].to]
		if len(out)+int(prefix)+len(suffix) > most {
			return dst, out, errEncoding
		}
		from := len(out)
		out = append(append(out, out[last.from:int64(last.from)+prefix]...), suffix...)
		last = where{uint32(from), uint32(len(out))}
		dst = append(dst, last)
	}
	return dst, out, nil
}

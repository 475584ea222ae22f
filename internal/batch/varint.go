package batch

import "math/bits"

// The readers of varints take and return a position in b. Position -1 is a failure, and reading on from it fails again,
// so that a row of reads needs one check at its end.

// maxVarint32 and maxVarint64 are the most bytes that Kafka's own readers take.
const (
	maxVarint32 = 5
	maxVarint64 = 10
)

func unzigzag(u uint64) int64 { return int64(u>>1) ^ -int64(u&1) }
func zigzag(v int64) uint64   { return uint64(v<<1) ^ uint64(v>>63) }

func readVarint32(b []byte, at int) (v int, next int) {
	if uint(at) < uint(len(b)) && b[at] < 0x80 {
		return int(b[at]>>1) ^ -int(b[at]&1), at + 1
	}
	if u, ok := readTwoBytes(b, at); ok {
		return int(unzigzag(u)), at + 2
	}
	u, next := readUvarint(b, at, maxVarint32)
	if u > 1<<32-1 {
		return 0, -1
	}
	return int(unzigzag(u)), next
}

func readVarint64(b []byte, at int) (v int64, next int) {
	if uint(at) < uint(len(b)) && b[at] < 0x80 {
		return unzigzag(uint64(b[at])), at + 1
	}
	if u, ok := readTwoBytes(b, at); ok {
		return unzigzag(u), at + 2
	}
	u, next := readUvarint(b, at, maxVarint64)
	return unzigzag(u), next
}

// readTwoBytes reads a varint of exactly two bytes, as most lengths and deltas of a batch are.
func readTwoBytes(b []byte, at int) (u uint64, ok bool) {
	if at < 0 || at+1 >= len(b) || b[at] < 0x80 || b[at+1] >= 0x80 {
		return 0, false
	}
	return uint64(b[at]&0x7f) | uint64(b[at+1])<<7, true
}

func readUvarint(b []byte, at, maxBytes int) (u uint64, next int) {
	if at < 0 {
		return 0, -1
	}
	end := min(len(b), at+maxBytes)
	for shift := 0; at < end; shift += 7 {
		c := b[at]
		at++
		if shift == 63 && c > 1 {
			return 0, -1
		}
		u |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return u, at
		}
	}
	return 0, -1
}

func varintSize(v int64) int {
	return (bits.Len64(zigzag(v)|1) + 6) / 7
}

// putVarint writes v at b[at:], which must be long enough, and returns the position after it.
func putVarint(b []byte, at int, v int64) int {
	u := zigzag(v)
	for u >= 0x80 {
		b[at] = byte(u) | 0x80
		u >>= 7
		at++
	}
	b[at] = byte(u)
	return at + 1
}

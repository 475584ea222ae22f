package load

import (
	"encoding/binary"
	"math/rand/v2"
	"time"
)

// Content makes record values: a part of each is words, which compress well, the rest random bytes, which do not. Values
// alias one block and must not be changed. It is for one goroutine.
type Content struct {
	block []byte
	size  int
	at    int
}

var words = []string{"order", "customer", "shipped", "amount", "currency", "warehouse", "pending", "2026", "true", "null"}

// NewContent makes values of size bytes, compressible (0 to 1) of each being words.
func NewContent(size int, compressible float64, seed uint64) *Content {
	random := rand.New(rand.NewPCG(seed, seed))
	count := max(4<<20/max(size, 1), 1)
	c := &Content{block: make([]byte, 0, count*size), size: size}
	for range count {
		end := len(c.block) + size
		text := len(c.block) + int(float64(size)*compressible)
		for len(c.block) < text {
			c.block = append(append(c.block, words[random.IntN(len(words))]...), ' ')
		}
		c.block = c.block[:min(len(c.block), end)]
		for len(c.block) < end {
			c.block = append(c.block, byte(random.Uint32()))
		}
		if size > 0 && c.block[end-size] == 0 {
			c.block[end-size] = 1 // 0 marks a stamped value
		}
	}
	return c
}

// Next returns the next value.
func (c *Content) Next() []byte {
	if c.at+c.size > len(c.block) {
		c.at = 0
	}
	value := c.block[c.at : c.at+c.size : c.at+c.size]
	c.at += c.size
	return value
}

const stampSize = 8

// Stamped returns a copy of the next value that begins with the time. Values shorter than a stamp grow to it.
func (c *Content) Stamped(now time.Duration) []byte {
	value := make([]byte, max(c.size, stampSize))
	copy(value, c.Next())
	binary.BigEndian.PutUint64(value, uint64(now))
	return value
}

// stampOf returns the time that a value begins with. The first byte of a stamp is 0, as its time is well below 2^56 ns.
func stampOf(value []byte) (time.Duration, bool) {
	if len(value) < stampSize || value[0] != 0 {
		return 0, false
	}
	return time.Duration(binary.BigEndian.Uint64(value)), true
}

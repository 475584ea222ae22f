package worker

import (
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
)

// newest maps keys to the newest offset each was found at, in bounded memory. It keeps 128 bits of each key's SHA-256: no
// two keys that anybody can find share them.
type newest struct {
	slots []newestSlot
	free  int // keys that it still takes
}

type newestSlot struct {
	key   [2]uint64
	after int64 // the offset plus one; 0: the slot is free
}

// newestSlotBytes is the memory of one slot; a quarter of them stay free, so that finding one stays fast.
const newestSlotBytes = 24

// newNewest makes a map for so many keys, as far as the memory allows.
func newNewest(keys, memory int64) *newest {
	most := max(memory/newestSlotBytes, 4)
	slots := most
	if keys < most/4*3 {
		slots = keys/3*4 + 4
	}
	return &newest{slots: make([]newestSlot, slots), free: int(slots / 4 * 3)}
}

// slot finds the key's slot, or the free one it would take.
func (m *newest) slot(key []byte) (*newestSlot, [2]uint64) {
	sum := sha256.Sum256(key)
	k := [2]uint64{binary.LittleEndian.Uint64(sum[:]), binary.LittleEndian.Uint64(sum[8:])}
	at, _ := bits.Mul64(k[0], uint64(len(m.slots)))
	for m.slots[at].after != 0 && m.slots[at].key != k {
		if at++; at == uint64(len(m.slots)) {
			at = 0
		}
	}
	return &m.slots[at], k
}

// put notes a key at an offset above all before. It tells whether there was room.
func (m *newest) put(key []byte, offset int64) bool {
	s, k := m.slot(key)
	if s.after == 0 {
		if m.free == 0 {
			return false
		}
		m.free--
		s.key = k
	}
	s.after = offset + 1
	return true
}

// supersedes tells whether the key was found above an offset.
func (m *newest) supersedes(key []byte, offset int64) bool {
	s, _ := m.slot(key)
	return s.after > offset+1
}

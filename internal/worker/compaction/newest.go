package compaction

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/korvet-io/korvet/internal/redisstream"
)

// newest maps keys to the newest record each was found in, in bounded memory. It keeps 128 bits of each key's SHA-256: no
// two keys that anybody can find share them.
type newest struct {
	slots []newestSlot
	free  int            // keys that it still takes
	first redisstream.ID // of the first record put
}

// newestSlot is one key and the id of its newest record, relative to the first of all.
type newestSlot struct {
	key   [2]uint64
	after uint32 // sequences, plus one; 0: the slot is free
	later uint32 // ms; farMs: it does not fit
}

const farMs = math.MaxUint32

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

// put notes a key's record, whose id lies above all before. It returns the id of the one that it supersedes; zero where
// there is none, or it is not known any more. ok is false where there is no room.
func (m *newest) put(key []byte, id redisstream.ID) (superseded redisstream.ID, ok bool) {
	s, k := m.slot(key)
	switch {
	case s.after != 0 && s.later != farMs:
		superseded = redisstream.ID{Ms: m.first.Ms + uint64(s.later), Seq: m.first.Seq + uint64(s.after) - 1}
	case s.after != 0:
	case m.free == 0:
		return redisstream.ID{}, false
	default:
		if m.first == (redisstream.ID{}) {
			m.first = id
		}
		m.free--
		s.key = k
	}
	after := id.Seq - m.first.Seq + 1
	if after > math.MaxUint32 {
		return redisstream.ID{}, false
	}
	s.after, s.later = uint32(after), uint32(min(id.Ms-m.first.Ms, farMs))
	return superseded, true
}

// supersedes tells whether the key was found above an offset.
func (m *newest) supersedes(key []byte, offset int64) bool {
	s, _ := m.slot(key)
	return s.after != 0 && int64(m.first.Seq)+int64(s.after)-1 > offset
}

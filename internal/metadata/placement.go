package metadata

import (
	"encoding/binary"
	"hash/fnv"

	"github.com/google/uuid"
)

// Leader tells which of the live brokers a partition belongs to, by rendezvous hashing: when a broker comes or goes only
// the partitions that it gains or had move. All brokers with the same list agree. ok is false for an empty list.
func Leader(nodes []Node, topic uuid.UUID, partition int32) (id int32, ok bool) {
	var best uint64
	for i := range nodes {
		w := weight(nodes[i].ID, topic, partition)
		if !ok || w > best || w == best && nodes[i].ID < id {
			id, best, ok = nodes[i].ID, w, true
		}
	}
	return id, ok
}

// GroupCoordinator tells which of the live brokers coordinates a group, in the same way. ok is false for an empty list.
func GroupCoordinator(nodes []Node, name string) (id int32, ok bool) {
	var best uint64
	for i := range nodes {
		h := fnv.New64a()
		h.Write([]byte(name)) // a hash's Write returns no error
		h.Write(binary.BigEndian.AppendUint32(nil, uint32(nodes[i].ID)))
		w := mix(h.Sum64())
		if !ok || w > best || w == best && nodes[i].ID < id {
			id, best, ok = nodes[i].ID, w, true
		}
	}
	return id, ok
}

// Controller is the live broker that answers name as the controller. Any broker serves a controller's requests; one is
// named so that clients agree. ok is false for an empty list.
func Controller(nodes []Node) (id int32, ok bool) {
	for i := range nodes {
		if !ok || nodes[i].ID < id {
			id, ok = nodes[i].ID, true
		}
	}
	return id, ok
}

func weight(broker int32, topic uuid.UUID, partition int32) uint64 {
	var b [24]byte
	copy(b[:16], topic[:])
	binary.BigEndian.PutUint32(b[16:], uint32(partition))
	binary.BigEndian.PutUint32(b[20:], uint32(broker))
	h := fnv.New64a()
	h.Write(b[:]) // a hash's Write returns no error
	return mix(h.Sum64())
}

// mix spreads the last bytes' differences over all bits, which FNV alone does not (MurmurHash3's finalizer).
func mix(x uint64) uint64 {
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}

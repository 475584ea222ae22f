package metadata

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/google/uuid"
)

// newID makes a UUIDv7 of a time in ms, strictly above the ones given.
func newID(ms int64, random io.Reader, above ...uuid.UUID) (uuid.UUID, error) {
	for _, a := range above {
		if a != uuid.Nil && ms <= timeOf(a) {
			ms = timeOf(a) + 1
		}
	}
	var id uuid.UUID
	if _, err := io.ReadFull(random, id[6:]); err != nil {
		return id, fmt.Errorf("read random bits: %w", err)
	}
	var t [8]byte
	binary.BigEndian.PutUint64(t[:], uint64(ms))
	copy(id[:6], t[2:])
	id[6] = id[6]&0x0f | 0x70 // version 7
	id[8] = id[8]&0x3f | 0x80 // RFC 9562's variant
	return id, nil
}

// timeOf is a UUIDv7's time in ms.
func timeOf(id uuid.UUID) int64 { return int64(binary.BigEndian.Uint64(id[:8]) >> 16) }

// newClusterID makes an id of the form that Kafka's have: a random UUID in URL-safe base64, 22 characters, the first of
// which is no dash, so that command lines take it as a value.
func newClusterID(random io.Reader) (string, error) {
	for {
		id, err := uuid.NewRandomFromReader(random)
		if err != nil {
			return "", fmt.Errorf("make cluster id: %w", err)
		}
		if text := base64.RawURLEncoding.EncodeToString(id[:]); text[0] != '-' {
			return text, nil
		}
	}
}

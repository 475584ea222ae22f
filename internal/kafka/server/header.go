package server

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/twmb/franz-go/pkg/kmsg"
)

var errShortHeader = errors.New("request header is cut short")

// flexibleFrom tells, by API key, the first version whose request header has tagged fields (KIP-482).
type flexibleFrom []int16

// newFlexibleFrom asks kmsg, which is generated from Kafka's own message definitions.
func newFlexibleFrom() flexibleFrom {
	table := make(flexibleFrom, kmsg.MaxKey+1)
	for key := range table {
		table[key] = 1<<15 - 1
		req := kmsg.RequestForKey(int16(key))
		if req == nil {
			continue
		}
		for v := int16(0); v <= req.MaxVersion(); v++ {
			if req.SetVersion(v); req.IsFlexible() {
				table[key] = v
				break
			}
		}
	}
	return table
}

func (f flexibleFrom) flexible(key, version int16) bool {
	return key >= 0 && int(key) < len(f) && version >= f[key]
}

// header is a request header of version 1 or 2. Its client id aliases the frame.
type header struct {
	key           int16
	version       int16
	correlationID int32
	clientID      []byte // nil when null
}

// parseHeader reads a frame's request header and returns what follows it. Unknown tagged fields are skipped.
func parseHeader(frame []byte, flexible flexibleFrom) (header, []byte, error) {
	if len(frame) < 10 {
		return header{}, nil, errShortHeader
	}
	h := header{
		key:           int16(binary.BigEndian.Uint16(frame)),
		version:       int16(binary.BigEndian.Uint16(frame[2:])),
		correlationID: int32(binary.BigEndian.Uint32(frame[4:])),
	}
	idLen := int(int16(binary.BigEndian.Uint16(frame[8:])))
	rest := frame[10:]
	if idLen < -1 {
		return header{}, nil, fmt.Errorf("client id has length %d", idLen)
	}
	if idLen >= 0 {
		if idLen > len(rest) {
			return header{}, nil, errShortHeader
		}
		h.clientID, rest = rest[:idLen:idLen], rest[idLen:]
	}
	if !flexible.flexible(h.key, h.version) {
		return h, rest, nil
	}
	rest, err := skipTags(rest)
	if err != nil {
		return header{}, nil, err
	}
	return h, rest, nil
}

// skipTags skips a section of tagged fields.
func skipTags(b []byte) ([]byte, error) {
	count, n := Uvarint(b)
	if n == 0 {
		return nil, errShortHeader
	}
	b = b[n:]
	for ; count > 0; count-- {
		if _, n = Uvarint(b); n == 0 {
			return nil, errShortHeader
		}
		b = b[n:]
		size, n := Uvarint(b)
		if n == 0 || uint64(size) > uint64(len(b)-n) {
			return nil, errShortHeader
		}
		b = b[n+int(size):]
	}
	return b, nil
}

// Uvarint reads an unsigned varint of 32 bits and tells how many bytes it has, 0 where b does not begin with one. As in
// Kafka five bytes are the most, however many zeros a longer one ends in.
func Uvarint(b []byte) (v uint32, n int) {
	u, n := binary.Uvarint(b[:min(len(b), binary.MaxVarintLen32)])
	if n <= 0 || u > math.MaxUint32 {
		return 0, 0
	}
	return uint32(u), n
}

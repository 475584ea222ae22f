package batch

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/korvet-io/korvet/internal/record"
)

// Where the fields of a message of magic 0 or 1 are, after its offset and length, which are where a batch has them
// (https://kafka.apache.org/documentation/#messageset).
const (
	atMessageCRC        = 12
	atMessageMagic      = atMagic // the CRC covers all from here on
	atMessageAttributes = 17
	atMessageTimestamp  = 18 // magic 1 only

	// The size of a message without key and value, in bytes, as its length field counts it.
	messageOverheadV0 = 14
	messageOverheadV1 = 22

	noTimestamp = -1
)

// Convert validates a producer's message set (magic 0 and 1, Produce v0 to v2) and makes a batch of magic 2 of it, with
// the codec of the first compressed message in it. Offsets, absolute or relative, are ignored: the log gives new ones.
// Messages of magic 0 get the timestamp -1. A batch of magic 2 is taken as Parse takes it.
//
// Errors are those of Parse; the indexes in them count the messages, those inside of compressed ones too.
func Convert(raw []byte, lim Limits) (*Batch, error) {
	if len(raw) > atMagic && raw[atMagic] == magicV2 {
		return Parse(raw, lim)
	}
	c := converter{lim: lim.withDefaults()}
	c.out.Reset(make([]byte, 0, HeaderSize+len(raw)), BuildOptions{LeaderEpoch: -1})
	if len(raw) == 0 {
		return nil, refuse(ErrInvalidRecord, "no messages")
	}
	if err := c.convertSet(raw, outermost); err != nil {
		return nil, err
	}
	b, err := Parse(c.out.Finish(), lim)
	if err != nil {
		return nil, err
	}
	return Recompress(b, c.codec, DefaultLevel)
}

// message is one of magic 0 or 1.
type message struct {
	magic     int8
	codec     Codec
	timestamp int64
	key       []byte
	value     []byte
	size      int // of the whole message, in bytes
}

type converter struct {
	out   Builder
	lim   Limits
	codec Codec // of the first compressed message
	inner int   // bytes that were decompressed
}

// outermost stands for the magic of a compressed message where there is none around.
const outermost = -1

// convertSet puts the messages of a set. wrapper is the magic of the compressed message they came in.
func (c *converter) convertSet(set []byte, wrapper int8) error {
	for len(set) > 0 {
		m, err := c.readMessage(set)
		if err != nil {
			return err
		}
		set = set[m.size:]
		switch {
		case wrapper != outermost && m.codec != None:
			err = invalidRecord(c.index(), "a compressed message is inside of a compressed one")
		case wrapper != outermost && m.magic != wrapper:
			err = invalidRecord(c.index(), "its magic is not that of the compressed message it is in")
		case m.codec != None:
			err = c.unwrap(&m)
		default:
			err = c.put(&m)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *converter) index() int32 { return int32(c.out.Count()) }

func (c *converter) put(m *message) error {
	if c.out.Count() == c.lim.MaxRecords {
		return refuse(ErrTooLarge, "more than %d messages", c.lim.MaxRecords)
	}
	r := record.Record{Offset: int64(c.out.Count()), Timestamp: m.timestamp, Key: m.key, Value: m.value}
	if !c.out.Put(&r) {
		return refuse(ErrTooLarge, "the messages do not fit a batch")
	}
	return nil
}

// unwrap puts the messages inside of a compressed one.
func (c *converter) unwrap(m *message) error {
	if m.codec >= Zstd {
		return refuse(ErrUnsupportedCompression, "%v in a message of magic %d", m.codec, m.magic)
	}
	if c.codec == None {
		c.codec = m.codec
	}
	body := m.value
	if m.magic == 0 && m.codec == LZ4 {
		body = repairLZ4(body)
	}
	scratch := newBuffer()
	defer scratch.release()
	set, err := m.codec.decompress(scratch.b, body, c.lim.MaxDecompressed-c.inner)
	if err != nil {
		return err
	}
	scratch.b = set
	if len(set) == 0 {
		return invalidRecord(c.index(), "a compressed message has none inside")
	}
	c.inner += len(set)
	return c.convertSet(set, m.magic)
}

// readMessage validates and reads the message that set begins with.
func (c *converter) readMessage(set []byte) (message, error) {
	if len(set) <= atMessageAttributes {
		return message{}, invalidRecord(c.index(), "the message is cut off")
	}
	m := message{magic: int8(set[atMessageMagic]), timestamp: noTimestamp}
	body, overhead := atMessageTimestamp, messageOverheadV0
	if m.magic == 1 {
		body, overhead = atMessageTimestamp+8, messageOverheadV1
	}
	length := int(int32At(set, atLength))
	switch {
	case m.magic != 0 && m.magic != 1:
		return message{}, refuse(ErrCorrupt, "magic %d in a message set", m.magic)
	case length < overhead:
		return message{}, refuse(ErrCorrupt, "message length %d is less than a message", length)
	case length > len(set)-lengthOverhead:
		return message{}, invalidRecord(c.index(), "the message is cut off")
	}
	m.size = length + lengthOverhead
	set = set[:m.size]
	stored, computed := binary.BigEndian.Uint32(set[atMessageCRC:]), crc32.ChecksumIEEE(set[atMessageMagic:])
	if stored != computed {
		return message{}, refuse(ErrCorrupt, "CRC of message %d is %08x, computed %08x", c.index(), stored, computed)
	}
	if m.magic == 1 {
		m.timestamp = int64At(set, atMessageTimestamp)
	}
	m.codec = Codec(set[atMessageAttributes] & codecMask)
	var ok bool
	if m.key, m.value, ok = readKeyAndValue(set[body:]); !ok {
		return message{}, invalidRecord(c.index(), "key and value do not fit the message")
	}
	return m, nil
}

// readKeyAndValue reads the end of a message: two fields, each after its length; length -1 is null.
func readKeyAndValue(b []byte) (key, value []byte, ok bool) {
	if key, b, ok = cutField(b); !ok {
		return nil, nil, false
	}
	value, b, ok = cutField(b)
	return key, value, ok && len(b) == 0
}

func cutField(b []byte) (field, rest []byte, ok bool) {
	if len(b) < 4 {
		return nil, nil, false
	}
	size := int(int32At(b, 0))
	b = b[4:]
	switch {
	case size == -1:
		return nil, b, true
	case size < 0 || size > len(b):
		return nil, nil, false
	}
	return b[:size], b[size:], true
}

package coordinator

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/google/uuid"
)

// offsetField names the field of a partition's offset. Topic names have no colon.
func offsetField(p TopicPartition) string {
	return p.Topic + ":" + strconv.FormatInt(int64(p.Partition), 10)
}

// offsetValue is the text of that field: offset, leader epoch, commit time and expiry in ms, topic id and, unless it is
// empty, metadata, which may hold blanks.
func offsetValue(o *Offset) string {
	var fits [4*20 + 36 + 4]byte // all but metadata
	b := strconv.AppendInt(fits[:0], o.Offset, 10)
	b = append(b, ' ')
	b = strconv.AppendInt(b, int64(o.LeaderEpoch), 10)
	b = append(b, ' ')
	b = strconv.AppendInt(b, o.CommitMs, 10)
	b = append(b, ' ')
	b = strconv.AppendInt(b, o.ExpireMs, 10)
	b = append(b, ' ')
	b = appendID(b, o.TopicID)
	if o.Metadata != "" {
		b = append(b, ' ')
		b = append(b, o.Metadata...)
	}
	return string(b)
}

// appendID appends the text of an id, without the garbage of its String.
func appendID(b []byte, id uuid.UUID) []byte {
	for _, part := range [][]byte{id[:4], id[4:6], id[6:8], id[8:10]} {
		b = append(hex.AppendEncode(b, part), '-')
	}
	return hex.AppendEncode(b, id[10:])
}

// parseOffset reads a field that offsetField and offsetValue made.
func parseOffset(field, value string) (Offset, error) {
	o := Offset{}
	colon := strings.LastIndexByte(field, ':')
	if colon <= 0 {
		return o, fmt.Errorf("parse offset's field %q: no topic and partition", field)
	}
	partition, err := strconv.ParseInt(field[colon+1:], 10, 32)
	if err != nil || partition < 0 {
		return o, fmt.Errorf("parse offset's field %q: no partition", field)
	}
	o.Topic, o.Partition = field[:colon], int32(partition)

	words := strings.SplitN(value, " ", 6)
	if len(words) < 5 {
		return o, fmt.Errorf("parse offset %q of %s: fewer than 5 words", value, field)
	}
	for i, bits := range []int{64, 32, 64, 64} {
		n, err := strconv.ParseInt(words[i], 10, bits)
		if err != nil {
			return o, fmt.Errorf("parse offset %q of %s: %w", value, field, err)
		}
		switch i {
		case 0:
			o.Offset = n
		case 1:
			o.LeaderEpoch = int32(n)
		case 2:
			o.CommitMs = n
		case 3:
			o.ExpireMs = n
		}
	}
	if o.TopicID, err = uuid.Parse(words[4]); err != nil {
		return o, fmt.Errorf("parse offset %q of %s: topic id: %w", value, field, err)
	}
	if len(words) == 6 {
		o.Metadata = words[5]
	}
	return o, nil
}

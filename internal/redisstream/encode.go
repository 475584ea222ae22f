package redisstream

import (
	"strconv"

	"github.com/korvet-io/korvet/internal/record"
	"github.com/korvet-io/korvet/internal/redisstream/resp"
)

// noHeaders is an empty header section. A record without any field is stored as this: XADD needs at least one.
const noHeaders = "\x00"

// encoder writes appends to one stream as RESP. It allocates nothing per record.
type encoder struct {
	heads [5][]byte // XADD <stream> NOMKSTREAM with room for this many fields
	id    []byte    // text of the next id; the sequence is counted up in place
	msLen int
	stamp []byte // the timestamp field as last written
	ts    int64  // what stamp says
}

func newEncoder(stream string) encoder {
	var e encoder
	for fields := 1; fields < len(e.heads); fields++ {
		head := resp.AppendArray(nil, 4+2*fields)
		head = resp.AppendBulk(head, "XADD")
		head = resp.AppendBulk(head, stream)
		e.heads[fields] = resp.AppendBulk(head, "NOMKSTREAM")
	}
	return e
}

// begin sets the id of the first entry.
func (e *encoder) begin(ms uint64, offset int64) {
	e.id = strconv.AppendUint(e.id[:0], ms, 10)
	e.msLen = len(e.id) + 1
	e.id = append(e.id, '-')
	e.id = strconv.AppendUint(e.id, uint64(offset), 10)
}

// next counts the id's sequence up by one.
func (e *encoder) next() {
	for i := len(e.id) - 1; i >= e.msLen; i-- {
		if e.id[i] != '9' {
			e.id[i]++
			return
		}
		e.id[i] = '0'
	}
	e.id = append(e.id, '0')
	e.id[e.msLen] = '1'
}

// record appends one XADD. withTime is false on a topic that stamps the append time: the id has it.
func (e *encoder) record(dst []byte, r *record.Record, withTime bool) []byte {
	fields := 0
	if r.Value != nil {
		fields++
	}
	if r.Key != nil {
		fields++
	}
	if r.Headers != nil {
		fields++
	}
	if withTime {
		fields++
	}
	if fields == 0 {
		dst = append(dst, e.heads[1]...)
		dst = resp.AppendBulk(dst, e.id)
		dst = append(dst, "$7\r\nheaders\r\n"...)
		dst = resp.AppendBulk(dst, noHeaders)
		e.next()
		return dst
	}
	dst = append(dst, e.heads[fields]...)
	dst = appendField(dst, e.id)
	if r.Value != nil {
		dst = append(dst, "$5\r\nvalue\r\n"...)
		dst = appendField(dst, r.Value)
	}
	if r.Key != nil {
		dst = append(dst, "$3\r\nkey\r\n"...)
		dst = appendField(dst, r.Key)
	}
	if r.Headers != nil {
		dst = append(dst, "$7\r\nheaders\r\n"...)
		dst = appendField(dst, r.Headers)
	}
	if withTime {
		dst = e.timestamp(dst, r.Timestamp)
	}
	e.next()
	return dst
}

// timestamp appends the timestamp field. Neighbours mostly share it, so its text is kept.
func (e *encoder) timestamp(dst []byte, ts int64) []byte {
	if ts != e.ts || len(e.stamp) == 0 {
		var digits [20]byte
		e.stamp = append(e.stamp[:0], "$9\r\ntimestamp\r\n"...)
		e.stamp = appendField(e.stamp, strconv.AppendInt(digits[:0], ts, 10))
		e.ts = ts
	}
	return append(dst, e.stamp...)
}

// appendField is resp.AppendBulk with the common lengths written by hand.
func appendField(dst, b []byte) []byte {
	n := len(b)
	switch {
	case n < 10:
		dst = append(dst, '$', byte('0'+n), '\r', '\n')
	case n < 100:
		dst = append(dst, '$', byte('0'+n/10), byte('0'+n%10), '\r', '\n')
	case n < 1000:
		dst = append(dst, '$', byte('0'+n/100), byte('0'+n/10%10), byte('0'+n%10), '\r', '\n')
	default:
		dst = append(dst, '$')
		dst = strconv.AppendUint(dst, uint64(n), 10)
		dst = append(dst, '\r', '\n')
	}
	dst = append(dst, b...)
	return append(dst, '\r', '\n')
}

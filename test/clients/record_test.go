package clients_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
)

// noTimestamp in a record to be produced lets the client choose; in a record that was read the client did not tell, or the record has none.
const noTimestamp = -1

// anyTimestamp in a wanted record fits every timestamp.
const anyTimestamp = -2

// record is what goes in and comes back. Nil bytes are null, which is not the same as empty.
type record struct {
	partition int32
	offset    int64
	timestamp int64 // ms
	// kind says where the timestamp comes from: createTime, appendTime, or notTold when the client cannot say.
	kind    string
	key     []byte
	value   []byte
	headers []header
	// traits are what makes the record hard for some clients; empty for a record that was read.
	traits trait
}

type header struct {
	name  string
	value []byte
}

const (
	createTime = "C"
	appendTime = "L"
	notTold    = "-"
)

// line is the record as the programs in python, node and java read and write it: seven fields between tabs, bytes in base64, null as "-",
// headers as name:value between commas.
func (r record) line() string {
	headers := make([]string, len(r.headers))
	for i, h := range r.headers {
		headers[i] = encode([]byte(h.name)) + ":" + encode(h.value)
	}
	return fmt.Sprintf("%d\t%d\t%d\t%s\t%s\t%s\t%s", r.partition, r.offset, r.timestamp, r.kind, encode(r.key), encode(r.value), strings.Join(headers, ","))
}

func parseRecord(line string) (record, error) {
	f := strings.Split(line, "\t")
	if len(f) != 7 {
		return record{}, fmt.Errorf("parse record: %d fields, not 7", len(f))
	}
	p := fieldParser{}
	r := record{partition: int32(p.number(f[0])), offset: p.number(f[1]), timestamp: p.number(f[2]), kind: f[3], key: p.bytes(f[4]), value: p.bytes(f[5])}
	if f[6] != "" {
		for h := range strings.SplitSeq(f[6], ",") {
			name, value, _ := strings.Cut(h, ":")
			r.headers = append(r.headers, header{name: string(p.bytes(name)), value: p.bytes(value)})
		}
	}
	return r, p.err
}

// fieldParser keeps the first error of several fields.
type fieldParser struct{ err error }

func (p *fieldParser) number(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	p.keep(err)
	return n
}

func (p *fieldParser) bytes(s string) []byte {
	if s == "-" {
		return nil
	}
	b, err := base64.StdEncoding.DecodeString(s)
	p.keep(err)
	return b // not nil when empty
}

func (p *fieldParser) keep(err error) {
	if p.err == nil && err != nil {
		p.err = fmt.Errorf("parse record: %w", err)
	}
}

func encode(b []byte) string {
	if b == nil {
		return "-"
	}
	return base64.StdEncoding.EncodeToString(b)
}

// difference tells in words how got differs from want, or is empty. A kind of notTold fits every kind, and so does a record without timestamp.
func difference(want, got record) string {
	switch {
	case want.partition != got.partition:
		return fmt.Sprintf("partition %d, want %d", got.partition, want.partition)
	case want.offset != got.offset:
		return fmt.Sprintf("offset %d, want %d", got.offset, want.offset)
	case !same(want.key, got.key):
		return fmt.Sprintf("key %s, want %s", show(got.key), show(want.key))
	case !same(want.value, got.value):
		return fmt.Sprintf("value %s, want %s", show(got.value), show(want.value))
	case want.timestamp != anyTimestamp && want.timestamp != got.timestamp:
		return fmt.Sprintf("timestamp %d, want %d", got.timestamp, want.timestamp)
	case got.kind != notTold && want.timestamp != noTimestamp && want.kind != got.kind:
		return fmt.Sprintf("timestamp type %s, want %s", got.kind, want.kind)
	}
	return headerDifference(want.headers, got.headers)
}

func headerDifference(want, got []header) string {
	if len(want) != len(got) {
		return fmt.Sprintf("%d headers, want %d", len(got), len(want))
	}
	for i := range want {
		if want[i].name != got[i].name || !same(want[i].value, got[i].value) {
			return fmt.Sprintf("header %d is %q=%s, want %q=%s", i, got[i].name, show(got[i].value), want[i].name, show(want[i].value))
		}
	}
	return ""
}

func same(a, b []byte) bool { return bytes.Equal(a, b) && (a == nil) == (b == nil) }

func show(b []byte) string {
	if b == nil {
		return "null"
	}
	if len(b) > 60 {
		return fmt.Sprintf("%q... (%d bytes)", b[:60], len(b))
	}
	return fmt.Sprintf("%q", b)
}

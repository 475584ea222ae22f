package redisstream

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"strconv"

	"github.com/korvet-io/korvet/internal/record"
	"github.com/korvet-io/korvet/internal/redisstream/resp"
)

// Entry is one stream entry. Its slices are valid while the sink that got it runs.
type Entry struct {
	ID     ID
	Record record.Record
	// AppendTime is set where the entry has no timestamp of its own: the record's is that of its append.
	AppendTime bool
	// Foreign is set where no field is korvet's: a stranger wrote it.
	Foreign bool
	Size    int // bytes of the entry in Redis's answer
}

// EntrySink takes entries in id order and reports whether it wants more.
type EntrySink interface{ PutEntry(e *Entry) bool }

// Page is what one XRANGE gave.
type Page struct {
	Entries int // entries in the answer, also those that the sink did not want
	Bytes   int
}

const (
	// PageBytes is how large an answer of Redis is to be where a whole stream is walked: longer ones delay everybody's writes.
	PageBytes = 256 << 10
	// FewEntries is how many entries are asked for while nobody knows how large they are.
	FewEntries = 8
)

// Next is how many entries to ask for after a page of which count were asked for, so that the answer has about PageBytes: larger
// entries count at once, smaller ones little by little.
func (p Page) Next(count int) int {
	if p.Entries == 0 || p.Bytes == 0 {
		return count
	}
	return max(1, min(2*count, PageBytes*p.Entries/p.Bytes))
}

// Range reads up to count entries of a stream after the id from (exclusive), or from it on (inclusive), into sink.
func (s *Shard) Range(ctx context.Context, stream string, from ID, inclusive bool, count int, sink EntrySink) (Page, error) {
	start := from.String()
	if !inclusive {
		start = "(" + start
	}
	var page Page
	command := resp.AppendCommand(nil, "XRANGE", stream, start, "+", "COUNT", strconv.Itoa(count))
	err := s.reads.do(ctx, command, func(r *resp.Reader) error {
		var err error
		page, err = readEntries(r, sink)
		return err
	})
	if err != nil {
		return page, fmt.Errorf("read stream: %w", err)
	}
	return page, nil
}

// readEntries parses XRANGE's answer in place.
func readEntries(r *resp.Reader, sink EntrySink) (Page, error) {
	line, err := r.Line()
	if err != nil {
		return Page{}, err
	}
	if len(line) > 0 && line[0] == '-' {
		return Page{}, resp.Error(line[1:])
	}
	n, ok := resp.ParseInt(line[min(1, len(line)):])
	if !ok || line[0] != '*' {
		return Page{}, fmt.Errorf("%w: XRANGE answered %q", resp.ErrProtocol, line)
	}
	r.Discard(0)
	var page Page
	var e Entry
	wanted := true
	for range n {
		size, err := nextEntry(r, &e)
		if err != nil {
			return page, err
		}
		page.Entries++
		page.Bytes += size
		wanted = wanted && sink.PutEntry(&e)
		r.Discard(size)
	}
	return page, nil
}

// nextEntry parses the entry at the head of the buffer, reading until it is there whole. It is not discarded.
func nextEntry(r *resp.Reader, e *Entry) (int, error) {
	for {
		p := entryParser{b: r.Buffered()}
		p.entry(e)
		if p.bad != "" {
			return 0, fmt.Errorf("%w: stream entry: %s", resp.ErrProtocol, p.bad)
		}
		if p.need == 0 {
			e.Size = p.i
			return p.i, nil
		}
		if err := r.More(p.need); err != nil {
			return 0, err
		}
	}
}

// entryParser parses one entry of XRANGE's answer from a buffer that may end too early: need then tells the least length
// the buffer must have.
type entryParser struct {
	b    []byte
	i    int
	need int
	bad  string
}

func (p *entryParser) entry(e *Entry) {
	if p.size('*') != 2 {
		p.fail("not an id with fields")
		return
	}
	id := p.bulk()
	fields := p.size('*')
	if p.stopped() {
		return
	}
	var ok bool
	if e.ID, ok = parseIDBytes(id); !ok {
		p.fail("a bad id")
		return
	}
	e.Record = record.Record{Offset: int64(e.ID.Seq), Timestamp: int64(e.ID.Ms)}
	e.AppendTime, e.Foreign = true, true
	for k := 0; k+1 < fields && !p.stopped(); k += 2 {
		p.field(e)
	}
}

// field takes one field; one that korvet does not know is a stranger's and passed over.
func (p *entryParser) field(e *Entry) {
	name, value := p.bulk(), p.bulk()
	if p.stopped() {
		return
	}
	switch string(name) {
	case "value":
		e.Record.Value, e.Foreign = value, false
	case "key":
		e.Record.Key, e.Foreign = value, false
	case "headers":
		e.Foreign = false
		if len(value) > 0 && (len(value) > 1 || value[0] != 0) {
			e.Record.Headers = value
		}
	case "timestamp":
		e.Foreign = false
		if ts, ok := resp.ParseInt(value); ok {
			e.Record.Timestamp = ts
			e.AppendTime = false
		}
	}
}

func (p *entryParser) stopped() bool { return p.need > 0 || p.bad != "" }

func (p *entryParser) fail(why string) {
	if !p.stopped() {
		p.bad = why
	}
}

// size parses a head such as "*2\r\n" or "$100\r\n".
func (p *entryParser) size(kind byte) int {
	if p.stopped() {
		return 0
	}
	b, i := p.b, p.i
	if i >= len(b) {
		p.need = len(b) + 1
		return 0
	}
	if b[i] != kind {
		p.fail("an unexpected type")
		return 0
	}
	n := 0
	for i++; i < len(b); i++ {
		c := b[i]
		switch {
		case c >= '0' && c <= '9' && n < 1<<30:
			n = n*10 + int(c-'0')
		case c == '\r':
			if i+1 >= len(b) {
				p.need = len(b) + 1
				return 0
			}
			p.i = i + 2
			return n
		default:
			p.fail("a bad length")
			return 0
		}
	}
	p.need = len(b) + 1
	return 0
}

func (p *entryParser) bulk() []byte {
	n := p.size('$')
	if p.stopped() {
		return nil
	}
	end := p.i + n
	if end+2 > len(p.b) {
		p.need = end + 2
		return nil
	}
	s := p.b[p.i:end:end]
	if p.b[end] != '\r' {
		p.fail("a string without CRLF")
		return nil
	}
	p.i = end + 2
	return s
}

// parseIDBytes parses "ms-seq", both of 64 bits.
func parseIDBytes(b []byte) (ID, bool) {
	ms, seq, dashed := bytes.Cut(b, []byte{'-'})
	m, ok := parseUint(ms)
	n, also := parseUint(seq)
	return ID{m, n}, dashed && ok && also
}

// safeDigits is how many digits never exceed 64 bits.
const safeDigits = 19

// parseUint parses digits, and nothing but digits.
func parseUint(b []byte) (n uint64, ok bool) {
	for i, c := range b {
		digit := uint64(c - '0')
		if digit > 9 || i >= safeDigits && (n > math.MaxUint64/10 || n*10 > math.MaxUint64-digit) {
			return 0, false
		}
		n = n*10 + digit
	}
	return n, len(b) > 0
}

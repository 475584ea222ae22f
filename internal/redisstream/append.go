package redisstream

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/korvet-io/korvet/internal/record"
	"github.com/korvet-io/korvet/internal/redisstream/resp"
)

// ErrUnknownOutcome means that nobody knows what Redis made of an append. Only a fence tells.
var ErrUnknownOutcome = errors.New("append outcome unknown")

// ErrNotSent means that a request was not written to its end: Redis has not executed its last command. Nothing is applied of
// an append, whose last command is EXEC.
var ErrNotSent = errors.New("not sent to redis")

// RefusedError means that Redis refused an operation and applied nothing of it. Code is Redis's error code: OOM, MISCONF,
// READONLY, LOADING, NOREPLICAS or another.
type RefusedError struct{ Code, Message string }

func (e *RefusedError) Error() string { return "redis refused: " + e.Message }

// Source is one batch of an append: Count records in offset order. The cursor is walked once for each encoding.
type Source struct {
	Records record.Cursor
	Count   int
	// WithTime stores each record's timestamp. It is false on a topic that stamps the append time.
	WithTime bool
}

// Field is one field of the state hash, written beside the records.
type Field struct{ Name, Value string }

// Append is one group commit: all its records are in the log afterwards, or none.
type Append struct {
	Token   string // of the fence that this append relies on
	Ms      uint64 // append time of every entry
	Base    int64  // offset of the first record
	Expiry  uint64 // the lease that this append claims: believe it only when it succeeded
	Sources []Source
	Fields  []Field
	// Dictionaries are zstd dictionaries that the values need and that may not be in Redis yet: they come with the records or
	// before them, never after.
	Dictionaries []Dictionary
}

// Dictionary is a zstd dictionary as the partition keeps it.
type Dictionary struct {
	ID   uint32
	Blob []byte
	From int64 // offset from which on the log may use it, until it uses another one
}

// Count is the number of records.
func (a *Append) Count() int {
	n := 0
	for i := range a.Sources {
		n += a.Sources[i].Count
	}
	return n
}

// First and Last are the ids of the first and the last record.
func (a *Append) First() ID { return ID{a.Ms, uint64(a.Base)} }

// Last is the id of the last record.
func (a *Append) Last() ID { return ID{a.Ms, uint64(a.Base) + uint64(a.Count()) - 1} }

// Appender writes to one partition's stream. It is not safe for concurrent use, and has at most one append in flight.
type Appender struct {
	keys Keys
	enc  encoder
	buf  []byte
}

// NewAppender returns an appender for the partition of keys.
func NewAppender(keys Keys) *Appender {
	return &Appender{keys: keys, enc: newEncoder(keys.Stream)}
}

// An append is encoded and written in pieces, so that Redis reads while the rest is being encoded and the buffer stays small.
const (
	pieceBytes       = 128 << 10
	keepAppendBuffer = 1 << 20 // a larger buffer, for a larger record, is not kept
)

// errShort is a source with fewer records than it said. It cannot be with a validated batch.
var errShort = errors.New("append source ended early")

// Send sends a as one MULTI on c. done is called exactly once: nil, a *RefusedError or ErrNotSent (nothing was applied), or
// ErrUnknownOutcome.
func (p *Appender) Send(c Conn, a *Append, done func(error)) {
	c.Send(func(w io.Writer) error { return p.encode(w, a) }, &appendReply{records: a.Count(), others: 1 + len(a.Dictionaries), done: done})
}

func (p *Appender) encode(w io.Writer, a *Append) error {
	dst := append(p.buf[:0], "*1\r\n$5\r\nMULTI\r\n"...)
	for i := range a.Dictionaries {
		dst = p.dictionary(dst, &a.Dictionaries[i])
	}
	p.enc.begin(a.Ms, a.Base)
	var r record.Record
	for i := range a.Sources {
		s := &a.Sources[i]
		for range s.Count {
			if !s.Records.Next(&r) {
				return errShort
			}
			dst = p.enc.record(dst, &r, s.WithTime)
			if len(dst) >= pieceBytes {
				if _, err := w.Write(dst); err != nil {
					return err
				}
				dst = dst[:0]
			}
		}
	}
	dst = p.state(dst, a)
	_, err := w.Write(append(dst, "*1\r\n$4\r\nEXEC\r\n"...))
	if p.buf = dst; cap(dst) > keepAppendBuffer {
		p.buf = nil
	}
	return err
}

// dictionary appends the HSET of one dictionary. Late, it writes what is there: an id is of one blob for a topic's life.
func (p *Appender) dictionary(dst []byte, d *Dictionary) []byte {
	id := strconv.FormatUint(uint64(d.ID), 10)
	dst = resp.AppendArray(dst, 4)
	dst = resp.AppendBulk(dst, "HSET")
	dst = resp.AppendBulk(dst, p.keys.Dictionaries)
	dst = resp.AppendBulk(dst, id)
	return resp.AppendBulk(dst, d.Blob)
}

// usedField begins the names of the state's fields that tell from which offset on a dictionary was used last. They are not
// beside the dictionaries, where a late append of an earlier token could set them back.
const usedField = "d:"

// state appends the HSET of the fields that go with the records.
func (p *Appender) state(dst []byte, a *Append) []byte {
	dst = resp.AppendArray(dst, 6+2*len(a.Fields)+2*len(a.Dictionaries))
	dst = resp.AppendBulk(dst, "HSET")
	dst = resp.AppendBulk(dst, p.keys.State(a.Token))
	dst = resp.AppendBulk(dst, "exp")
	dst = resp.AppendBulk(dst, strconv.FormatUint(a.Expiry, 10))
	dst = resp.AppendBulk(dst, "last")
	dst = resp.AppendBulk(dst, a.Last().String())
	for _, f := range a.Fields {
		dst = resp.AppendBulk(dst, f.Name)
		dst = resp.AppendBulk(dst, f.Value)
	}
	for i := range a.Dictionaries {
		d := &a.Dictionaries[i]
		dst = resp.AppendBulk(dst, usedField+strconv.FormatUint(uint64(d.ID), 10))
		dst = resp.AppendBulk(dst, strconv.FormatInt(d.From, 10))
	}
	return dst
}

// appendReply parses +OK, +QUEUED for each command, and EXEC's answer.
type appendReply struct {
	records int
	others  int // commands beside the records'
	done    func(error)
}

func (a *appendReply) Lost(err error) {
	if !errors.Is(err, ErrNotSent) {
		err = fmt.Errorf("%w: %w", ErrUnknownOutcome, err)
	}
	a.done(err)
}

func (a *appendReply) Read(r *resp.Reader) error {
	outcome, err := a.read(r)
	if err != nil {
		return err
	}
	a.done(outcome)
	return nil
}

var queued = []byte("+QUEUED\r\n")

func (a *appendReply) read(r *resp.Reader) (outcome, err error) {
	multi, err := r.Line()
	if err != nil {
		return nil, err
	}
	multiErr := ""
	if string(multi) != "+OK" {
		multiErr = string(multi)
	}
	refusal := ""
	for range a.records + a.others {
		if bytes.HasPrefix(r.Buffered(), queued) {
			r.Discard(len(queued))
			continue
		}
		line, err := r.Line()
		if err != nil {
			return nil, err
		}
		if string(line) != "+QUEUED" && refusal == "" {
			refusal = string(line)
		}
	}
	return a.exec(r, multiErr, refusal)
}

func (a *appendReply) exec(r *resp.Reader, multiErr, refusal string) (outcome, err error) {
	line, err := r.Line()
	if err != nil {
		return nil, err
	}
	switch {
	case multiErr != "": // without MULTI the commands ran one by one: how many lines they answered is not followed
		return nil, fmt.Errorf("%w: MULTI answered %q", resp.ErrProtocol, multiErr)
	case bytes.HasPrefix(line, []byte("-EXECABORT")):
		return refused(string(line[1:]), refusal), nil
	case len(line) == 0 || line[0] != '*':
		return fmt.Errorf("%w: EXEC answered %q", ErrUnknownOutcome, line), nil
	}
	n, ok := resp.ParseInt(line[1:])
	if !ok || n > int64(a.records+a.others) {
		return nil, fmt.Errorf("%w: EXEC answered %q", resp.ErrProtocol, line)
	}
	ids := 0
	for i := range n {
		kind, err := skipResult(r)
		if err != nil {
			return nil, err
		}
		switch kind {
		case '$':
			ids++
		case '-':
			return a.drain(r, n-1-i)
		}
	}
	if ids != a.records || n != int64(a.records+a.others) {
		return fmt.Errorf("%w: %d of %d records have an id", ErrUnknownOutcome, ids, a.records), nil
	}
	return nil, nil
}

// drain takes the rest of EXEC's answers off the reader after one was an error.
func (a *appendReply) drain(r *resp.Reader, left int64) (outcome, err error) {
	for range left {
		if _, err := skipResult(r); err != nil {
			return nil, err
		}
	}
	return fmt.Errorf("%w: a command of EXEC failed", ErrUnknownOutcome), nil
}

// skipResult takes one of EXEC's answers off the reader and tells its kind: '$' for an entry's id, 0 for null.
func skipResult(r *resp.Reader) (byte, error) {
	b := r.Buffered()
	if len(b) >= 5 && b[0] == '$' && isDigit(b[1]) && isDigit(b[2]) && b[3] == '\r' && b[4] == '\n' { // the usual id has 10 to 99 characters
		n := int(b[1]-'0')*10 + int(b[2]-'0')
		if end := 5 + n + 2; len(b) >= end && b[end-2] == '\r' && b[end-1] == '\n' {
			r.Discard(end)
			return '$', nil
		}
	}
	v, err := r.Value()
	if v.Null {
		return 0, err
	}
	return v.Kind, err
}

func isDigit(c byte) bool { return c-'0' <= 9 }

// refused makes the error of an EXECABORT, whose cause is in the first refused command or in its own text.
func refused(abort, refusal string) error {
	message := strings.TrimPrefix(refusal, "-")
	if message == "" {
		_, message, _ = strings.Cut(abort, "because of: ")
	}
	if message == "" {
		message = abort
	}
	return &RefusedError{resp.Error(message).Code(), message}
}

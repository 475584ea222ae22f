package inspect

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/korvet-io/korvet/internal/compress"
	"github.com/korvet-io/korvet/internal/iceberg/datafile"
	"github.com/korvet-io/korvet/internal/record"
	"github.com/korvet-io/korvet/internal/redisstream"
)

// logReader reads what Redis has of a partition below the table's end, in the order of offsets, a page at a time.
type logReader struct {
	shard   *redisstream.Shard
	keys    redisstream.Keys
	codec   compress.Codec
	limit   int
	from    int64 // the first offset that is wanted
	end     int64 // and the one after the last
	streams []string
	started bool
	count   int            // entries of the next page
	last    redisstream.ID // of the newest entry that was read of the first of streams

	page         []logRecord
	dictionaries map[uint32]*compress.Dictionary
}

// logRecord is a record as Redis has it, its value as it is stored.
type logRecord struct {
	record.Record
	appendMs uint64
}

const (
	// firstPage and mostEntries are how many entries Redis is asked for at once, and pageBytes how many bytes they should have:
	// longer answers hold up writers.
	firstPage   = 16
	mostEntries = 500
	pageBytes   = 256 << 10
	// mostDictionaries are kept; a partition seldom has more than two.
	mostDictionaries = 16
)

// openLog makes the reader of what Redis has of a partition that is in the table, too; nil where there is nothing.
func (s *Source) openLog(t *Table, p *Part) *logReader {
	l := p.Log
	if s.Messages == nil || l == nil || t.topic == nil || l.LocalStart >= p.End {
		return nil
	}
	codec, err := compress.Parse(t.topic.Configs[codecSetting])
	if err != nil { // it has none of its own: the server's, which need not be known here
		codec = compress.None
	}
	return &logReader{
		shard: s.Messages, keys: redisstream.NewKeys(s.Namespace, t.Topic, p.Partition), codec: codec, limit: s.MaxValueBytes,
		from: l.LocalStart, end: p.End, count: firstPage, dictionaries: map[uint32]*compress.Dictionary{},
	}
}

// codecSetting is stored as the topic's own when it is created.
const codecSetting = "storage.compression.type"

// skip passes over the records below an offset and tells whether there was one.
func (l *logReader) skip(ctx context.Context, to int64) (some bool, err error) {
	for {
		head, err := l.head(ctx)
		if err != nil || head == nil || head.Offset >= to {
			return some, err
		}
		some = true
		l.page = l.page[1:]
	}
}

// compare tells what of a row is not as in Redis, if Redis has its record.
func (l *logReader) compare(ctx context.Context, row *datafile.Row) (what string, compared bool, err error) {
	head, err := l.head(ctx)
	if err != nil || head == nil || head.Offset != row.Offset {
		return "", false, err
	}
	l.page = l.page[1:]
	value, err := l.value(ctx, head)
	if err != nil {
		return "", false, err
	}
	switch {
	case datafile.Millis(datafile.Micros(head.Timestamp)) != row.Timestamp:
		what = "timestamp"
	case datafile.Millis(datafile.Micros(int64(head.appendMs))) != row.AppendMs:
		what = "append time"
	case !same(head.Key, row.Key):
		what = "key"
	case !same(value, row.Value):
		what = "value"
	case !datafile.SameHeaders(head.Headers, row.Headers):
		what = "headers"
	}
	return what, true, nil
}

// same compares what may be null.
func same(a, b []byte) bool { return bytes.Equal(a, b) && (a == nil) == (b == nil) }

// value is a record's value as it was produced. One that does not decode is nobody's: it is like no other.
func (l *logReader) value(ctx context.Context, r *logRecord) ([]byte, error) {
	if l.codec == compress.None || len(r.Value) == 0 {
		return r.Value, nil
	}
	value, err := l.codec.Decode(nil, r.Value, l.limit, nil)
	if unknown, ok := errors.AsType[*compress.UnknownDictionaryError](err); ok {
		var d *compress.Dictionary
		if d, err = l.dictionary(ctx, unknown.ID); err != nil {
			return nil, err
		}
		value, err = l.codec.Decode(nil, r.Value, l.limit, d)
	}
	if err != nil {
		return nil, nil
	}
	if value == nil { // empty, not null
		value = []byte{}
	}
	return value, nil
}

func (l *logReader) dictionary(ctx context.Context, id uint32) (*compress.Dictionary, error) {
	if d := l.dictionaries[id]; d != nil {
		return d, nil
	}
	blob, err := l.shard.PartitionDictionary(ctx, l.keys, id)
	if err != nil || blob == nil {
		return nil, err
	}
	d, err := compress.NewDictionary(blob)
	if err != nil {
		return nil, fmt.Errorf("read zstd dictionary %d: %w", id, err)
	}
	if len(l.dictionaries) == mostDictionaries {
		clear(l.dictionaries)
	}
	l.dictionaries[id] = d
	return d, nil
}

// head is the next record; nil after the last.
func (l *logReader) head(ctx context.Context) (*logRecord, error) {
	for len(l.page) == 0 {
		more, err := l.read(ctx)
		if err != nil || !more {
			return nil, err
		}
	}
	if l.page[0].Offset >= l.end {
		return nil, nil
	}
	return &l.page[0], nil
}

// read takes the next page of the stream that is due, or goes on with the next stream. more is false after the last.
func (l *logReader) read(ctx context.Context) (more bool, err error) {
	if !l.started {
		view, err := l.shard.Look(ctx, l.keys)
		if err != nil {
			return false, err
		}
		l.started = true
		l.from = max(l.from, view.LocalStart)
		for _, seg := range view.From(l.from) {
			l.streams = append(l.streams, l.keys.Segment(seg.Number))
		}
		l.streams = append(l.streams, l.keys.Stream)
	}
	if len(l.streams) == 0 || l.from >= l.end {
		return false, nil
	}
	stream, from, inclusive := l.streams[0], l.last, false
	if from == (redisstream.ID{}) {
		id, found, err := l.shard.Seek(ctx, stream, l.from)
		if err != nil {
			return false, err
		}
		if !found { // dropped, or nothing of it is wanted
			l.streams = l.streams[1:]
			return len(l.streams) > 0, nil
		}
		from, inclusive = id, true
	}
	page, err := l.shard.Range(ctx, stream, from, inclusive, l.count, l)
	if err != nil {
		return false, err
	}
	if page.Bytes > 0 {
		l.count = min(max(pageBytes*page.Entries/page.Bytes, 1), mostEntries)
	}
	if page.Entries == 0 {
		l.streams, l.last = l.streams[1:], redisstream.ID{}
	}
	return len(l.streams) > 0, nil
}

// PutEntry takes one entry of a page: what is in it is the connection's.
func (l *logReader) PutEntry(e *redisstream.Entry) bool {
	l.last = e.ID
	if e.Foreign || e.Record.Offset < l.from {
		return true
	}
	r := logRecord{Record: e.Record, appendMs: e.ID.Ms}
	r.Key, r.Value, r.Headers = slices.Clone(r.Key), slices.Clone(r.Value), slices.Clone(r.Headers)
	l.page = append(l.page, r)
	l.from = r.Offset + 1
	return true
}

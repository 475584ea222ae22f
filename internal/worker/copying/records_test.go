package copying_test

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/korvet-io/korvet/internal/compress"
	"github.com/korvet-io/korvet/internal/dictionary"
	"github.com/korvet-io/korvet/internal/iceberg/datafile"
	"github.com/korvet-io/korvet/internal/record"
	"github.com/korvet-io/korvet/internal/worker/tiertest"
	"github.com/korvet-io/korvet/internal/worker/workertest"
)

// xadd writes one entry with the fields given, as a broker does.
func xadd(p *workertest.Part, ms int64, fields ...string) {
	p.Helper()
	id := fmt.Sprintf("%d-%d", ms, p.Next)
	p.Do(append([]string{"XADD", p.Keys.Stream, id}, fields...)...)
	p.Do("HSET", p.Keys.State("T"), "last", id)
	p.Next++
}

func headers(pairs ...string) string {
	section := []byte{byte(len(pairs))} // varint of half as many pairs
	for k := 0; k < len(pairs); k += 2 {
		var value []byte
		if pairs[k+1] != "null" {
			value = []byte(pairs[k+1])
		}
		section = record.AppendHeader(section, pairs[k], value)
	}
	return string(section)
}

func TestRecordsAreCopiedAsTheyAre(t *testing.T) {
	c := tiertest.New(t)
	p := c.Tiered("odd", nil)
	ms := c.Now() - 10_000
	many := headers("a", "null", "a", "", "b", "x", "a", "1")
	xadd(p, ms, "value", "", "timestamp", "5")
	xadd(p, ms, "value", "v", "key", "", "timestamp", "-1")
	xadd(p, ms+1, "key", "k", "timestamp", "7")
	xadd(p, ms+1, "headers", "\x00") // all are null, and the timestamp is that of the append
	p.Do("XADD", p.Keys.Stream, fmt.Sprintf("%d-0", ms+2), "hello", "stranger")
	xadd(p, ms+3, "value", "w", "headers", many, "timestamp", "99999999999999")
	p.Do("XADD", p.Keys.Stream, fmt.Sprintf("%d-2", ms+4), "value", "its offset does not rise")
	xadd(p, ms+5, "value", "last", "timestamp", "1")
	p.Seal()
	c.Tick()
	want := []datafile.Row{
		{Record: record.Record{Offset: 0, Timestamp: 5, Value: []byte{}}, AppendMs: ms},
		{Record: record.Record{Offset: 1, Timestamp: -1, Value: []byte("v"), Key: []byte{}}, AppendMs: ms},
		{Record: record.Record{Offset: 2, Timestamp: 7, Key: []byte("k")}, AppendMs: ms + 1},
		{Record: record.Record{Offset: 3, Timestamp: ms + 1}, AppendMs: ms + 1},
		{Record: record.Record{Offset: 4, Timestamp: 99999999999999, Value: []byte("w"), Headers: []byte(many)}, AppendMs: ms + 3},
		{Record: record.Record{Offset: 5, Timestamp: 1, Value: []byte("last")}, AppendMs: ms + 5},
	}
	got := c.Rows(p)
	for i := range got {
		got[i].Position, got[i].Cells = 0, nil
	}
	if fmt.Sprintf("%#v", got) != fmt.Sprintf("%#v", want) {
		t.Errorf("the table has\n%#v\nwant\n%#v", got, want)
	}
}

func TestRecordsBelowTheLogStartAreLeftOut(t *testing.T) {
	c := tiertest.New(t)
	p := c.Tiered("trimmed", nil)
	p.AddSealed(10, time.Minute, 10)
	p.AddSealed(10, time.Minute, 10)
	p.AddSealed(10, time.Minute, 10)
	p.Do("HSET", p.Keys.Segments, "start", "13")
	c.Tick()
	c.Holds(p, 13, 30)
}

func TestLogsWithHolesAreCopied(t *testing.T) {
	c := tiertest.New(t)
	p := c.Tiered("holes", nil)
	p.Add(10, time.Minute, 10)
	first := p.View().First.Ms
	p.Do("XDEL", p.Keys.Stream, fmt.Sprintf("%d-3", first), fmt.Sprintf("%d-9", first), fmt.Sprintf("%d-0", first))
	p.Seal()
	p.AddSealed(5, time.Minute, 10)
	c.Tick()
	if rows, files := c.Rows(p), c.Copied.Files; len(rows) != 12 || files != 1 {
		t.Errorf("%d rows in %d files", len(rows), files)
	}
	p.Places(0, 0, 15)
}

func TestValuesOfEveryCodecAreCopiedDecoded(t *testing.T) {
	c := tiertest.New(t)
	for _, codec := range []compress.Codec{compress.Gzip, compress.Snappy, compress.LZ4, compress.Zstd} {
		p := c.Tiered("c-"+codec.String(), map[string]string{"storage.compression.type": codec.String(), "storage.compression.dictionary.enabled": "false"})
		ms := c.Now() - 5000
		for i := range 20 {
			value := bytes.Repeat([]byte{byte(i)}, 1000*i) // the first is empty
			xadd(p, ms, "value", string(codec.Append(nil, value, nil)))
		}
		xadd(p, ms, "key", "null value")
		p.Seal()
		c.Tick()
		rows := c.Rows(p)
		if len(rows) != 21 || rows[20].Value != nil || rows[0].Value == nil || len(rows[0].Value) != 0 {
			t.Fatalf("%s: %d rows", codec, len(rows))
		}
		for i := range 20 {
			if !bytes.Equal(rows[i].Value, bytes.Repeat([]byte{byte(i)}, 1000*i)) {
				t.Errorf("%s: value %d is another one", codec, i)
			}
		}
	}
}

// trained is a zstd dictionary of some values.
func trained(t *testing.T, id uint32) *compress.Dictionary {
	t.Helper()
	var samples [][]byte
	for i := range 500 {
		samples = append(samples, fmt.Appendf(nil, `{"order":"%d-%s","state":"paid","currency":"EUR"}`, i, rand.Text()))
	}
	blob, err := compress.Train(samples, 8<<10, id)
	if err != nil {
		t.Fatal(err)
	}
	d, err := compress.NewDictionary(blob)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestValuesWithDictionariesAreCopiedDecoded(t *testing.T) {
	c := tiertest.New(t)
	c.Storage.Copier.Dictionaries = dictionary.New(dictionary.DefaultSettings(), dictionary.Dependencies{Store: c.Shard, Log: slog.New(slog.DiscardHandler)})
	p := c.Tiered("dictionaries", map[string]string{"storage.compression.type": "zstd", "storage.compression.dictionary.enabled": "true"})
	ms := c.Now() - 5000
	var want []string
	for id := range uint32(3) {
		d := trained(t, 1000+id)
		p.Do("HSET", p.Keys.Dictionaries, fmt.Sprint(1000+id), string(d.Blob()))
		for i := range 5 {
			value := fmt.Sprintf(`{"order":"%d-%s","state":"paid","currency":"EUR"}`, i, rand.Text())
			want = append(want, value)
			xadd(p, ms, "value", string(compress.Zstd.Append(nil, []byte(value), d)))
		}
	}
	p.Seal()
	c.Tick()
	rows := c.Rows(p)
	if len(rows) != len(want) {
		t.Fatalf("%d rows, failures %v, log %s", len(rows), c.Copied.Failures, c.Logged)
	}
	for i := range rows {
		if string(rows[i].Value) != want[i] {
			t.Errorf("value %d is %q, want %q", i, rows[i].Value, want[i])
		}
	}
}

func TestRecordThatCannotBeReadStopsItsPartitionOnly(t *testing.T) {
	c := tiertest.New(t)
	good := c.Tiered("bad", map[string]string{"storage.compression.type": "gzip", "storage.compression.dictionary.enabled": "false"})
	bad, odd := c.Another(good.Topic), c.Another(good.Topic)
	ms := c.Now() - 5000
	for i := range 10 {
		for _, p := range []*workertest.Part{good, bad, odd} {
			value, section := string(compress.Gzip.Append(nil, fmt.Append(nil, "value ", i), nil)), headers("a", "b")
			if p == bad && i == 4 {
				value = "not gzip"
			}
			if p == odd && i == 0 {
				section = "\x08x"
			}
			xadd(p, ms, "value", value, "headers", section)
		}
	}
	for _, p := range []*workertest.Part{good, bad, odd} {
		p.Seal()
	}
	for range 4 {
		c.Tick()
	}
	c.Holds(good, 0, 10)
	c.Holds(bad, 0, 4)
	if files, state := c.Files(odd); len(files) != 0 || state.Ends[2] != 0 {
		t.Errorf("files %+v of a partition whose first record cannot be read", files)
	}
	bad.Places(0, 0, 4)
	want := "topic bad partition 1: a record cannot be read: offset 4"
	if c.Count(want) != 1 || c.Count("topic bad partition 2: a record cannot be read: offset 0") != 1 {
		t.Errorf("logged %d times that there is a bad record:\n%s", c.Count(want), c.Logged)
	}
	if c.Copied.Failures["decode"] < 8 || c.Copied.Files != 2 {
		t.Errorf("told %+v", c.Copied)
	}
	bad.Do("HSET", bad.Keys.Segments, "start", "10") // DeleteRecords takes them away
	odd.Do("HSET", odd.Keys.Segments, "start", "10")
	c.Tick()
	if c.Count("works again") != 1 {
		t.Errorf("it does not say that it works again:\n%s", c.Logged)
	}
}

package remote

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/korvet-io/korvet/internal/iceberg/chain"
	"github.com/korvet-io/korvet/internal/iceberg/datafile"
	"github.com/korvet-io/korvet/internal/iceberg/store"
	"github.com/korvet-io/korvet/internal/iceberg/storetest"
	"github.com/korvet-io/korvet/internal/iceberg/tables"
	"github.com/korvet-io/korvet/internal/metadata"
	"github.com/korvet-io/korvet/internal/partition"
	"github.com/korvet-io/korvet/internal/record"
)

// oneTable is a registry of one table.
type oneTable struct{ entry metadata.Table }

func (o oneTable) TableOf(id uuid.UUID) (metadata.Table, bool) { return o.entry, id == o.entry.TopicID }
func (o oneTable) Tables() []metadata.Table                    { return []metadata.Table{o.entry} }

// rig is a table that a test fills and a reader of it.
type rig struct {
	testing.TB
	tier   *Tier
	table  *tables.Table
	entry  metadata.Table
	reader *Reader
	asked  *storetest.Counting
	ref    partition.Ref
	files  int
}

// small settings have a file of some thousand records divided into many stretches.
func small() ReaderSettings {
	s := DefaultReaderSettings()
	s.StretchRows, s.AheadBytes = 100, 4<<10
	return s
}

func newRig(t testing.TB, s ReaderSettings) *rig {
	t.Helper()
	return newRigAt(t, s, "file://"+t.TempDir(), store.S3{})
}

func newRigAt(t testing.TB, s ReaderSettings, path string, s3 store.S3) *rig {
	t.Helper()
	e := metadata.Table{Name: "events", Topic: "events", TopicID: uuid.Must(uuid.NewV7()), Location: path + "/korvet/events-1"}
	tier, err := Open(t.Context(), Settings{Path: path, Namespace: "korvet", S3: s3}, oneTable{e}, chain.NoHint{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	g := &rig{TB: t, tier: tier, entry: e, asked: storetest.NewCounting(tier.Store), ref: partition.Ref{Topic: "events", ID: e.TopicID}}
	tier.Store = g.asked
	g.table = tier.Table(e)
	if err := g.table.Create(t.Context(), tables.Life{Topic: e.Topic, ID: e.TopicID.String()}, nil); err != nil {
		t.Fatal(err)
	}
	g.reader = NewReader(tier, s, nil)
	return g
}

// shape makes the record of an offset.
type shape func(offset int64) datafile.Row

// plain records have times that rise with their offsets.
func plain(o int64) datafile.Row {
	return datafile.Row{Record: record.Record{Offset: o, Timestamp: 1000 + o, Key: fmt.Appendf(nil, "key %d", o%7), Value: fmt.Appendf(nil, "value of %d", o)}, AppendMs: 5000 + o}
}

// span are the offsets [from, to).
func span(from, to int64) []int64 {
	list := make([]int64, 0, to-from)
	for o := from; o < to; o++ {
		list = append(list, o)
	}
	return list
}

var testOptions = datafile.Options{PageBytes: 1000, RowGroupBytes: 20_000, CreatedBy: "test"}

// write writes a data file of partition 0.
func (g *rig) write(offsets []int64, of shape, o datafile.Options) tables.Added {
	g.Helper()
	g.files++
	a := tables.Added{Location: fmt.Sprintf("%s/data/%d.parquet", g.entry.Location, g.files), End: offsets[len(offsets)-1] + 1}
	r, w := io.Pipe()
	go func() {
		f := datafile.NewWriter(w, 0, o)
		var err error
		for _, o := range offsets {
			row := of(o)
			if err = f.Write(&row); err != nil {
				break
			}
		}
		if err == nil {
			a.Summary, err = f.Close()
		}
		_ = w.CloseWithError(err)
	}()
	if err := g.tier.Store.Put(context.Background(), a.Location, r); err != nil {
		g.Fatal(err)
	}
	var err error
	if a.Bytes, err = g.tier.Store.Size(context.Background(), a.Location); err != nil {
		g.Fatal(err)
	}
	return a
}

// commit adds files to the table.
func (g *rig) commit(files ...tables.Added) {
	g.Helper()
	s, err := g.table.State(context.Background())
	if err == nil {
		_, err = g.table.Append(context.Background(), s, 1, files)
	}
	if err != nil {
		g.Fatal(err)
	}
}

// known has the reader know a table of these files, up to an end, as after an engine rewrote it.
func (g *rig) known(end int64, deletes []tables.Deletes, files ...tables.Added) {
	g.Helper()
	list := make([]tables.File, len(files))
	for i, a := range files {
		list[i] = tables.File{
			Location: a.Location, Rows: a.Rows, Bytes: a.Bytes, First: a.FirstOffset, Last: a.LastOffset, Timed: true,
			MinTimestamp: a.MinTimestamp, MaxTimestamp: a.MaxTimestamp, MinAppendMs: a.MinAppendMs, MaxAppendMs: a.MaxAppendMs,
		}
	}
	slices.SortFunc(list, func(a, b tables.File) int { return int(a.First - b.First) })
	g.reader.indexes[g.entry.Location] = &index{table: g.table, now: g.reader.now, current: &snapshot{
		at: time.Hour, ends: map[int32]int64{0: end}, files: &tables.Files{Data: map[int32][]tables.File{0: list}, Deletes: deletes},
		clusters: map[int32][]cluster{0: clusters(list)},
	}}
}

// read reads offsets [from, end), most at a time, and returns those that came.
func (g *rig) read(from, end int64, most int) []int64 {
	g.Helper()
	var got []int64
	for from < end {
		n := 0
		next, err := g.reader.Read(g.Context(), g.ref, partition.RemoteRead{From: from, End: end, Bytes: 1000}, func(r *record.Record, appendMs int64) bool {
			if n == most {
				return false
			}
			want := plain(r.Offset)
			if !bytes.Equal(r.Key, want.Key) || !bytes.Equal(r.Value, want.Value) || r.Timestamp != want.Timestamp || appendMs != want.AppendMs {
				g.Fatalf("offset %d: %+v", r.Offset, r)
			}
			got = append(got, r.Offset)
			n++
			return true
		})
		if err != nil {
			g.Fatal(err)
		}
		if next <= from {
			g.Fatalf("reading from %d goes on at %d", from, next)
		}
		from = next
	}
	return got
}

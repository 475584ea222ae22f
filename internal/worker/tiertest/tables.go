package tiertest

import (
	"bytes"
	"context"
	"errors"
	"sort"

	"github.com/korvet-io/korvet/internal/iceberg/chain"
	"github.com/korvet-io/korvet/internal/iceberg/datafile"
	objectstore "github.com/korvet-io/korvet/internal/iceberg/store"
	"github.com/korvet-io/korvet/internal/iceberg/tables"
	"github.com/korvet-io/korvet/internal/worker/copying"
	"github.com/korvet-io/korvet/internal/worker/workertest"
)

// Table is the topic's, opened anew.
func (c *Rig) Table(p *workertest.Part) copying.Table {
	c.Helper()
	table, err := c.TablesOn(c.Plain).Table(c.Context(), p.Topic)
	if err != nil {
		c.Fatal(err)
	}
	return table
}

// Opened is the table as every other user of it has it.
func (c *Rig) Opened(p *workertest.Part) *tables.Table {
	c.Helper()
	entry, err := c.Tables.EnsureTable(c.Context(), p.Topic)
	if err != nil {
		c.Fatal(err)
	}
	return Tier(c, c.Root, c.Tables, c.Plain).Table(entry)
}

// Exists tells whether the table is on the store.
func (c *Rig) Exists(p *workertest.Part) bool {
	c.Helper()
	_, err := c.Table(p).State(c.Context())
	if err != nil && !errors.Is(err, chain.ErrNoTable) {
		c.Fatal(err)
	}
	return err == nil
}

// Files are those of the table, of one partition.
func (c *Rig) Files(p *workertest.Part) ([]tables.File, *tables.State) {
	c.Helper()
	table := c.Opened(p)
	state, err := table.State(c.Context())
	if err != nil {
		c.Fatal(err)
	}
	files, err := table.Files(c.Context(), state)
	if err != nil {
		c.Fatal(err)
	}
	return files.Data[p.Number], state
}

// source reads a file of a store.
type source struct {
	objectstore.Store
	location string
}

func (s source) ReadRange(ctx context.Context, p []byte, off int64) error {
	return s.Store.ReadRange(ctx, s.location, p, off)
}

// Rows reads the whole table of a partition.
func (c *Rig) Rows(p *workertest.Part) (all []datafile.Row) {
	c.Helper()
	list, _ := c.Files(p)
	sort.Slice(list, func(i, k int) bool { return list[i].First < list[k].First })
	for _, f := range list {
		src := source{c.Plain, f.Location}
		file, err := datafile.Open(c.Context(), src, f.Bytes)
		if err != nil {
			c.Fatal(err)
		}
		for next, done := f.First, false; !done; {
			next, done, err = file.Read(c.Context(), src, datafile.Request{Offset: next, Bytes: 1 << 20}, func(r *datafile.Row) bool {
				row := *r
				row.Key, row.Value, row.Headers = bytes.Clone(r.Key), bytes.Clone(r.Value), bytes.Clone(r.Headers)
				all = append(all, row)
				return true
			})
			if err != nil {
				c.Fatal(err)
			}
		}
	}
	return all
}

// Holds checks that the table has the offsets [from, to), each once, in files that do not overlap.
func (c *Rig) Holds(p *workertest.Part, from, to int64) {
	c.Helper()
	rows := c.Rows(p)
	for i := range rows {
		if rows[i].Offset != from+int64(i) {
			c.Fatalf("%s: row %d of the table has offset %d, want %d", p.Topic.Name, i, rows[i].Offset, from+int64(i))
		}
	}
	if int64(len(rows)) != to-from {
		c.Fatalf("%s: %d rows in the table, want %d", p.Topic.Name, len(rows), to-from)
	}
	if _, state := c.Files(p); state.Ends[p.Number] != to {
		c.Errorf("%s: the table ends at %d, want %d", p.Topic.Name, state.Ends[p.Number], to)
	}
}

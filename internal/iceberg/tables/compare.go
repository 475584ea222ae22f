package tables

import (
	"context"
	"fmt"
	"strings"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
)

// comparison is what a commit does to the files of the table.
type comparison struct {
	table          *Table
	spec           int
	added, removed map[int32][]File // data files by partition
	deletes        []iceberg.DataFile
	strange        []iceberg.DataFile // added, without a partition of ours
}

func newComparison(t *Table, m table.Metadata, was, is map[string]iceberg.ManifestEntry) *comparison {
	c := &comparison{table: t, spec: m.DefaultPartitionSpec(), added: map[int32][]File{}, removed: map[int32][]File{}}
	for location, e := range was {
		if _, still := is[location]; !still && e.DataFile().ContentType() == iceberg.EntryContentData {
			c.note(c.removed, e)
		}
	}
	for location, e := range is {
		if _, there := was[location]; there {
			continue
		}
		if e.DataFile().ContentType() == iceberg.EntryContentData {
			c.note(c.added, e)
		} else {
			c.deletes = append(c.deletes, e.DataFile())
		}
	}
	return c
}

func (c *comparison) note(files map[int32][]File, e iceberg.ManifestEntry) {
	d := e.DataFile()
	p, ok := d.Partition()[partitionFieldID].(int32)
	if !ok || int(d.SpecID()) != c.spec {
		c.strange = append(c.strange, d)
		return
	}
	files[p] = append(files[p], newFile(p, e))
}

// check refuses files that are not the table's, deletes that readers cannot apply, and rows that come.
func (c *comparison) check(ctx context.Context) error {
	for _, d := range c.strange {
		return fmt.Errorf("%w: %s is not of one partition of the topic", ErrRefused, d.FilePath())
	}
	for _, d := range c.deletes {
		if err := c.allowed(d); err != nil {
			return err
		}
		if d.ContentType() != iceberg.EntryContentPosDeletes {
			return fmt.Errorf("%w: %s: deletes by equality are not supported: delete by position, or rewrite the files", ErrRefused, d.FilePath())
		}
		if _, ok := d.Partition()[partitionFieldID].(int32); !ok {
			return fmt.Errorf("%w: %s: deletes of no partition", ErrRefused, d.FilePath())
		}
	}
	if err := c.checkObjects(ctx); err != nil {
		return err
	}
	for p, files := range c.added {
		if err := c.checkAdded(ctx, p, files); err != nil {
			return err
		}
	}
	return nil
}

// allowed wants Parquet below the table's location. DuckDB calls it parquet.
func (c *comparison) allowed(d iceberg.DataFile) error {
	if !c.table.below(d.FilePath()) {
		return fmt.Errorf("%w: %s is outside the table's location", ErrRefused, d.FilePath())
	}
	if !strings.EqualFold(string(d.FileFormat()), string(iceberg.ParquetFile)) {
		return fmt.Errorf("%w: %s: %s files are not supported, only Parquet", ErrRefused, d.FilePath(), d.FileFormat())
	}
	return nil
}

// checkAdded wants the rows of added files to be at most those of the removed ones, at their offsets.
func (c *comparison) checkAdded(ctx context.Context, p int32, files []File) error {
	for i := range c.removed[p] {
		if err := c.table.bounds(ctx, &c.removed[p][i]); err != nil {
			return unreadable(err)
		}
	}
	first, last, room := span(c.removed[p])
	_, _, rows := span(files)
	if rows > room {
		return fmt.Errorf("%w: %d rows would come to partition %d, %d go: rows are added by producers, through Kafka", ErrRefused, rows, p, room)
	}
	for i := range files {
		f := &files[i]
		if f.First < first || f.Last > last {
			return fmt.Errorf("%w: %s has offsets %d to %d of partition %d, the files it replaces %d to %d", ErrRefused, f.Location, f.First, f.Last, p, first, last)
		}
		if f.Rows > f.Last-f.First+1 {
			return fmt.Errorf("%w: %s has %d rows at offsets %d to %d of partition %d: an offset is there once", ErrRefused, f.Location, f.Rows, f.First, f.Last, p)
		}
	}
	return nil
}

// checkRemoval refuses a commit that gives rows in the place of others and calls it no rewrite: an UPDATE.
func (c *comparison) checkRemoval() error {
	for p, files := range c.added {
		_, _, rows := span(files)
		if _, _, room := span(c.removed[p]); rows == room && len(c.deletes) == 0 {
			return fmt.Errorf("%w: rows of partition %d would be changed: records never change", ErrRefused, p)
		}
	}
	return nil
}

// span is the offsets that files have, and how many rows.
func span(files []File) (first, last, rows int64) {
	for i, f := range files {
		if i == 0 {
			first, last = f.First, f.Last
		}
		first, last, rows = min(first, f.First), max(last, f.Last), rows+f.Rows
	}
	return first, last, rows
}

package tables

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/korvet-io/korvet/internal/iceberg/datafile"
	"github.com/korvet-io/korvet/internal/iceberg/jsoncolumns"
)

// comparison is what a commit does to the files of the table.
type comparison struct {
	table                *Table
	turns                *Turns
	spec                 int
	columns              []jsoncolumns.Column
	added, removed, kept map[int32][]File // data files by partition
	deletes              []iceberg.DataFile
	before, after        map[int32][]Deletes // files of position deletes by partition
	come, gone           map[int32][]Deletes // those that are in one of both alone
	strange              []string            // why files of the commit cannot be the table's
}

func newComparison(t *Table, turns *Turns, m table.Metadata, was, is map[string]iceberg.ManifestEntry) *comparison {
	c := &comparison{
		table: t, turns: turns, spec: m.DefaultPartitionSpec(), columns: typedOf(m), added: map[int32][]File{}, removed: map[int32][]File{}, kept: map[int32][]File{},
		before: map[int32][]Deletes{}, after: map[int32][]Deletes{}, come: map[int32][]Deletes{}, gone: map[int32][]Deletes{},
	}
	for location, e := range was {
		now, still := is[location]
		switch {
		case e.DataFile().ContentType() != iceberg.EntryContentData:
			c.noteDeletes(e, c.before)
			if !still {
				c.noteDeletes(e, c.gone)
			}
		case still:
			c.note(c.kept, e)
		default:
			c.note(c.removed, e)
		}
		if still && !sameEntry(e, now) {
			c.strange = append(c.strange, location+" would be another file than it is")
		}
	}
	for location, e := range is {
		_, there := was[location]
		if e.DataFile().ContentType() == iceberg.EntryContentData {
			if !there {
				c.note(c.added, e)
			}
			continue
		}
		c.noteDeletes(e, c.after)
		if !there {
			c.noteDeletes(e, c.come)
			c.deletes = append(c.deletes, e.DataFile())
		}
	}
	return c
}

func (c *comparison) note(files map[int32][]File, e iceberg.ManifestEntry) {
	d := e.DataFile()
	p, ok := d.Partition()[partitionFieldID].(int32)
	if !ok || int(d.SpecID()) != c.spec {
		c.strange = append(c.strange, d.FilePath()+" is not of one partition of the topic")
		return
	}
	files[p] = append(files[p], newFile(p, e))
}

func (c *comparison) noteDeletes(e iceberg.ManifestEntry, files map[int32][]Deletes) {
	d := e.DataFile()
	switch p, ok := d.Partition()[partitionFieldID].(int32); {
	case d.ContentType() != iceberg.EntryContentPosDeletes:
		c.strange = append(c.strange, d.FilePath()+": deletes by equality are not supported: delete by position, or rewrite the files")
	case !ok:
		c.strange = append(c.strange, d.FilePath()+": deletes of no partition")
	default:
		files[p] = append(files[p], newDeletes(p, e))
	}
}

// sameEntry tells whether a file that stays is what it was: engines write manifests anew. One may leave out bounds.
func sameEntry(was, is iceberg.ManifestEntry) bool {
	a, b := was.DataFile(), is.DataFile()
	p, okA := a.Partition()[partitionFieldID].(int32)
	q, okB := b.Partition()[partitionFieldID].(int32)
	if a.ContentType() != b.ContentType() || p != q || okA != okB || a.SpecID() != b.SpecID() || was.SequenceNum() != is.SequenceNum() {
		return false
	}
	of, other := newFile(p, was), newFile(p, is)
	if of.Rows != other.Rows || of.Bytes != other.Bytes {
		return false
	}
	bounded := of.Last >= of.First && other.Last >= other.First
	return (!bounded || of.First == other.First && of.Last == other.Last) &&
		(!of.Timed || !other.Timed || of.MinTimestamp == other.MinTimestamp && of.MaxTimestamp == other.MaxTimestamp)
}

// check refuses files that are not the table's, deletes that readers cannot apply, and rows that come or change.
func (c *comparison) check(ctx context.Context) error {
	for _, why := range c.strange {
		return fmt.Errorf("%w: %s", ErrRefused, why)
	}
	for _, d := range c.deletes {
		if err := c.allowed(d); err != nil {
			return err
		}
	}
	if err := c.checkObjects(ctx); err != nil {
		return err
	}
	list := slices.Concat(slices.Collect(maps.Keys(c.added)), slices.Collect(maps.Keys(c.come)), slices.Collect(maps.Keys(c.gone)))
	slices.Sort(list)
	for _, p := range slices.Compact(list) {
		if err := c.checkPartition(ctx, p); err != nil {
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

// checkPartition wants the rows that come to a partition to be ones that go, at their offsets.
func (c *comparison) checkPartition(ctx context.Context, p int32) error {
	gone, err := c.goneRows(ctx, p)
	if err != nil || len(c.added[p]) == 0 {
		return err
	}
	rows, room := int64(0), int64(0)
	for _, f := range c.added[p] {
		rows += f.Rows
	}
	for i := range gone {
		if room += gone[i].newly.Count(); !gone[i].stays {
			room += gone[i].Rows - gone[i].before.Count()
		}
		if err := c.table.bounds(ctx, &gone[i].File); err != nil {
			return unreadable(err)
		}
	}
	if rows > room {
		return fmt.Errorf("%w: %d rows would come to partition %d, %d go: rows are added by producers, through Kafka", ErrRefused, rows, p, room)
	}
	done, err := c.turns.take(ctx)
	if err != nil {
		return err
	}
	defer done()
	for _, s := range swaps(p, c.added[p], gone) {
		if err := c.checkSwap(ctx, &s); err != nil {
			return err
		}
	}
	return nil
}

// checkSwap compares, unless it was done before.
func (c *comparison) checkSwap(ctx context.Context, s *swap) error {
	key := s.key(c.columns)
	if c.table.compared.has(key) {
		return nil
	}
	for i := range s.come {
		f := &s.come[i]
		if err := datafile.CheckSmall(ctx, object{c.table.store, f.Location}, f.Bytes, f.Partition); err != nil {
			return unreadable(fmt.Errorf("%s: %w", f.Location, err))
		}
	}
	if err := s.check(ctx, c.table, c.turns, c.columns); err != nil {
		return err
	}
	c.table.compared.add(key)
	return nil
}

package copying

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/korvet-io/korvet/internal/iceberg/datafile"
	"github.com/korvet-io/korvet/internal/iceberg/tables"
	"github.com/korvet-io/korvet/internal/worker/lifecycle"
	"github.com/korvet-io/korvet/internal/worker/tick"
)

// filePageBytes is how large pages of data files are, in bytes of records as they are before they are encoded: what a seek of
// a consumer decodes at least.
const filePageBytes = datafile.DefaultPageBytes

// fileMagic is what a data file begins with, in bytes.
const fileMagic = 4

// copied is a data file that is on the store.
type copied struct{ tables.Added }

// copyFile writes one data file of the records that come next, up to about the size that files are to have. nil: none is left.
// With errUnreadable there is a file, too, if any records came before that one.
func (c *Copier) copyFile(ctx context.Context, table Table, r *reader, v *values) (*copied, error) {
	first, err := r.row()
	if first == nil || err != nil {
		return nil, err
	}
	if err := v.read(ctx, first); err != nil {
		return nil, err
	}
	t, s := r.target, c.Settings()
	f := &fileWriter{reader: r, values: v, target: s.TargetFileBytes}
	f.event = lifecycle.Event{
		State: lifecycle.CopySegmentStarted, Topic: t.Ref.Topic, TopicID: t.Ref.ID, Partition: t.Ref.Partition,
		First: first.Offset, Last: r.plan.end() - 1, Location: c.fileName(table, t, first.Offset), Table: table.Location(),
	}
	c.tell(ctx, t.Fence, f.event)
	began := c.now()
	read, write := io.Pipe()
	f.out = &counter{to: bufio.NewWriterSize(write, 64<<10)}
	options := c.fileOptions()
	options.Typed = v.columns.begin(ctx, v, r.rest())
	f.file = datafile.NewWriter(f.out, t.Ref.Partition, options)
	done := make(chan error, 1)
	go func() {
		err := f.write(ctx)
		_ = write.CloseWithError(err) // nil is the end of the file
		done <- err
	}()
	body := &limited{ctx: ctx, copier: c, from: read}
	err = table.Put(ctx, f.event.Location, body)
	_ = read.CloseWithError(errPut)
	if failed := <-done; failed != nil && !errors.Is(failed, errPut) {
		err = failed
	}
	c.Observer.FileArchived(c.now().Sub(began), err)
	if err != nil {
		return nil, fmt.Errorf("copy to %s: %w", f.event.Location, err)
	}
	return &copied{Added: tables.Added{
		Partition: t.Ref.Partition, Location: f.event.Location, Bytes: body.bytes, Summary: f.summary, End: f.end, Epochs: t.Glance.Epochs,
	}}, f.unreadable
}

// fileOptions say how data files are written.
func (c *Copier) fileOptions() datafile.Options {
	s := c.Settings()
	group := min(s.RowGroupBytes, s.TargetFileBytes)
	return datafile.Options{PageBytes: int(min(filePageBytes, group)), RowGroupBytes: int(group), KeyBloom: s.KeyBloom, CreatedBy: c.Version, Turns: c.Turns}
}

// errPut ends the writing of a file that the store does not take.
var errPut = errors.New("the store ended the copy")

// fileName is where a data file goes. Where it ends shows only once it is written.
func (c *Copier) fileName(table Table, t *tick.Target, first int64) string {
	return table.Location() + "/data/partition=" + strconv.Itoa(int(t.Ref.Partition)) + fmt.Sprintf("/%020d-%s.parquet", first, c.random())
}

// fileWriter writes records as a data file.
type fileWriter struct {
	reader *reader
	values *values
	file   *datafile.Writer
	out    *counter
	target int64
	event  lifecycle.Event

	summary    datafile.Summary
	end        int64 // the offset up to which the partition is copied with this file
	raw        int64 // bytes of records so far
	encoded    int64 // of those, what is in row groups that were written
	unreadable error // the record at end
	split      bool  // the record at end has a field that has a column from the next file on
}

// write writes until the file has its size, or nothing is left.
func (f *fileWriter) write(ctx context.Context) (err error) {
	for f.unreadable == nil && !f.split && !f.full() {
		row, err := f.reader.row()
		if err != nil {
			return err
		}
		if row == nil {
			f.end = f.reader.plan.end()
			break
		}
		if err := f.put(ctx, row); err != nil {
			return err
		}
	}
	if f.summary, err = f.file.Close(); err != nil {
		return err
	}
	return f.out.to.Flush()
}

// put writes one record.
func (f *fileWriter) put(ctx context.Context, row *datafile.Row) error {
	err := f.values.read(ctx, row)
	if errors.Is(err, errUnreadable) {
		f.unreadable, f.end = err, row.Offset
		return nil
	}
	if err == nil && f.values.columns.split(ctx, f.values, row, f.reader.rest()) && f.raw > 0 {
		f.split, f.end = true, row.Offset
		return nil
	}
	before := f.out.bytes
	if err == nil {
		err = f.file.Write(row)
	}
	if err != nil {
		return err
	}
	f.raw += int64(len(row.Key)+len(row.Value)+len(row.Headers)) + 8
	f.end = row.Offset + 1
	f.reader.taken()
	if f.out.bytes-before > fileMagic {
		f.encoded = f.raw
	}
	return nil
}

// full tells whether the file has its size: with what waits for its row group, at the rate of what was written.
func (f *fileWriter) full() bool {
	if f.encoded == 0 {
		return false
	}
	waiting := float64(f.raw-f.encoded) * float64(f.out.bytes) / float64(f.encoded)
	return f.out.bytes+int64(waiting) >= f.target
}

// counter counts bytes on their way.
type counter struct {
	to    *bufio.Writer
	bytes int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.to.Write(p)
	c.bytes += int64(n)
	return n, err
}

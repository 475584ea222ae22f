package inspect

import (
	"context"
	"errors"
	"fmt"

	"github.com/korvet-io/korvet/internal/iceberg/datafile"
	"github.com/korvet-io/korvet/internal/iceberg/store"
	"github.com/korvet-io/korvet/internal/iceberg/tables"
)

// Report is what a verification found of one table.
type Report struct {
	Table    string    `json:"table"`
	Topic    string    `json:"topic"`
	Location string    `json:"location"`
	State    string    `json:"state"`
	Files    int       `json:"files"`    // that were read
	Rows     int64     `json:"rows"`     // that were read, without those that deletes name
	Bytes    int64     `json:"bytes"`    // of the files
	Deleted  int64     `json:"deleted"`  // rows that files of deletes name
	Compared int64     `json:"compared"` // records that Redis has, too, and that were compared
	Holes    []Hole    `json:"holes"`
	Problems []Problem `json:"problems"`
	// More counts problems and holes beyond those that are listed.
	More int64 `json:"more,omitempty"`
}

// Problem is something that is not as it must be.
type Problem struct {
	Partition int32  `json:"partition"`
	File      string `json:"file,omitempty"`
	Offset    int64  `json:"offset"` // -1: none in particular
	What      string `json:"what"`
}

// Hole is offsets without a record, between the log start and the table's end.
type Hole struct {
	Partition int32  `json:"partition"`
	From      int64  `json:"from"`
	To        int64  `json:"to"` // the offset after its last
	Cause     string `json:"cause"`
}

// Causes of holes. CauseMissing is a problem.
const (
	CauseDeleted = "deleted by an engine"
	CauseNever   = "not in the log when it was copied"
	CauseEither  = "deleted by an engine, or not in the log when it was copied"
	CauseMissing = "missing: the log has records there"
	CauseUnknown = "unknown: no snapshot is left that tells"
)

// mostListed bounds the problems and holes of a report.
const mostListed = 1000

// Progress is told how much of a table was read.
type Progress func(files, of int, bytes int64)

// Verify reads everything of a table: each data file whole, and of each partition the records that Redis has, too. Its memory
// does not grow with the table but for the list of files. What is wrong is in the report; an error is one that ended the
// verification.
func (s *Source) Verify(ctx context.Context, t *Table, progress Progress) (*Report, error) {
	r := &Report{Table: t.Name, Topic: t.Topic, Location: t.Location, State: t.State, Holes: []Hole{}, Problems: []Problem{}}
	if t.Problem != "" {
		r.problem(Problem{Partition: -1, Offset: -1, What: t.Problem})
	}
	if t.files == nil {
		return r, nil
	}
	removals := t.removals()
	for i := range t.Partitions {
		v := &verification{source: s, table: t, part: &t.Partitions[i], report: r, removals: removals, progress: progress}
		if err := v.run(ctx); err != nil {
			return r, err
		}
	}
	return r, nil
}

func (r *Report) problem(p Problem) {
	if len(r.Problems) == mostListed {
		r.More++
		return
	}
	r.Problems = append(r.Problems, p)
}

func (r *Report) hole(h Hole) {
	if n := len(r.Holes); n > 0 && r.Holes[n-1].Partition == h.Partition && r.Holes[n-1].To == h.From && r.Holes[n-1].Cause == h.Cause {
		r.Holes[n-1].To = h.To
		return
	}
	if len(r.Holes) == mostListed {
		r.More++
		return
	}
	r.Holes = append(r.Holes, h)
}

// removals tells whether a snapshot that is left says that somebody other than the storage worker took rows away.
func (t *Table) removals() bool {
	for _, s := range t.History() {
		if !s.Own && (s.Operation == "delete" || s.Operation == "overwrite") {
			return true
		}
	}
	return len(t.files.Deletes) > 0
}

// verification is that of one partition.
type verification struct {
	source   *Source
	table    *Table
	part     *Part
	report   *Report
	removals bool
	progress Progress

	log  *logReader // nil: Redis has nothing that the table has
	next int64      // the offset that is due
}

func (v *verification) run(ctx context.Context) error {
	files := v.table.files.Data[v.part.Partition]
	v.next = v.begin(files)
	if l := v.part.Log; l != nil {
		if l.Problem != "" {
			v.problem("", -1, l.Problem)
		}
		v.log = v.source.openLog(v.table, v.part)
	}
	for len(files) > 0 {
		n, last := 1, files[0].Last
		for ; n < len(files) && files[n].First <= last; n++ {
			last = max(last, files[n].Last)
		}
		if err := v.files(ctx, files[:n], last); err != nil {
			return err
		}
		files = files[n:]
	}
	return v.passed(ctx, v.part.End, v.gap(), true)
}

// files reads data files that lie over each other, as engines that rewrite rows leave them until they are merged; mostly it is one.
func (v *verification) files(ctx context.Context, files []tables.File, last int64) error {
	whole := true
	for i := range files {
		f := &files[i]
		switch err := v.file(ctx, f, len(files) == 1); {
		case err == nil:
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, store.ErrNotFound):
			v.problem(f.Location, -1, "it is not there")
			whole = false
		case errors.Is(err, datafile.ErrCorrupt), errors.Is(err, store.ErrShort), errors.Is(err, errDiffers):
			v.problem(f.Location, -1, err.Error())
			whole = false
		default:
			return fmt.Errorf("%s: %w", f.Location, err)
		}
		v.report.Files++
		if v.progress != nil {
			v.progress(v.report.Files, v.table.Files, v.report.Bytes)
		}
	}
	if len(files) > 1 && whole {
		rows := &fileRows{verification: v, file: &tables.File{Location: files[0].Location, First: files[0].First, Last: last}, last: -1, inside: v.gap()}
		err := v.table.found.Open.Rows(ctx, v.table.files, files, func(row *datafile.Row) error { return rows.row(ctx, row) })
		if err != nil {
			return err
		}
	}
	return v.passed(ctx, last+1, CauseNever, false) // what is to be said of a damaged file was said
}

// begin is the first offset that the table must have: the log start, or where its files begin.
func (v *verification) begin(files []tables.File) int64 {
	if l := v.part.Log; l != nil && l.End > 0 {
		return min(l.Start, v.part.End)
	}
	if len(files) > 0 {
		return files[0].First
	}
	return v.part.End
}

func (v *verification) problem(file string, offset int64, what string) {
	v.report.problem(Problem{Partition: v.part.Partition, File: file, Offset: offset, What: what})
}

// gap is why offsets between files have no records, unless the log says more.
func (v *verification) gap() string {
	if v.removals {
		return CauseDeleted
	}
	return CauseUnknown
}

var errDiffers = errors.New("it is not as the table says")

// file reads one data file: as a whole, and its records, unless they lie between those of other files.
func (v *verification) file(ctx context.Context, f *tables.File, alone bool) error {
	src := object{v.source.Store, f.Location}
	size, err := v.source.Store.Size(ctx, f.Location)
	if err != nil {
		return err
	}
	if size != f.Bytes {
		return fmt.Errorf("%w: %d bytes, not %d", errDiffers, size, f.Bytes)
	}
	if err := datafile.Check(ctx, src, size, f.Partition); err != nil {
		return err
	}
	d, err := datafile.Open(ctx, src, size)
	if err != nil {
		return err
	}
	deletes, err := v.deletes(ctx, f)
	if err != nil {
		return err
	}
	v.report.Bytes += size
	v.report.Deleted += deletes.Count()
	if d.Rows() != f.Rows {
		return fmt.Errorf("%w: %d rows, not %d", errDiffers, d.Rows(), f.Rows)
	}
	if !alone {
		return nil
	}
	rows := &fileRows{verification: v, file: f, deletes: deletes, last: -1, inside: v.gap()}
	switch own := ownName(f.Location); {
	case own && v.removals:
		rows.inside = CauseEither
	case own:
		rows.inside = CauseNever
	}
	return rows.read(ctx, d, src)
}

// deletes are the positions of a file's rows that files of position deletes name.
func (v *verification) deletes(ctx context.Context, f *tables.File) (*datafile.Positions, error) {
	var set *datafile.Positions
	for _, d := range v.table.files.Deletes {
		if !d.Concerns(f) {
			continue
		}
		if set == nil {
			set = datafile.NewPositions(f.Rows)
		}
		of := func(name string) *datafile.Positions {
			if tables.SameLocation(name, f.Location) {
				return set
			}
			return nil
		}
		if err := datafile.ReadDeletes(ctx, object{v.source.Store, d.Location}, d.Bytes, of); err != nil {
			return nil, fmt.Errorf("deletes in %s: %w", d.Location, err)
		}
	}
	return set, nil
}

// object is one object of a store as data files read it.
type object struct {
	store    store.Store
	location string
}

// ReadRange implements datafile.Source.
func (o object) ReadRange(ctx context.Context, p []byte, off int64) error {
	return o.store.ReadRange(ctx, o.location, p, off)
}

// passed notes that there are no records up to an offset. Where Redis has some nobody deleted they are missing. Told: whether
// the hole is one that is to be listed.
func (v *verification) passed(ctx context.Context, to int64, cause string, told bool) error {
	if v.next >= to {
		return nil
	}
	from := v.next
	v.next = to
	if v.log != nil {
		have, err := v.log.skip(ctx, to)
		if err != nil {
			return err
		}
		if have && !v.removals && cause != CauseDeleted {
			cause = CauseMissing
			v.problem("", from, fmt.Sprintf("offsets %d to %d: the log has records there, the table has not", from, to-1))
		}
	}
	if told || cause == CauseMissing {
		v.report.hole(Hole{Partition: v.part.Partition, From: from, To: to, Cause: cause})
	}
	return nil
}

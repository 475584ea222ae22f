package remote

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/korvet-io/korvet/internal/iceberg/datafile"
	"github.com/korvet-io/korvet/internal/iceberg/store"
	"github.com/korvet-io/korvet/internal/iceberg/tables"
)

// dataFile is a data file whose end was read: it is known where what is.
type dataFile struct {
	location  string
	file      *datafile.File
	stretches []stretch
	// ordered: each stretch's offsets are above those of the one before.
	ordered bool
}

// stretch is a part of a data file that is read and kept as one.
type stretch = datafile.Stretch

// indexed is what is kept of a data file beside its records: its index, or which of its rows were deleted.
type indexed struct {
	data    *dataFile
	deleted *datafile.Positions
}

// source reads a data file of a store.
type source struct {
	store    store.Store
	location string
}

// ReadRange implements datafile.Source.
func (s source) ReadRange(ctx context.Context, p []byte, off int64) error {
	return s.store.ReadRange(ctx, s.location, p, off)
}

// stretchWeight is about what a stretch takes in memory, in bytes.
const stretchWeight = 112

// open returns a data file's index, which is read once.
func (r *Reader) open(ctx context.Context, f *tables.File) (*dataFile, error) {
	e, fresh := r.files.begin(f.Location)
	if fresh {
		go r.fill(e, func(ctx context.Context) (indexed, int64, error) { return r.readEnd(ctx, f.Location, f.Bytes) })
	}
	defer r.files.release(e)
	got, err := wait(ctx, e)
	return got.data, ofFile(f.Location, err)
}

// ofFile names the file that an error is about.
func ofFile(location string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("data file %s: %w", location, err)
}

// wait returns an entry's value once it is there.
func wait[K comparable, V any](ctx context.Context, e *entry[K, V]) (v V, err error) {
	select {
	case <-e.ready:
		return e.value, e.err
	default:
	}
	select {
	case <-e.ready:
		return e.value, e.err
	case <-ctx.Done():
		return v, context.Cause(ctx)
	}
}

// fill reads what an entry is to be. Whoever began it may wait no longer.
func (r *Reader) fill(e *entry[string, indexed], read func(context.Context) (indexed, int64, error)) {
	ctx, cancel := context.WithTimeout(context.Background(), loadTimeout)
	defer cancel()
	v, weight, err := read(ctx)
	r.files.end(e, v, weight, err)
}

func (r *Reader) readEnd(ctx context.Context, location string, size int64) (indexed, int64, error) {
	file, err := datafile.Open(ctx, source{r.tier.Store, location}, size)
	if err != nil {
		return indexed{}, 0, err
	}
	stretches, err := file.Stretches(ctx, source{r.tier.Store, location}, r.StretchBytes, r.StretchRows)
	if err != nil {
		return indexed{}, 0, err
	}
	d := &dataFile{location: location, file: file, stretches: stretches, ordered: true}
	for i := range d.stretches {
		s := &d.stretches[i]
		d.ordered = d.ordered && s.Least != math.MinInt64 && s.Most != math.MaxInt64 && (i == 0 || s.Least > d.stretches[i-1].Most)
	}
	return indexed{data: d}, file.Weight() + int64(len(d.stretches))*stretchWeight, nil
}

// deleted are the rows of a data file that files of position deletes name; nil: none.
func (r *Reader) deleted(ctx context.Context, s *snapshot, f *tables.File) (*datafile.Positions, error) {
	var files []tables.Deletes
	key := "\x00" + f.Location
	for i := range s.files.Deletes {
		if d := &s.files.Deletes[i]; d.Concerns(f) {
			files, key = append(files, *d), key+"\x00"+d.Location
		}
	}
	if len(files) == 0 {
		return nil, nil
	}
	e, fresh := r.files.begin(key)
	if fresh {
		go r.fill(e, func(ctx context.Context) (indexed, int64, error) { return r.readDeletes(ctx, f, files) })
	}
	defer r.files.release(e)
	got, err := wait(ctx, e)
	return got.deleted, err
}

func (r *Reader) readDeletes(ctx context.Context, f *tables.File, files []tables.Deletes) (indexed, int64, error) {
	deleted := datafile.NewPositions(f.Rows)
	for _, d := range files {
		err := datafile.ReadDeletes(ctx, source{r.tier.Store, d.Location}, d.Bytes, func(name string) *datafile.Positions {
			if tables.SameLocation(name, f.Location) {
				return deleted
			}
			return nil
		})
		if err != nil {
			return indexed{}, 0, fmt.Errorf("file of deletes %s: %w", strings.Clone(d.Location), err)
		}
	}
	return indexed{deleted: deleted}, deleted.Weight(), nil
}

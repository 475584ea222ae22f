package remote

import (
	"context"
	"math"

	"github.com/korvet-io/korvet/internal/iceberg/datafile"
	"github.com/korvet-io/korvet/internal/iceberg/store"
	"github.com/korvet-io/korvet/internal/iceberg/tables"
)

// dataFile is a data file whose end was read: it is known where what is.
type dataFile struct {
	location  string
	file      *datafile.File
	stretches []datafile.Stretch
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
const stretchWeight = 80

// open returns a data file's index, which is read once.
func (r *Reader) open(ctx context.Context, f *tables.File) (*dataFile, error) {
	e, fresh := r.files.begin(f.Location)
	if fresh {
		go r.readEnd(e, f.Bytes)
	}
	select {
	case <-e.ready:
		return e.value, e.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (r *Reader) readEnd(e *entry[string, *dataFile], size int64) {
	ctx, cancel := context.WithTimeout(context.Background(), loadTimeout)
	defer cancel()
	file, err := datafile.Open(ctx, source{r.tier.Store, e.key}, size)
	if err != nil {
		r.files.end(e, nil, 0, err)
		return
	}
	d := &dataFile{location: e.key, file: file, stretches: file.Stretches(r.StretchBytes, r.StretchRows)}
	r.files.end(e, d, file.Weight()+int64(len(d.stretches))*stretchWeight, nil)
}

// find is the stretch from which on to look for an offset. Stretches that do not tell their least offset are looked through.
func (d *dataFile) find(offset int64) int {
	at := 0
	for i := range d.stretches {
		if least := d.stretches[i].Least; least != math.MinInt64 {
			if least > offset {
				break
			}
			at = i
		}
	}
	return at
}

package remote

import (
	"context"
	"errors"

	"github.com/korvet-io/korvet/internal/iceberg/datafile"
)

// pieceKey names a stretch of a data file.
type pieceKey struct {
	location string
	stretch  int
}

// pieceEntry is a piece that is there or being read.
type pieceEntry = entry[pieceKey, *piece]

// piece returns a decoded stretch. Where it is not there it is read, together with those that follow up to about so many
// bytes of the file, which come into the cache one by one.
func (r *Reader) piece(ctx context.Context, d *dataFile, stretch int, bytes int64) (p *piece, hit bool, err error) {
	e, fresh := r.pieces.begin(pieceKey{d.location, stretch})
	if fresh {
		r.load(d, e, bytes)
	}
	p, err = wait(ctx, e)
	return p, !fresh, err
}

// load begins to read the stretch of a new entry and those after it in the same row group that nobody reads yet.
func (r *Reader) load(d *dataFile, first *pieceEntry, bytes int64) {
	run := []*pieceEntry{first}
	for i := first.key.stretch; bytes > d.stretches[i].Bytes && i+1 < len(d.stretches) && d.stretches[i].SameGroup(&d.stretches[i+1]); {
		bytes -= d.stretches[i].Bytes
		i++
		e, fresh := r.pieces.begin(pieceKey{d.location, i})
		if !fresh {
			break
		}
		run = append(run, e)
	}
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), loadTimeout)
		defer cancel()
		select {
		case r.slots <- struct{}{}:
			defer func() { <-r.slots }()
			r.decode(ctx, d, run)
		case <-ctx.Done():
			r.fail(run, context.Cause(ctx))
		}
	}()
}

// decode reads a run of stretches. Each is given out as soon as it is whole.
func (r *Reader) decode(ctx context.Context, d *dataFile, run []*pieceEntry) {
	from := run[0].key.stretch
	stretches := d.stretches[from : from+len(run)]
	p, bytes := newPiece(&stretches[0], r.StretchBytes), 0
	finish := func() {
		bytes = len(p.data)
		p.order()
		r.pieces.end(run[0], p, p.weight(), nil)
		run, stretches = run[1:], stretches[1:]
	}
	err := d.file.ReadStretches(ctx, source{r.tier.Store, d.location}, stretches, r.gap, func(row *datafile.Row) bool {
		for len(stretches) > 1 && row.Position >= stretches[0].Row+stretches[0].Rows {
			finish()
			p = newPiece(&stretches[0], int64(bytes+bytes/8))
		}
		p.add(row)
		return true
	})
	if err != nil {
		r.fail(run, err)
		return
	}
	for len(run) > 0 {
		finish()
		p = &piece{}
	}
}

func newPiece(s *datafile.Stretch, bytes int64) *piece {
	return &piece{rows: make([]row, 0, min(s.Rows, mostRowsAtOnce)), data: make([]byte, 0, min(bytes, mostBytesAtOnce))}
}

// Bounds of what a piece claims before its rows are seen.
const (
	mostRowsAtOnce  = 16 << 10
	mostBytesAtOnce = 4 << 20
)

// fail has whoever waits for a run know why it does not come.
func (r *Reader) fail(run []*pieceEntry, err error) {
	if err == nil {
		err = errors.New("nothing was read")
	}
	for _, e := range run {
		r.pieces.end(e, nil, 0, err)
	}
}

// ahead sees to it that the stretches from one on, of so many bytes of the file, are there soon. It reports whether that goes
// beyond the file's end.
func (r *Reader) ahead(d *dataFile, stretch int) (beyond bool) {
	bytes := r.AheadBytes
	for i := stretch; i < len(d.stretches) && bytes > 0; i++ {
		if !r.pieces.has(pieceKey{d.location, i}) {
			if bytes <= r.AheadBytes/2 && i+1 < len(d.stretches) { // soon it is more at once
				return false
			}
			if e, fresh := r.pieces.begin(pieceKey{d.location, i}); fresh {
				r.load(d, e, bytes)
			}
			return false
		}
		bytes -= d.stretches[i].Bytes
	}
	return bytes > 0
}

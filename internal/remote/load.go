package remote

import (
	"context"

	"github.com/korvet-io/korvet/internal/iceberg/datafile"
)

// pieceKey names a stretch of a data file.
type pieceKey struct {
	location string
	stretch  int
}

// piece is a stretch of a data file, decoded: its records by rising offsets.
type piece = datafile.Block

// pieceEntry is a piece that is there or being read.
type pieceEntry = entry[pieceKey, *piece]

// use calls do with a decoded stretch, which is do's until it returns. Where it is not there it is read, together with those that
// follow up to about so many bytes of the file, which come into the cache one by one.
func (r *Reader) use(ctx context.Context, d *dataFile, stretch int, bytes int64, do func(p *piece)) error {
	e := r.piece(d, stretch, bytes)
	defer r.pieces.release(e)
	p, err := wait(ctx, e)
	if err == nil {
		do(p)
	}
	return ofFile(d.location, err)
}

// piece begins to read a stretch that is not there. Its entry has to be released.
func (r *Reader) piece(d *dataFile, stretch int, bytes int64) *pieceEntry {
	e, fresh := r.pieces.begin(pieceKey{d.location, stretch})
	if fresh {
		r.load(d, e, bytes)
	}
	return e
}

// load begins to read the stretch of a new entry and those after it in the same row group that nobody reads yet.
func (r *Reader) load(d *dataFile, first *pieceEntry, bytes int64) {
	run := []*pieceEntry{first}
	for i := first.key.stretch; bytes > d.stretches[i].Bytes && i+1 < len(d.stretches) && d.stretches[i].SameGroup(&d.stretches[i+1]); {
		bytes -= d.stretches[i].Bytes
		i++
		e, fresh := r.pieces.begin(pieceKey{d.location, i})
		r.pieces.release(e)
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
	err := d.file.ReadBlocks(ctx, source{r.tier.Store, d.location}, d.stretches[from:from+len(run)], r.gap, r.Turns, func(b *datafile.Block) bool {
		b.Sort()
		r.pieces.end(run[0], b, b.Weight(), nil)
		run = run[1:]
		return true
	})
	if err != nil {
		r.fail(run, err)
	}
}

// fail has whoever waits for a run know why it does not come.
func (r *Reader) fail(run []*pieceEntry, err error) {
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
			r.pieces.release(r.piece(d, i, bytes))
			return false
		}
		bytes -= d.stretches[i].Bytes
	}
	return bytes > 0
}

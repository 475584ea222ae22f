package remote

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sort"

	"github.com/korvet-io/korvet/internal/iceberg/datafile"
	"github.com/korvet-io/korvet/internal/iceberg/tables"
	"github.com/korvet-io/korvet/internal/partition"
	"github.com/korvet-io/korvet/internal/record"
)

// walk is one reading of a partition's records.
type walk struct {
	*Reader
	ref      partition.Ref
	snapshot *snapshot
	q        partition.RemoteRead
	filter   *filter
	sink     partition.RemoteSink
	next     int64 // offset to go on with
	enough   bool  // the sink wants no more
	moved    bool  // records were passed on: the reader reads on
	rec      record.Record
}

// cluster gives the sink the records of one cluster.
func (w *walk) cluster(ctx context.Context, c *cluster) error {
	if len(c.files) == 1 {
		f := &c.files[0]
		if !w.filter.wantsFile(f) {
			return nil
		}
		d, err := w.open(ctx, f)
		if err != nil {
			return err
		}
		if d.ordered {
			return w.file(ctx, f, d)
		}
	}
	return w.merge(ctx, c)
}

// file gives the sink the records of a file whose stretches follow each other.
func (w *walk) file(ctx context.Context, f *tables.File, d *dataFile) error {
	deleted, err := w.deleted(ctx, w.snapshot, f)
	if err != nil {
		return err
	}
	i := sort.Search(len(d.stretches), func(i int) bool { return d.stretches[i].Most >= w.next })
	for ; i < len(d.stretches) && d.stretches[i].Least < w.q.End; i++ {
		if !w.filter.wantsStretch(&d.stretches[i]) {
			continue
		}
		p, hit, err := w.piece(ctx, d, i, int64(w.q.Bytes)/packedGuess)
		if err != nil {
			return ofFile(d.location, err)
		}
		if w.filter == nil && (hit || w.moved) {
			if w.ahead(d, i+1) {
				w.nextFile(f)
			}
		}
		for k := p.find(w.next); k < len(p.rows); k++ {
			if w.pass(p, k, deleted); w.enough {
				return nil
			}
		}
	}
	return nil
}

// nextFile has the file after one be read in advance.
func (w *walk) nextFile(f *tables.File) {
	list := w.snapshot.from(f.Partition, f.Last+1)
	if len(list) == 0 || list[0].first >= w.q.End || w.pieces.has(pieceKey{list[0].files[0].Location, 0}) {
		return
	}
	location := list[0].files[0].Location
	w.mu.Lock()
	begun := w.begun == location
	w.begun = location
	w.mu.Unlock()
	if !begun {
		w.Prepare(w.ref, partition.RemoteRead{From: list[0].first, End: w.q.End, Bytes: int(w.AheadBytes) * packedGuess, Epochs: w.q.Epochs})
	}
}

// packedGuess is about how many times smaller records are in a data file.
const packedGuess = 4

// pass gives the sink one row, unless a row with its offset came before: clients do not get over offsets that stand still.
func (w *walk) pass(p *piece, k int, deleted *datafile.Positions) {
	row := &p.rows[k]
	if row.offset < w.next {
		return
	}
	if row.offset >= w.q.End {
		w.next, w.enough = w.q.End, true
		return
	}
	if deleted == nil || !deleted.Has(row.position) {
		p.record(row, &w.rec)
		if !w.sink(&w.rec, row.appendMs) {
			w.next, w.enough = row.offset, true
			return
		}
	}
	w.next, w.moved = row.offset+1, true
}

// source of rows for merge: a stretch that is not read yet.
type waiting struct {
	d       *dataFile
	deleted *datafile.Positions
	stretch int
	least   int64
}

// head is a stretch that is being merged.
type head struct {
	p       *piece
	deleted *datafile.Positions
	row     int
}

// merge gives the sink the records of files whose offsets lie between each other's, or are in disorder.
func (w *walk) merge(ctx context.Context, c *cluster) error {
	left, err := w.stretchesOf(ctx, c)
	if err != nil {
		return err
	}
	var open []head
	for !w.enough {
		least := w.least(&open)
		if len(left) > 0 && (least < 0 || left[0].least <= open[least].offset()) {
			s := left[0]
			left = left[1:]
			p, _, err := w.piece(ctx, s.d, s.stretch, 0)
			if err != nil {
				return ofFile(s.d.location, err)
			}
			open = append(open, head{p, s.deleted, p.find(w.next)})
			continue
		}
		if least < 0 {
			return nil
		}
		w.pass(open[least].p, open[least].row, open[least].deleted)
	}
	return nil
}

func (h *head) offset() int64 { return h.p.rows[h.row].offset }

// least is the stretch with the next record; -1: there is none. Those that are at their end go; a record that is there twice is
// passed over.
func (w *walk) least(open *[]head) int {
	least := -1
	for i := 0; i < len(*open); {
		h := &(*open)[i]
		for h.row < len(h.p.rows) && h.offset() < w.next {
			h.row++
		}
		if h.row == len(h.p.rows) {
			*open = slices.Delete(*open, i, i+1)
			continue
		}
		if least < 0 || h.offset() < (*open)[least].offset() {
			least = i
		}
		i++
	}
	return least
}

// stretchesOf are those of a cluster that may have records which are wanted, by their least offsets.
func (w *walk) stretchesOf(ctx context.Context, c *cluster) (list []waiting, err error) {
	for i := range c.files {
		f := &c.files[i]
		if f.Last < w.next || f.First >= w.q.End || !w.filter.wantsFile(f) {
			continue
		}
		d, err := w.open(ctx, f)
		if err != nil {
			return nil, err
		}
		deleted, err := w.deleted(ctx, w.snapshot, f)
		if err != nil {
			return nil, err
		}
		for k := range d.stretches {
			s := &d.stretches[k]
			least := s.Least
			if least == math.MinInt64 {
				least = f.First
			}
			if s.Most >= w.next && least < w.q.End && w.filter.wantsStretch(s) {
				list = append(list, waiting{d, deleted, k, least})
			}
		}
	}
	slices.SortFunc(list, func(a, b waiting) int { return cmp.Compare(a.least, b.least) })
	return list, nil
}

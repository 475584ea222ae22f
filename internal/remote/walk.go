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
		err := w.use(ctx, d, i, int64(w.q.Bytes)/packedGuess, func(p *piece) {
			if w.filter == nil && (w.q.Ahead || w.moved) && w.ahead(d, i+1) { // not for one who only looks at a place
				w.nextFile(f)
			}
			for k := find(p, w.next); k < p.Len() && !w.enough; k++ {
				w.pass(p, k, deleted)
			}
		})
		if err != nil || w.enough {
			return err
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
	offset := p.Offsets[k]
	if offset < w.next {
		return
	}
	if offset >= w.q.End {
		w.next, w.enough = w.q.End, true
		return
	}
	if deleted == nil || !deleted.Has(p.Position(k)) {
		p.Record(k, &w.rec)
		if !w.sink(&w.rec, p.AppendMs[k]) {
			w.next, w.enough = offset, true
			return
		}
	}
	w.next, w.moved = offset+1, true
}

// find is the first row of a piece with an offset or one after it.
func find(p *piece, offset int64) int {
	k, _ := slices.BinarySearch(p.Offsets, offset)
	return k
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
	e       *pieceEntry
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
	defer func() {
		for i := range open {
			w.pieces.release(open[i].e)
		}
	}()
	for !w.enough {
		least := w.least(&open)
		if len(left) > 0 && (least < 0 || left[0].least <= open[least].offset()) {
			s := left[0]
			left = left[1:]
			e := w.piece(s.d, s.stretch, 0)
			p, err := wait(ctx, e)
			if err != nil {
				w.pieces.release(e)
				return ofFile(s.d.location, err)
			}
			open = append(open, head{e, p, s.deleted, find(p, w.next)})
			continue
		}
		if least < 0 {
			return nil
		}
		w.pass(open[least].p, open[least].row, open[least].deleted)
	}
	return nil
}

func (h *head) offset() int64 { return h.p.Offsets[h.row] }

// least is the stretch with the next record; -1: there is none. Those that are at their end go; a record that is there twice is
// passed over.
func (w *walk) least(open *[]head) int {
	least := -1
	for i := 0; i < len(*open); {
		h := &(*open)[i]
		for h.row < h.p.Len() && h.offset() < w.next {
			h.row++
		}
		if h.row == h.p.Len() {
			w.pieces.release(h.e)
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

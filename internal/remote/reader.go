package remote

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/korvet-io/korvet/internal/iceberg/chain"
	"github.com/korvet-io/korvet/internal/iceberg/datafile"
	"github.com/korvet-io/korvet/internal/iceberg/store"
	"github.com/korvet-io/korvet/internal/iceberg/tables"
	"github.com/korvet-io/korvet/internal/partition"
	"github.com/korvet-io/korvet/internal/record"
)

// ReaderSettings bound what a reader keeps and does at once.
type ReaderSettings struct {
	IndexBytes   int64         // memory for the indexes of data files (remote.log.index.file.cache.total.size.bytes)
	CacheBytes   int64         // memory for records read last and in advance
	Stale        time.Duration // what is known of a table is read anew beside reads when it is so old
	Loads        int           // files read side by side
	StretchBytes int64         // of a data file, which are decoded and kept together
	StretchRows  int64         // the same in rows: whichever comes first
	AheadBytes   int64         // of a data file, which are read in advance for a consumer that reads on
}

// DefaultReaderSettings are the documented defaults.
func DefaultReaderSettings() ReaderSettings {
	return ReaderSettings{
		IndexBytes: 1 << 30, CacheBytes: 128 << 20, Stale: 30 * time.Second, Loads: 8,
		StretchBytes: 256 << 10, StretchRows: 4000, AheadBytes: 1 << 20,
	}
}

const (
	// loadTimeout bounds each reading of the store, which goes on when whoever began it waits no longer.
	loadTimeout = time.Minute
	// fileGap and objectGap are how many bytes that nobody needs are read along rather than two ranges: a request to an object
	// store takes as long as some megabytes.
	fileGap   = 64 << 10
	objectGap = 8 << 20
	// prepared is how many readings may be begun in advance of requests at once.
	prepared = 64
)

// Errors that are the remote tier's own.
var (
	errNoTable    = errors.New("no table")
	errNotCovered = errors.New("records are missing in the table")
)

// Reader reads the records of the remote tier's tables. It is safe for concurrent use.
type Reader struct {
	ReaderSettings
	tier *Tier
	gap  int64
	now  func() time.Duration

	mu      sync.Mutex
	indexes map[string]*index // by location
	told    map[string]string // what was logged of what, so that it is said once
	files   *cache[string, *dataFile]
	pieces  *cache[pieceKey, *piece]
	slots   chan struct{}
	prepare chan struct{}
}

var _ partition.Remote = (*Reader)(nil)

// NewReader returns a reader of a tier. It reads nothing yet. indexBytes is told how much the kept indexes take; it may be nil.
func NewReader(t *Tier, s ReaderSettings, indexBytes func(int64)) *Reader {
	began := time.Now()
	r := &Reader{
		ReaderSettings: s, tier: t, gap: objectGap, now: func() time.Duration { return time.Since(began) },
		indexes: map[string]*index{}, told: map[string]string{},
		files: newCache[string, *dataFile](s.IndexBytes), pieces: newCache[pieceKey, *piece](s.CacheBytes),
		slots: make(chan struct{}, s.Loads), prepare: make(chan struct{}, prepared),
	}
	r.files.changed = indexBytes
	if strings.HasPrefix(t.Path, "file:") {
		r.gap = fileGap
	}
	return r
}

// SetIndexBytes changes how much memory the indexes of data files may take.
func (r *Reader) SetIndexBytes(n int64) { r.files.limit(n) }

// Read implements partition.Remote.
func (r *Reader) Read(ctx context.Context, ref partition.Ref, q partition.RemoteRead, sink partition.RemoteSink) (int64, error) {
	x, err := r.index(ref.ID)
	if err != nil {
		return q.From, r.wrap(ref, "", err)
	}
	next, gone := q.From, (*snapshot)(nil)
	for next < q.End {
		s, err := x.covering(ctx, ref.Partition, next, r.Stale)
		if err == nil && s == gone { // it names a file that is not there: engines have rewritten it
			s, err = x.renew(ctx, gone)
		}
		if err != nil {
			return next, r.wrap(ref, "", err)
		}
		f, ok := s.file(ref.Partition, next)
		if !ok || f.First >= q.End { // what was there was deleted
			next = min(q.End, s.ends[ref.Partition])
			continue
		}
		to, enough, err := r.readFile(ctx, s, &f, max(next, f.First), q, sink)
		next = to
		switch {
		case errors.Is(err, store.ErrNotFound) && gone == nil:
			gone = s
		case err != nil:
			return next, r.wrap(ref, f.Location, err)
		case enough:
			return next, nil
		default:
			next, gone = max(next, min(f.Last+1, q.End)), nil
		}
	}
	return next, nil
}

// readFile gives the sink the records of one file.
func (r *Reader) readFile(ctx context.Context, s *snapshot, f *tables.File, from int64, q partition.RemoteRead, sink partition.RemoteSink) (next int64, enough bool, err error) {
	next = from
	d, err := r.open(ctx, f)
	if err != nil {
		return next, false, err
	}
	for i := d.find(from); i < len(d.stretches) && next < q.End; i++ {
		p, hit, err := r.piece(ctx, d, i, int64(q.Bytes)/packedGuess)
		if err != nil {
			return next, false, err
		}
		if hit || next > from {
			r.ahead(d, i+1)
		}
		if next, enough = p.emit(next, q.End, sink); enough {
			return next, true, nil
		}
	}
	return next, false, nil
}

// packedGuess is about how many times smaller records are in a data file.
const packedGuess = 4

// emit gives the sink the records in [from, end). next is where to go on.
func (p *piece) emit(from, end int64, sink partition.RemoteSink) (next int64, enough bool) {
	var rec record.Record
	for i := p.find(from); i < len(p.rows); i++ {
		w := &p.rows[i]
		if w.offset >= end {
			return end, true
		}
		p.record(w, &rec)
		if !sink(&rec, w.appendMs) {
			return w.offset, true
		}
		from = w.offset + 1
	}
	return from, false
}

// Prepare implements partition.Remote.
func (r *Reader) Prepare(ref partition.Ref, q partition.RemoteRead) {
	select {
	case r.prepare <- struct{}{}:
	default:
		return
	}
	go func() {
		defer func() { <-r.prepare }()
		ctx, cancel := context.WithTimeout(context.Background(), loadTimeout)
		defer cancel()
		_, _ = r.Read(ctx, ref, q, func(*record.Record, int64) bool { return false }) // the Read that follows tells the error
	}()
}

// wrap gives an error its kind, and logs it when it is new.
func (r *Reader) wrap(ref partition.Ref, location string, err error) error {
	kind := partition.ErrRemoteAway
	for _, bad := range []error{errNoTable, errNotCovered, chain.ErrNoTable, datafile.ErrCorrupt, store.ErrNotFound, store.ErrShort, store.ErrDenied} {
		if errors.Is(err, bad) {
			kind = partition.ErrRemote
		}
	}
	if location != "" {
		return fmt.Errorf("%w: data file %s: %w", kind, location, err)
	}
	return fmt.Errorf("%w: %w", kind, err)
}

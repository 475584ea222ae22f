package remote

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/korvet-io/korvet/internal/iceberg/datafile"
	"github.com/korvet-io/korvet/internal/iceberg/store"
	"github.com/korvet-io/korvet/internal/partition"
	"github.com/korvet-io/korvet/internal/record"
)

// ReaderSettings bound what a reader keeps and does at once.
type ReaderSettings struct {
	IndexBytes   int64          // memory for the indexes of data files (remote.log.index.file.cache.total.size.bytes)
	CacheBytes   int64          // memory for records read last and in advance
	Stale        time.Duration  // what is known of a table is read anew beside reads when it is so old
	Loads        int            // files read side by side
	StretchBytes int64          // of a data file, which are decoded and kept together
	StretchRows  int64          // the same in rows: whichever comes first
	AheadBytes   int64          // of a data file, which are read in advance for a consumer that reads on
	Turns        datafile.Turns // of decoding; nil: as many at once as there are files
}

// DefaultReaderSettings are the documented defaults.
func DefaultReaderSettings() ReaderSettings {
	return ReaderSettings{
		IndexBytes: 1 << 30, CacheBytes: 128 << 20, Stale: 30 * time.Second, Loads: 8,
		StretchBytes: 256 << 10, StretchRows: 1000, AheadBytes: 1 << 20,
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

// Reader reads the records of the remote tier's tables. It is safe for concurrent use.
type Reader struct {
	ReaderSettings
	tier *Tier
	gap  int64
	now  func() time.Duration

	mu      sync.Mutex
	indexes map[string]*index        // by location
	told    map[partition.Ref]string // the failure that was logged last, of partitions that were not read since
	files   *cache[string, indexed]
	pieces  *cache[pieceKey, *piece]
	begun   string // the file that was begun last because the one before was nearly read
	slots   chan struct{}
	prepare chan struct{}
}

var _ partition.Remote = (*Reader)(nil)

// NewReader returns a reader of a tier. It reads nothing yet. indexBytes is told how much the kept indexes take; it may be nil.
func NewReader(t *Tier, s ReaderSettings, indexBytes func(int64)) *Reader {
	began := time.Now()
	r := &Reader{
		ReaderSettings: s, tier: t, gap: objectGap, now: func() time.Duration { return time.Since(began) },
		indexes: map[string]*index{}, told: map[partition.Ref]string{},
		files: newCache[string, indexed](s.IndexBytes), pieces: newCache[pieceKey, *piece](s.CacheBytes),
		slots: make(chan struct{}, s.Loads), prepare: make(chan struct{}, prepared),
	}
	r.files.changed = indexBytes
	r.pieces.unused = (*piece).Free
	if strings.HasPrefix(t.Path, "file:") {
		r.gap = fileGap
	}
	return r
}

// SetIndexBytes changes how much memory the indexes of data files may take.
func (r *Reader) SetIndexBytes(n int64) { r.files.limit(n) }

// Read implements partition.Remote.
func (r *Reader) Read(ctx context.Context, ref partition.Ref, q partition.RemoteRead, sink partition.RemoteSink) (int64, error) {
	return r.read(ctx, ref, q, nil, sink)
}

// read is Read without what a filter passes over. A file that is not there any more was rewritten by an engine: the table says
// what there is instead.
func (r *Reader) read(ctx context.Context, ref partition.Ref, q partition.RemoteRead, filter *filter, sink partition.RemoteSink) (int64, error) {
	x, err := r.index(ref.ID)
	if err != nil {
		return q.From, r.failed(ref, err)
	}
	w := walk{Reader: r, ref: ref, q: q, filter: filter, sink: sink, next: q.From}
	var gone *snapshot
	for w.next < q.End && !w.enough {
		s, end, err := x.ofLog(ctx, ref.Partition, &q, w.next, r.Stale)
		if err == nil && s == gone {
			s, err = x.renew(ctx, gone)
		}
		if err != nil {
			return w.next, r.failed(ref, err)
		}
		w.snapshot, w.q.End = s, end
		list := s.from(ref.Partition, w.next)
		if len(list) == 0 || list[0].first >= end { // what was there was deleted
			w.next = max(w.next, min(end, s.ends[ref.Partition]))
			continue
		}
		w.next = max(w.next, list[0].first)
		switch err := w.cluster(ctx, &list[0]); {
		case errors.Is(err, store.ErrNotFound) && gone == nil:
			gone = s
		case err != nil:
			return w.next, r.failed(ref, err)
		case !w.enough:
			w.next, gone = max(w.next, min(list[0].last+1, end)), nil
		}
	}
	r.succeeded(ref)
	return w.next, nil
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

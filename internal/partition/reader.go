package partition

import (
	"cmp"
	"slices"
	"sync"

	"github.com/korvet-io/korvet/internal/batch"
	"github.com/korvet-io/korvet/internal/record"
	"github.com/korvet-io/korvet/internal/redisstream"
)

// entrySink takes the log's entries in offset order.
type entrySink interface {
	// take reports whether it took the entry and wants more.
	take(e *redisstream.Entry) bool
	// room is how many more bytes it would take.
	room() int
}

// filter passes on the entries that belong to the log.
type filter struct {
	next, end int64 // offsets still to pass on
	sink      entrySink
	trusted   bool           // the registry was read just now: a gap is a hole
	gap       bool           // the first entry came after the one that was due
	took      int            // entries passed on of this page
	full      bool           // the end, or all the sink wanted
	last      redisstream.ID // newest entry dealt with
	holes     bool           // offsets were missing between entries
	anchor    redisstream.ID // an entry dealt with before; seen again, it shows that the stream is still the same
	anchored  bool           // it was
}

// PutEntry takes one entry of an XRANGE.
func (f *filter) PutEntry(e *redisstream.Entry) bool {
	offset := e.Record.Offset
	switch {
	case offset < f.next || e.Foreign:
		f.last = e.ID
		if e.ID == f.anchor {
			f.trusted, f.anchored = true, true
		}
		return true
	case offset > f.next && f.took == 0 && !f.trusted:
		f.gap = true
		return false
	case offset >= f.end || !f.sink.take(e):
		f.full = true
		return false
	}
	f.took++
	f.holes = f.holes || offset > f.next
	f.next = offset + 1
	f.last = e.ID
	return true
}

// maxBatchBytes bounds a rebuilt batch: clients read a batch whole.
const maxBatchBytes = 1 << 20

// reader rebuilds record batches from entries. A batch ends where the leader epoch or the kind of timestamp changes.
type reader struct {
	builder batch.Builder
	epochs  []redisstream.Epoch
	out     []byte
	start   int // of what this read appended
	limit   int
	codec   batch.Codec
	level   int
	whole   bool // the first record comes even if it exceeds the limit
	open    bool // the builder has records
	stamped bool // the topic stamps the append time
	header  bool // every record gets its append time as a header
	headed  record.Record
	headers []byte // of headed
	opt     batch.BuildOptions
	until   int64 // offset at which the epoch of opt ends
	values  decoder
}

func (r *reader) begin(epochs []redisstream.Epoch, req ReadRequest, dst []byte, maxValue int) {
	r.epochs, r.out, r.start, r.limit, r.whole = epochs, dst, len(dst), req.MaxBytes, req.AtLeastOne
	r.codec, r.level = req.Codec, req.Level
	if req.NoZstd && r.codec == batch.Zstd {
		r.codec = batch.None
	}
	r.open, r.until, r.stamped, r.header = false, 0, req.LogAppendTime, req.AppendTimeHeader
	r.values.begin(req.Values, maxValue)
}

func (r *reader) take(e *redisstream.Entry) bool {
	r.due(e.Record.Offset, e.AppendTime)
	if !r.values.decode(e) {
		return false
	}
	rec := r.withTime(&e.Record, int64(e.ID.Ms))
	return r.put(rec, e.Size+len(rec.Headers)-len(e.Record.Headers), e.AppendTime)
}

// takeRemote takes a record of the remote tier.
func (r *reader) takeRemote(rec *record.Record, appendMs int64) bool {
	appendTime := r.stamped && rec.Timestamp == appendMs
	r.due(rec.Offset, appendTime)
	rec = r.withTime(rec, appendMs)
	return r.put(rec, len(rec.Key)+len(rec.Value)+len(rec.Headers)+recordOverhead, appendTime)
}

// withTime is the record with its append time as a header, where that is wanted.
func (r *reader) withTime(rec *record.Record, ms int64) *record.Record {
	if !r.header {
		return rec
	}
	r.headed = *rec
	r.headers = record.WithAppendTime(r.headers[:0], rec.Headers, ms)
	r.headed.Headers = r.headers
	return &r.headed
}

// recordOverhead is about what a record takes in a batch beside its key, value and headers.
const recordOverhead = 12

// due ends the batch where the record at an offset cannot be in it.
func (r *reader) due(offset int64, appendTime bool) {
	if r.open && (appendTime != r.opt.LogAppendTime || offset >= r.until) {
		r.flush()
	}
}

// put adds a record of about so many bytes, unless that is more than was asked for.
func (r *reader) put(rec *record.Record, bytes int, appendTime bool) bool {
	size := r.size()
	if size > 0 && size+bytes > r.limit || size == 0 && !r.whole && batch.HeaderSize+bytes > r.limit {
		return false
	}
	if r.open && r.builder.Put(rec) {
		return true
	}
	r.flush()
	r.opt = batch.BuildOptions{Codec: r.codec, Level: r.level, LogAppendTime: appendTime, MaxBytes: maxBatchBytes}
	r.opt.LeaderEpoch, r.until = epochOf(r.epochs, rec.Offset)
	r.builder.Reset(r.out, r.opt)
	r.open = true
	return r.builder.Put(rec)
}

func (r *reader) room() int { return r.values.stored(max(0, r.limit-r.size())) }

// size is what this read has so far.
func (r *reader) size() int {
	n := len(r.out) - r.start
	if r.open {
		n += r.builder.Len()
	}
	return n
}

func (r *reader) flush() {
	if r.open {
		r.out = r.builder.Finish()
		r.open = false
	}
}

// finish returns the buffer given to begin with the batches appended, and lets go of it.
func (r *reader) finish() []byte {
	r.flush()
	out := r.out
	r.out, r.epochs, r.headed = nil, nil, record.Record{}
	r.values.end()
	return out
}

// epochOf finds the leader epoch that the record at offset was written under, and the offset at which it ends.
func epochOf(epochs []redisstream.Epoch, offset int64) (epoch int32, until int64) {
	until = everybody
	for i := len(epochs) - 1; i >= 0; i-- {
		if epochs[i].Start <= offset {
			return epochs[i].Epoch, until
		}
		until = epochs[i].Start
	}
	return 0, until
}

// endOfEpoch answers OffsetForLeaderEpoch (KIP-320): the largest epoch not above the one asked for, and where it ends.
func endOfEpoch(epochs []redisstream.Epoch, current, asked int32, end int64) (epoch int32, offset int64) {
	if asked == current {
		return asked, end
	}
	i, found := slices.BinarySearchFunc(epochs, asked, func(e redisstream.Epoch, a int32) int { return cmp.Compare(e.Epoch, a) })
	if found {
		i++
	}
	switch {
	case i == len(epochs) || asked < 0:
		return -1, -1
	case i == 0:
		return asked, epochs[0].Start
	}
	return epochs[i-1].Epoch, epochs[i].Start
}

// positions remembers where reads ended, so that the next one knows its id, and how large entries are.
type positions struct {
	mu    sync.Mutex
	known [16]position
	turn  int
	size  float64 // mean bytes of an entry in an answer, newest reads count most
}

// position says that the entries from offset next on have ids above id.
type position struct {
	next int64
	id   redisstream.ID
}

// find returns the id after which the entry of an offset is, or the zero one.
func (p *positions) find(offset int64) redisstream.ID {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, k := range p.known {
		if k.next == offset {
			return k.id
		}
	}
	return redisstream.ID{}
}

func (p *positions) save(next int64, id redisstream.ID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.known {
		if p.known[i].next == next {
			p.known[i].id = id
			return
		}
	}
	p.known[p.turn] = position{next, id}
	p.turn = (p.turn + 1) % len(p.known)
}

// forget drops all positions: the log is another one.
func (p *positions) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.known = [16]position{}
}

// fewEntries is how many are asked for while nobody knows how large they are.
const fewEntries = 8

// count is how many entries fit into so many bytes.
func (p *positions) count(bytes int) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.size == 0 {
		return fewEntries
	}
	return max(1, int(float64(bytes)/p.size))
}

// measure learns from an answer.
func (p *positions) measure(page redisstream.Page) {
	if page.Entries == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	mean := float64(page.Bytes) / float64(page.Entries)
	if p.size == 0 || mean > p.size { // larger entries at once: an answer must not grow beyond what was asked
		p.size = mean
	} else {
		p.size += (mean - p.size) / 4
	}
}

package remote

import (
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/korvet-io/korvet/internal/batch"
	"github.com/korvet-io/korvet/internal/iceberg/datafile"
	"github.com/korvet-io/korvet/internal/iceberg/tables"
	"github.com/korvet-io/korvet/internal/partition"
	"github.com/korvet-io/korvet/internal/record"
	"github.com/korvet-io/korvet/internal/redisstream"
	"github.com/korvet-io/korvet/internal/redistest"
)

// world is one partition over all tiers: brokers, a producer, and a copier that does what the storage worker does.
type world struct {
	*rig
	redis   *redistest.Server
	shard   *redisstream.Shard
	keys    redisstream.Keys
	claim   redisstream.Claim
	written atomic.Int64 // records acknowledged
}

type nobody struct{}

func (nobody) AppendDone(int, int, time.Duration, error)  {}
func (nobody) ReadDone(string, int, time.Duration, error) {}
func (nobody) Fenced(string)                              {}
func (nobody) Truncated(partition.Ref, int64)             {}
func (nobody) ValuesCompressed(partition.Ref, int, int)   {}
func (nobody) ValueCorrupt(partition.Ref)                 {}

func newWorld(t testing.TB, s ReaderSettings) *world {
	w := &world{rig: newRig(t, s), redis: redistest.Start(t)}
	w.shard = w.openShard()
	w.keys = redisstream.NewKeys("korvet", w.ref.Topic, 0)
	w.claim = redisstream.Claim{TopicID: w.ref.TopicID(), Fence: 1}
	return w
}

func (w *world) openShard() *redisstream.Shard {
	o, err := redisstream.ParseURI(w.redis.URI())
	if err != nil {
		w.Fatal(err)
	}
	o.WriteConnections, o.ReadConnections, o.DialTimeout = 2, 2, 2*time.Second
	shard := redisstream.Open(o, slog.New(slog.DiscardHandler))
	w.Cleanup(shard.Close)
	return shard
}

func (w *world) broker(owner string) *partition.Manager {
	s := partition.DefaultSettings()
	s.Owner, s.TailCacheBytes, s.RemoteMaxWait = owner, 20<<10, time.Minute
	m := partition.NewManager(s, partition.Dependencies{
		Shard: w.openShard(), Remote: NewReader(w.tier, w.reader.ReaderSettings, nil), Observer: nobody{}, Log: slog.New(slog.DiscardHandler),
	})
	w.Cleanup(func() { w.close(m) })
	return m
}

func (w *world) close(m *partition.Manager) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	_ = m.Close(ctx)
}

// firstTimestamp is that of offset 0. Each record's is one above that of the one before.
const firstTimestamp = 1_600_000_000_000

func value(o int64) string { return fmt.Sprintf("value of %d ....................................", o) }

// produce appends n records, a batch at a time.
func (w *world) produce(m *partition.Manager, n int) {
	w.Helper()
	for ; n > 0; n -= 20 {
		base := w.written.Load()
		var b batch.Builder
		b.Reset(nil, batch.BuildOptions{})
		for i := base; i < base+20; i++ {
			b.Put(&record.Record{Offset: i - base, Timestamp: firstTimestamp + i, Key: []byte("k"), Value: []byte(value(i))})
		}
		raw := b.Finish()
		redistest.Eventually(w, "a batch to be accepted", func() bool {
			parsed, err := batch.Parse(slices.Clone(raw), batch.Limits{})
			if err != nil {
				w.Error(err)
				return true
			}
			done := make(chan error, 1)
			opt := partition.AppendOptions{AllReplicas: true, Segment: partition.SegmentPolicy{Bytes: 30 << 10}}
			m.Append(w.ref, parsed, opt, func(a partition.Appended, err error) {
				if err == nil && a.BaseOffset != base {
					w.Errorf("appended at %d, want %d", a.BaseOffset, base)
				}
				done <- err
			})
			return <-done == nil
		})
		w.written.Add(20)
	}
}

// rows takes entries as rows of a data file.
type rows struct{ list []datafile.Row }

func (r *rows) PutEntry(e *redisstream.Entry) bool {
	rec := e.Record
	rec.Key, rec.Value = slices.Clone(rec.Key), slices.Clone(rec.Value)
	r.list = append(r.list, datafile.Row{Record: rec, AppendMs: int64(e.ID.Ms)})
	return true
}

// tick is one of the storage worker's, as it does them: note what an earlier tick committed, copy, drop all but so many segments.
func (w *world) tick(ctx context.Context, keep int) error {
	v, err := w.shard.Look(ctx, w.keys)
	if err != nil {
		return err
	}
	state, err := w.table.State(ctx)
	if err != nil {
		return err
	}
	end := state.Ends[0]
	if end > 0 {
		if _, err := w.shard.SetTiered(ctx, w.keys, w.claim, end); err != nil {
			return err
		}
	}
	var files []tables.Added
	for _, seg := range v.Segments {
		if seg.Base < end {
			continue
		}
		var got rows
		if _, err := w.shard.Range(ctx, w.keys.Segment(seg.Number), redisstream.ID{}, true, 1<<20, &got); err != nil {
			return err
		}
		offsets := make([]int64, len(got.list))
		for i := range got.list {
			offsets[i] = got.list[i].Offset
		}
		files = append(files, w.write(offsets, func(o int64) datafile.Row { return got.list[o-got.list[0].Offset] }, testOptions))
	}
	if len(files) > 0 {
		if _, err := w.table.Append(ctx, state, 1, files); err != nil {
			return err
		}
	}
	for i := 0; i < len(v.Segments)-keep && v.Segments[i].Last < end; i++ {
		if _, err := w.shard.DropSegment(ctx, w.keys, w.claim, v.Segments[i]); err != nil {
			return err
		}
	}
	return nil
}

// check reads records from an offset on, once, and returns the next offset.
func (w *world) check(m *partition.Manager, from int64, most int) int64 {
	res, err := m.Read(context.Background(), w.ref, partition.ReadRequest{Offset: from, MaxBytes: most, AtLeastOne: true}, nil)
	if err != nil {
		w.Errorf("read at %d: %v", from, err)
		return -1
	}
	next := from
	for rest := res.Batches; len(rest) > 0; {
		h, ok := batch.Peek(rest)
		var b kmsg.RecordBatch
		if err := b.ReadFrom(rest[:max(h.Size, 0)]); !ok || err != nil {
			w.Errorf("read at %d: batch %+v: %v", from, h, err)
			return -1
		}
		for body := b.Records; len(body) > 0; {
			var r kmsg.Record
			length, n := binary.Varint(body)
			if err := r.ReadFrom(body[:n+int(length)]); err != nil {
				w.Errorf("read at %d: %v", from, err)
				return -1
			}
			body = body[n+int(length):]
			if o := b.FirstOffset + int64(r.OffsetDelta); o >= from {
				if o != next || string(r.Value) != value(o) || b.FirstTimestamp+r.TimestampDelta64 != firstTimestamp+o || string(r.Key) != "k" {
					w.Errorf("read at %d: offset %d (%q) where %d is next", from, o, r.Value, next)
					return -1
				}
				next++
			}
		}
		rest = rest[h.Size:]
	}
	return next
}

// loop does what a consumer does until the context ends or it fails.
func (w *world) loop(ctx context.Context, all *sync.WaitGroup, step func() bool) {
	all.Go(func() {
		for ctx.Err() == nil && !w.Failed() {
			if !step() {
				return
			}
		}
	})
}

func TestOneLogWhileSegmentsAreCopiedAndDropped(t *testing.T) {
	w := newWorld(t, small())
	first, second := w.broker("1/a"), w.broker("2/b")
	w.produce(first, 200)
	ctx, stop := context.WithCancel(t.Context())
	var all, behind sync.WaitGroup
	copying, halt := context.WithCancel(t.Context())
	defer halt()
	for i, m := range []*partition.Manager{first, second} {
		random := rand.New(rand.NewPCG(uint64(i), 9))
		next := int64(0)
		w.loop(ctx, &all, func() bool { // from the start, over and over
			if next >= w.written.Load() {
				next = 0
			}
			next = w.check(m, next, 20_000)
			return next >= 0
		})
		spots := rand.New(rand.NewPCG(uint64(i), 8))
		w.loop(ctx, &all, func() bool {
			from := spots.Int64N(w.written.Load())
			if next := w.check(m, from, 3000); next <= from {
				w.Errorf("nothing at %d of %d", from, w.written.Load())
				return false
			}
			return true
		})
		w.loop(ctx, &all, func() bool {
			written := w.written.Load()
			o := random.Int64N(written)
			got, err := m.OffsetForTime(context.Background(), w.ref, firstTimestamp+o)
			if err != nil || got.Offset != o || got.Timestamp != firstTimestamp+o {
				w.Errorf("time of %d of %d: %+v, %v", o, written, got, err)
				return false
			}
			largest, err := m.MaxTimestamp(context.Background(), w.ref)
			if err != nil || largest.Offset < written-1 || largest.Timestamp != firstTimestamp+largest.Offset {
				w.Errorf("largest of %d: %+v, %v", written, largest, err)
				return false
			}
			b, err := m.Bounds(context.Background(), w.ref)
			if err != nil || b.LogStart != 0 || b.LocalStart > b.HighWatermark || b.LocalStart > 0 && b.TieredEnd < b.LocalStart {
				w.Errorf("bounds %+v, %v", b, err)
				return false
			}
			return true
		})
	}
	keep := rand.New(rand.NewPCG(5, 5))
	w.loop(copying, &behind, func() bool {
		if err := w.tick(context.Background(), keep.IntN(3)); err != nil {
			w.Error(err)
			return false
		}
		return true
	})
	w.produce(first, 4000)
	stop()
	all.Wait()
	if t.Failed() {
		return
	}
	w.close(first)
	ctx, stop = context.WithCancel(t.Context())
	next := int64(0)
	w.loop(ctx, &all, func() bool {
		next = w.check(second, next, 20_000) % max(1, w.written.Load())
		return next >= 0
	})
	w.produce(second, 2000)
	stop()
	all.Wait()
	redistest.Eventually(t, "all sealed segments to be in the table", func() bool {
		b, err := second.Bounds(t.Context(), w.ref)
		return err == nil && b.LocalStart > 5000
	})
	halt()
	behind.Wait()
	third := w.broker("3/c")
	for next := int64(0); next < w.written.Load() && !t.Failed(); {
		next = w.check(third, next, 50_000)
	}
	v, err := w.shard.Look(t.Context(), w.keys)
	if err != nil || v.LocalStart < 4000 || len(v.Segments) > 3 {
		t.Errorf("in the end Redis has %d to %d in %d segments, %v", v.LocalStart, v.LastSeq, len(v.Segments), err)
	}
}

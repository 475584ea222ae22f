package partition_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/korvet-io/korvet/internal/batch"
	"github.com/korvet-io/korvet/internal/partition"
	"github.com/korvet-io/korvet/internal/record"
	"github.com/korvet-io/korvet/internal/redisstream"
	"github.com/korvet-io/korvet/internal/redistest"
)

// fakeRemote is a remote tier in memory. Record n is "n" at time 1000 + n, unless hole says that it was deleted.
type fakeRemote struct {
	mu       sync.Mutex
	fail     error
	held     *redisstream.Remote
	hole     func(int64) bool
	prepared []partition.RemoteRead
}

func (f *fakeRemote) set(fail error, hole func(int64) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fail, f.hole = fail, hole
}

func (f *fakeRemote) Read(_ context.Context, _ partition.Ref, q partition.RemoteRead, sink partition.RemoteSink) (int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fail != nil {
		return q.From, f.fail
	}
	for o := q.From; o < q.End; o++ {
		if f.hole != nil && f.hole(o) {
			continue
		}
		if !sink(&record.Record{Offset: o, Timestamp: 1000 + o, Value: fmt.Append(nil, o)}, 1000+o) {
			return o, nil
		}
	}
	return q.End, nil
}

func (f *fakeRemote) SeekTime(ctx context.Context, _ partition.Ref, ms int64, q partition.RemoteRead) (partition.TimeOffset, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	found := partition.TimeOffset{Offset: -1}
	if f.fail != nil {
		<-ctx.Done()
		return found, f.fail
	}
	if o := max(q.From, ms-1000); o < q.End {
		found = partition.TimeOffset{Offset: o, Timestamp: 1000 + o}
	}
	return found, nil
}

func (f *fakeRemote) Largest(_ context.Context, _ partition.Ref, q partition.RemoteRead) (partition.TimeOffset, error) {
	return partition.TimeOffset{Offset: q.End - 1, Timestamp: 1000 + q.End - 1}, nil
}

func (f *fakeRemote) Holds(context.Context, partition.Ref) (*redisstream.Remote, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.held, f.fail
}

func (f *fakeRemote) Prepare(_ partition.Ref, q partition.RemoteRead) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.prepared = append(f.prepared, q)
}

// tiers is a log of 60 records in segments of ten. Redis has those from 40 on, the remote tier those below 50. The last ten were
// written under another leader epoch.
func tiers(t *testing.T, remote partition.Remote, o partition.Observer) (*fixture, partition.Ref, redisstream.Keys) {
	t.Helper()
	s := redistest.Start(t)
	open := func(owner string) *fixture {
		return newBroker(t, s, owner, func(s *partition.Settings) {
			s.TailCacheBytes, s.RemoteMaxWait, s.RemoteSearch = 1, 100*time.Millisecond, 100*time.Millisecond
		}, partition.Dependencies{Remote: remote, Observer: o, Tiered: func(partition.Ref) bool { return false }})
	}
	f, ref := open("1/a"), newRef("t")
	for i := 0; i < 60; i += 10 {
		if i == 50 {
			f.close()
			f = open("2/b")
		}
		f.produceUntil(ref, func() *batch.Batch { return makeBatch(t, -1, -1, -1, int64(1000+i), numbers(i, i+10)...) })
		if v, _ := f.view(ref); i < 50 {
			f.roll(ref, v.Open)
		}
	}
	v, keys := f.view(ref)
	claim := redisstream.Claim{TopicID: ref.TopicID(), Fence: 1}
	if _, err := f.shard.SetTiered(t.Context(), keys, claim, 50); err != nil {
		t.Fatal(err)
	}
	for _, seg := range v.Segments[:4] {
		if dropped, err := f.shard.DropSegment(t.Context(), keys, claim, seg); err != nil || !dropped {
			t.Fatalf("segment %+v was not dropped: %v", seg, err)
		}
	}
	return f, ref, keys
}

func TestTheTiersReadAsOneLog(t *testing.T) {
	remote, o := &fakeRemote{}, &seen{}
	f, ref, keys := tiers(t, remote, o)
	for from := range 60 {
		for _, bytes := range []int{1, 300, 1 << 20} {
			if got, want := f.readAll(ref, int64(from), bytes), dense(from, numbers(from, 60)...); !same(got, want) {
				t.Fatalf("from %d, %d bytes: %v", from, bytes, got)
			}
		}
		got, err := f.OffsetForTime(t.Context(), ref, int64(1000+from))
		if err != nil || got.Offset != int64(from) || got.LeaderEpoch != f.bounds(ref).LeaderEpoch && from >= 50 {
			t.Fatalf("time of %d: %+v, %v", from, got, err)
		}
	}
	if o.readsOf("remote") == 0 || o.readsOf("local") == 0 {
		t.Error("reads are not counted by tier")
	}
	b := f.bounds(ref)
	if b.LogStart != 0 || b.LocalStart != 40 || b.TieredEnd != 50 || b.HighWatermark != 60 || b.LocalEpoch != b.StartEpoch || b.PendingEpoch != b.LeaderEpoch || b.TieredEpoch == b.PendingEpoch {
		t.Errorf("bounds %+v", b)
	}
	if got, err := f.OffsetForTime(t.Context(), ref, 5000); err != nil || got.Offset != -1 {
		t.Errorf("a later time: %+v, %v", got, err)
	}
	if got, err := f.MaxTimestamp(t.Context(), ref); err != nil || got.Offset != 59 || got.Timestamp != 1059 {
		t.Errorf("the largest: %+v, %v", got, err)
	}
	if epoch, end, err := f.EndOfEpoch(t.Context(), ref, b.StartEpoch); err != nil || epoch != b.StartEpoch || end != 50 {
		t.Errorf("the first epoch ends: %d, %d, %v", epoch, end, err)
	}
	if start, err := f.DeleteBefore(t.Context(), ref, 25); err != nil || start != 25 {
		t.Errorf("deleted to %d, %v", start, err)
	}
	if _, err := f.Read(t.Context(), ref, partition.ReadRequest{Offset: 24, MaxBytes: 100}, nil); !errors.Is(err, partition.ErrOffsetOutOfRange) {
		t.Errorf("below the start: %v", err)
	}
	if got := f.readAll(ref, 25, 1000); !same(got, dense(25, numbers(25, 60)...)) {
		t.Errorf("from the new start: %v", got)
	}
	if _, err := f.shard.Untier(t.Context(), keys, redisstream.Claim{TopicID: ref.TopicID(), Fence: 2}); err != nil {
		t.Fatal(err)
	}
	if b := f.bounds(ref); b.LogStart != 40 || b.LocalStart != 40 || b.TieredEnd != 0 {
		t.Errorf("without the remote tier: %+v", b)
	}
}

// What retention or a tier that was turned off has just taken from the table is out of range, not damaged.
func TestARemoteReadBelowALogStartThatRoseIsOutOfRange(t *testing.T) {
	remote := &fakeRemote{}
	f, ref, _ := tiers(t, remote, nil)
	if got := f.readAll(ref, 3, 1000); len(got) != 57 {
		t.Errorf("read %v", got)
	}
	f.raise(ref, 20)
	remote.set(fmt.Errorf("%w: no table", partition.ErrRemote), nil)
	if err := f.readAt(ref, 10); !errors.Is(err, partition.ErrOffsetOutOfRange) {
		t.Errorf("below the new start: %v", err)
	}
	if err := f.readAt(ref, 25); !errors.Is(err, partition.ErrRemote) {
		t.Errorf("above it: %v", err)
	}
}

// A partition that was never written to is empty although partitions beside it are in the table; where the table does
// not tell, it is not known.
func TestALogThatIsNowhereIsEmptyIfTheTableSaysSo(t *testing.T) {
	for _, c := range []struct {
		name string
		held *redisstream.Remote
		fail error
		want error
	}{
		{"no table yet", nil, nil, nil}, {"none of it", &redisstream.Remote{}, nil, nil},
		{"away", nil, partition.ErrRemoteAway, partition.ErrRemoteAway},
	} {
		remote := &fakeRemote{held: c.held, fail: c.fail}
		f := newBroker(t, redistest.Start(t), "1/a", nil, partition.Dependencies{Remote: remote, Tiered: func(partition.Ref) bool { return true }})
		b, err := f.Bounds(t.Context(), newRef("t"))
		if !errors.Is(err, c.want) || b.HighWatermark != 0 {
			t.Errorf("%s: %+v, %v", c.name, b, err)
		}
	}
}

// A broker that takes over and writes while somebody else's question about the log's end is answered has lost nothing.
func TestALogThatGrowsWhileItsEndIsAskedForIsNotLost(t *testing.T) {
	s, ref := redistest.Start(t), newRef("t")
	remote := partition.Dependencies{Remote: &fakeRemote{}, Tiered: func(partition.Ref) bool { return true }}
	first := newBroker(t, s, "1/a", nil, remote)
	first.mustAppend(ref, numbers(0, 10)...)
	first.close()
	h, grown := &hookedShard{}, false
	second := hooked(t, s, h, nil, remote)
	h.onLook = func() {
		if !grown {
			grown = true
			second.produceUntil(ref, func() *batch.Batch { return makeBatch(t, -1, -1, -1, 1, numbers(10, 20)...) })
		}
	}
	if b, err := second.Bounds(t.Context(), ref); err != nil || b.HighWatermark != 10 && b.HighWatermark != 20 || !grown {
		t.Errorf("it ends at %d, grown %v: %v", b.HighWatermark, grown, err)
	}
}

func TestHolesInTheRemoteTierArePassedOver(t *testing.T) {
	remote := &fakeRemote{hole: func(o int64) bool { return o >= 12 && o < 35 || o%2 == 0 }}
	f, ref, _ := tiers(t, remote, nil)
	var want []string
	for o := range int64(60) {
		if o >= 40 || !remote.hole(o) {
			want = append(want, fmt.Sprintf("%d=%d", o, o))
		}
	}
	if got := f.readAll(ref, 0, 100); !same(got, want) {
		t.Errorf("read %v, want %v", got, want)
	}
	remote.set(nil, func(int64) bool { return true })
	if got := f.readAll(ref, 3, 1000); !same(got, dense(40, numbers(40, 60)...)) {
		t.Errorf("with nothing left: %v", got)
	}
}

func TestARemoteTierThatIsAwayHoldsUpNothingElse(t *testing.T) {
	remote := &fakeRemote{fail: partition.ErrRemoteAway}
	f, ref, _ := tiers(t, remote, nil)
	req := partition.ReadRequest{Offset: 3, MaxBytes: 1000, AtLeastOne: true}
	if res, err := f.Read(t.Context(), ref, req, nil); err != nil || len(res.Batches) > 0 || res.HighWatermark != 60 {
		t.Errorf("away: %d bytes, %v", len(res.Batches), err)
	}
	if got := f.readAll(ref, 40, 1000); len(got) != 20 {
		t.Errorf("what Redis has: %v", got)
	}
	if _, err := f.OffsetForTime(t.Context(), ref, 1003); !errors.Is(err, partition.ErrTimeout) {
		t.Errorf("a search by time: %v", err)
	}
	remote.set(fmt.Errorf("%w: data file x", partition.ErrRemote), nil)
	if _, err := f.Read(t.Context(), ref, req, nil); !errors.Is(err, partition.ErrRemote) {
		t.Errorf("damaged: %v", err)
	}
	remote.set(nil, nil)
	if got := f.readAll(ref, 3, 1000); len(got) != 57 {
		t.Errorf("back: %v", got)
	}
	f.Prepare(ref, 3, 500)
	f.Prepare(ref, 40, 500)
	if len(remote.prepared) != 1 || remote.prepared[0].From != 3 || remote.prepared[0].End != 40 || remote.prepared[0].Bytes != 500 || len(remote.prepared[0].Epochs) != 2 {
		t.Errorf("prepared %+v", remote.prepared)
	}
}

func TestABrokerWithoutTheRemoteTierSaysSo(t *testing.T) {
	f, ref, _ := tiers(t, nil, nil)
	if _, err := f.Read(t.Context(), ref, partition.ReadRequest{Offset: 3, MaxBytes: 1000}, nil); !errors.Is(err, partition.ErrRemote) {
		t.Errorf("read: %v", err)
	}
	if _, err := f.OffsetForTime(t.Context(), ref, 1003); !errors.Is(err, partition.ErrRemote) {
		t.Errorf("time: %v", err)
	}
	if got := f.readAll(ref, 40, 1000); len(got) != 20 {
		t.Errorf("what Redis has: %v", got)
	}
}

func TestAppendTimesOfTheRemoteTierAreSentAsSuch(t *testing.T) {
	f, ref, _ := tiers(t, &fakeRemote{}, nil)
	for _, stamped := range []bool{false, true} {
		res, err := f.Read(t.Context(), ref, partition.ReadRequest{Offset: 0, MaxBytes: 1000, AtLeastOne: true, LogAppendTime: stamped}, nil)
		if err != nil {
			t.Fatal(err)
		}
		raw := batches(t, res.Batches)[0]
		if got := raw[22]&8 != 0; got != stamped {
			t.Errorf("a topic that stamps: %v, its batch: %v", stamped, got)
		}
		if got := records(t, raw)[0].Timestamp; got != 1000 {
			t.Errorf("timestamp %d", got)
		}
	}
}

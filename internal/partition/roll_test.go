package partition_test

import (
	"bufio"
	"crypto/rand"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/korvet-io/korvet/internal/batch"
	"github.com/korvet-io/korvet/internal/partition"
	"github.com/korvet-io/korvet/internal/redisstream"
	"github.com/korvet-io/korvet/internal/redistest"
)

const mebibyte = 1 << 20

// segmented asks for segments of a MiB.
var segmented = partition.AppendOptions{AllReplicas: true, Segment: partition.SegmentPolicy{Bytes: mebibyte, Ms: -1}}

func (f *fixture) view(ref partition.Ref) (redisstream.View, redisstream.Keys) {
	f.t.Helper()
	keys := redisstream.NewKeys("korvet", ref.Topic, ref.Partition)
	v, err := f.shard.Look(f.t.Context(), keys)
	if err != nil {
		f.t.Fatalf("look: %v", err)
	}
	return v, keys
}

// burst appends batches of records of one size, several in flight, until so many bytes were sent. It returns how many records.
func (f *fixture) burst(ref partition.Ref, size, perBatch, bytes int, opt partition.AppendOptions) int {
	f.t.Helper()
	value := make([]byte, size)
	_, _ = rand.Read(value)
	for i := range value { // of one byte each in every encoding
		value[i] = 'a' + value[i]%26
	}
	list := make([]string, perBatch)
	for i := range list {
		list[i] = string(value)
	}
	var flying []<-chan outcome
	sent := 0
	for ; sent*size < bytes; sent += perBatch {
		flying = append(flying, f.appendAsync(ref, makeBatch(f.t, -1, 0, 0, 1_700_000_000_000, list...), opt))
		if len(flying) == 8 {
			f.settle(flying)
			flying = flying[:0]
		}
	}
	f.settle(flying)
	return sent
}

func (f *fixture) settle(flying []<-chan outcome) {
	f.t.Helper()
	for _, c := range flying {
		if o := <-c; o.err != nil {
			f.t.Fatalf("append: %v", o.err)
		}
	}
}

// count reads a log from an offset to its end and checks that offsets are dense.
func (f *fixture) count(ref partition.Ref, from, end int64) {
	f.t.Helper()
	for from < end {
		res, err := f.Read(f.t.Context(), ref, partition.ReadRequest{Offset: from, MaxBytes: 300_000, AtLeastOne: true}, nil)
		if err != nil || len(res.Batches) == 0 {
			f.t.Fatalf("read at %d of %d: %d bytes, %v", from, end, len(res.Batches), err)
		}
		for _, raw := range batches(f.t, res.Batches) {
			for _, r := range records(f.t, raw) {
				if r.Offset >= from {
					if r.Offset != from {
						f.t.Fatalf("offset %d where %d is next", r.Offset, from)
					}
					from++
				}
			}
		}
	}
}

func TestSegmentsDoNotOutgrowTheirBytesInABurst(t *testing.T) {
	for _, c := range []struct{ size, perBatch int }{{100, 500}, {1 << 10, 50}, {2050, 30}, {100 << 10, 1}, {700 << 10, 1}} {
		t.Run(fmt.Sprint(c.size), func(t *testing.T) {
			s := redistest.Start(t)
			f := newFixture(t, s, "1/a", func(s *partition.Settings) { s.TailCacheBytes = mebibyte })
			ref := newRef("t")
			n := f.burst(ref, c.size, c.perBatch, 8*mebibyte, segmented)
			v, keys := f.view(ref)
			if len(v.Segments) < 6 {
				t.Errorf("%d segments of 8 MiB", len(v.Segments))
			}
			next := int64(0)
			for _, seg := range v.Segments { // the key's own name counts, too: a sealed segment's is longer
				reply := s.Do("MEMORY", "USAGE", keys.Segment(seg.Number), "SAMPLES", "0")
				used, err := reply.AsInt64()
				if err != nil || used > mebibyte*11/10 || used < mebibyte/2 {
					t.Errorf("segment %d uses %d bytes, %v", seg.Number, used, err)
				}
				if used-seg.Bytes > 100 || used < seg.Bytes || seg.Base != next || seg.MaxTimestamp < 1_700_000_000_000 {
					t.Errorf("the registry has %+v where %d bytes are used and %d is next", seg, used, next)
				}
				next = seg.Last + 1
			}
			f.count(ref, 0, int64(n))
			size, err := f.Size(t.Context(), ref)
			if err != nil || size < 8*mebibyte {
				t.Errorf("the partition has %d bytes, %v", size, err)
			}
		})
	}
}

func TestASegmentIsSealedByTheAgeOfItsFirstRecord(t *testing.T) {
	s := redistest.Start(t)
	var now atomic.Int64
	clock := &partition.Clock{Now: func() time.Duration { return time.Duration(now.Load()) }, Token: rand.Text}
	f := newBroker(t, s, "1/a", func(s *partition.Settings) { s.Lease = time.Minute }, partition.Dependencies{Clock: clock})
	ref := newRef("t")
	aged := partition.AppendOptions{AllReplicas: true, Segment: partition.SegmentPolicy{Bytes: -1, Ms: 5000}}
	for i := range 7 {
		if o := f.produce(ref, makeBatch(t, -1, 0, 0, 1, fmt.Sprint(i)), aged); o.err != nil {
			t.Fatal(o.err)
		}
		now.Add(int64(2 * time.Second))
	}
	v, _ := f.view(ref)
	if len(v.Segments) != 2 || v.Segments[0].Last != 2 || v.Segments[1].Last != 5 {
		t.Errorf("segments %+v", v.Segments)
	}
	if got := f.readAll(ref, 0, 10_000); !same(got, dense(0, numbers(0, 7)...)) {
		t.Errorf("read %v", got)
	}
}

func TestAnUnsegmentedTopicIsAdoptedAndGivenUpOnline(t *testing.T) {
	s := redistest.Start(t)
	f := newFixture(t, s, "1/a", nil)
	ref := newRef("t")
	n := f.burst(ref, 1000, 100, 3*mebibyte, all)
	if v, _ := f.view(ref); len(v.Segments) != 0 {
		t.Fatalf("segments %+v", v.Segments)
	}
	m := f.burst(ref, 1000, 100, 1, segmented)
	if v, _ := f.view(ref); len(v.Segments) != 1 || v.Segments[0].Last != int64(n)-1 || v.Segments[0].Bytes < 3*mebibyte {
		t.Fatalf("segments %+v", v.Segments)
	}
	o := f.burst(ref, 1000, 100, 3*mebibyte, all)
	if v, _ := f.view(ref); len(v.Segments) != 1 {
		t.Errorf("segments without a policy %+v", v.Segments)
	}
	f.count(ref, 0, int64(n+m+o))
}

func TestAnOwnerGoesOnBesideAWorkerThatRolls(t *testing.T) {
	s := redistest.Start(t)
	f := newFixture(t, s, "1/a", func(s *partition.Settings) { s.TailCacheBytes = 1000 })
	ref := newRef("t")
	n := 0
	for range 6 {
		n += f.burst(ref, 1000, 100, mebibyte*3/4, segmented)
		v, _ := f.view(ref)
		f.roll(ref, v.Open)
	}
	f.count(ref, 0, int64(n))
	v, _ := f.view(ref)
	if len(v.Segments) < 6 || redisstream.EndOffset(v.LastSeq) != int64(n) {
		t.Errorf("view %+v", v)
	}
}

// A broker that takes over goes on where the one before was, producers, times and segments.
func TestATakeoverNoticesNoBoundary(t *testing.T) {
	s := redistest.Start(t)
	ref := newRef("t")
	var end int64
	for life := range 4 {
		f := newFixture(t, s, fmt.Sprintf("%d/a", life), nil)
		for i := range int32(12) {
			seq := int32(life)*1200 + i*100
			list := make([]string, 100)
			for k := range list {
				list[k] = strings.Repeat("x", 1500)
			}
			b := func() partition.Appended {
				return f.produceUntilWith(ref, segmented, 7, seq, 1000*int64(seq), list)
			}
			got := b()
			if got.BaseOffset != int64(seq) {
				t.Fatalf("sequence %d was appended at %d", seq, got.BaseOffset)
			}
			if again := b(); !again.Duplicate || again.BaseOffset != got.BaseOffset {
				t.Fatalf("a repetition was appended: %+v", again)
			}
			end = got.BaseOffset + 100
		}
		f.count(ref, 0, end)
		for seq := int64(0); seq < end; seq += 300 {
			f.finds(ref, map[int64][2]int64{1000 * seq: {seq, 1000 * seq}})
		}
		f.findsMax(ref, end-1, 1000*(end-100)+99)
		f.close()
	}
	f := newFixture(t, s, "9/a", nil)
	if v, _ := f.view(ref); len(v.Segments) < 5 {
		t.Errorf("%d segments", len(v.Segments))
	}
}

func (f *fixture) produceUntilWith(ref partition.Ref, opt partition.AppendOptions, pid int64, seq int32, ts int64, values []string) partition.Appended {
	f.t.Helper()
	var got partition.Appended
	redistest.Eventually(f.t, "a batch to be acknowledged", func() bool {
		o := f.produce(ref, makeBatch(f.t, pid, 0, seq, ts, values...), opt)
		got = o.got
		return o.err == nil
	})
	return got
}

// monitor notes what Redis is asked, inside scripts, too.
type monitor struct {
	mu    sync.Mutex
	lines []string
}

func watch(t *testing.T, s *redistest.Server) *monitor {
	t.Helper()
	c, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if _, err := c.Write([]byte("MONITOR\r\n")); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReaderSize(c, mebibyte)
	if ok, err := in.ReadString('\n'); err != nil || ok != "+OK\r\n" {
		t.Fatalf("monitor: %q, %v", ok, err)
	}
	m := &monitor{}
	go func() {
		for {
			line, err := in.ReadString('\n')
			if err != nil {
				return
			}
			m.mu.Lock()
			m.lines = append(m.lines, line[:min(len(line), 300)])
			m.mu.Unlock()
		}
	}()
	return m
}

// touching are the commands that reached a key. A script's own line only names the keys that it may use.
func (m *monitor) touching(t *testing.T, s *redistest.Server, keys []string) (found []string) {
	t.Helper()
	mark := "mark-" + rand.Text()
	s.Do("ECHO", mark)
	redistest.Eventually(t, "the monitor to have seen all", func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		return slices.ContainsFunc(m.lines, func(line string) bool { return strings.Contains(line, mark) })
	})
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, line := range m.lines {
		_, command, _ := strings.Cut(line, "] ")
		if strings.HasPrefix(command, `"EVAL`) {
			continue
		}
		for _, k := range keys {
			if strings.Contains(command, `"`+k+`"`) {
				found = append(found, command)
			}
		}
	}
	return found
}

func oneRecord(t *testing.T) *batch.Batch { return makeBatch(t, -1, 0, 0, 1, "x") }

// cutOff cuts every connection but the monitor's.
func cutOff(t *testing.T, s *redistest.Server) {
	t.Helper()
	reply := s.Do("CLIENT", "LIST")
	list, err := reply.ToString()
	if err != nil {
		t.Fatal(err)
	}
	c := s.Client()
	for line := range strings.Lines(list) {
		id, _, _ := strings.Cut(strings.TrimPrefix(line, "id="), " ")
		if !strings.Contains(line, "cmd=monitor") {
			_ = c.Do(t.Context(), c.B().Arbitrary("CLIENT", "KILL", "ID", id).Build()).Error() // it may be gone
		}
	}
}

func TestNothingTouchesASealedSegmentButItsReaders(t *testing.T) {
	s := redistest.Start(t)
	ref := newRef("t")
	f := newFixture(t, s, "1/a", nil)
	n := f.burst(ref, 1000, 100, 3*mebibyte, segmented)
	v, keys := f.view(ref)
	var sealed []string
	for _, seg := range v.Segments {
		sealed = append(sealed, keys.Segment(seg.Number))
	}
	m := watch(t, s)
	for owner := range 3 { // appends, rolls, takeovers, one after an append of unknown outcome
		f.burst(ref, 1000, 100, 2*mebibyte, segmented)
		f.bounds(ref)
		if _, err := f.Size(t.Context(), ref); err != nil {
			t.Error(err)
		}
		if _, err := f.shard.Glances(t.Context(), []redisstream.Keys{keys}); err != nil {
			t.Error(err)
		}
		if owner == 1 {
			flying := f.appendAsync(ref, oneRecord(t), segmented)
			cutOff(t, s)
			<-flying
			f.produceUntil(ref, func() *batch.Batch { return oneRecord(t) })
		}
		f.close()
		f = newFixture(t, s, fmt.Sprintf("%d/b", owner+2), nil)
		f.produceUntil(ref, func() *batch.Batch { return oneRecord(t) })
	}
	if found := m.touching(t, s, sealed); len(found) > 0 {
		t.Errorf("%d commands touched sealed segments, such as %s", len(found), found[0])
	}
	f.count(ref, 0, int64(n))
	if found := m.touching(t, s, sealed); len(found) == 0 {
		t.Error("not even a reader did: the test sees nothing")
	}
}

package partition_test

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/korvet-io/korvet/internal/batch"
	"github.com/korvet-io/korvet/internal/partition"
	"github.com/korvet-io/korvet/internal/redistest"
)

const stream = "korvet:storage:local:t:0"

// batches splits what a read gave.
func batches(t testing.TB, raw []byte) [][]byte {
	t.Helper()
	var list [][]byte
	for len(raw) > 0 {
		h, ok := batch.Peek(raw)
		if !ok || h.Size > len(raw) {
			t.Fatalf("a read gave a part of a batch: %d bytes", len(raw))
		}
		list = append(list, raw[:h.Size])
		raw = raw[h.Size:]
	}
	return list
}

func (f *fixture) read(ref partition.Ref, req partition.ReadRequest) [][]byte {
	f.t.Helper()
	res, err := f.Read(f.t.Context(), ref, req, nil)
	if err != nil {
		f.t.Fatalf("read: %v", err)
	}
	return batches(f.t, res.Batches)
}

func epochOf(raw []byte) int32 { return int32(binary.BigEndian.Uint32(raw[12:])) }

func TestRebuiltBatchesCarryTheEpochTheyWereWrittenUnder(t *testing.T) {
	s := redistest.Start(t)
	ref := newRef("t")
	written := map[int64]int32{}
	offset := int64(0)
	for _, owner := range []string{"1/a", "2/b", "3/c"} {
		f := newFixture(t, s, owner, nil)
		for range 3 {
			f.mustAppend(ref, "x", "y")
			written[offset], written[offset+1] = f.bounds(ref).LeaderEpoch, f.bounds(ref).LeaderEpoch
			offset += 2
		}
		for _, raw := range f.read(ref, partition.ReadRequest{Offset: offset - 6, MaxBytes: 1 << 20}) { // from its cache
			if got := epochOf(raw); got != written[offset-1] {
				t.Errorf("%s: a cached batch has epoch %d, want %d", owner, got, written[offset-1])
			}
		}
		f.close()
	}
	cold := newFixture(t, s, "4/d", nil)
	seen := 0
	for _, raw := range cold.read(ref, partition.ReadRequest{MaxBytes: 1 << 20}) {
		for _, r := range records(t, raw) {
			seen++
			if got := epochOf(raw); got != written[r.Offset] {
				t.Errorf("offset %d comes in a batch of epoch %d, want %d", r.Offset, got, written[r.Offset])
			}
		}
	}
	if seen != 18 {
		t.Errorf("%d records, want 18", seen)
	}
}

func TestLogAppendTimeIsTheSameFromCacheAndFromRedis(t *testing.T) {
	s := redistest.Start(t)
	f := newFixture(t, s, "1/a", nil)
	ref := newRef("t")
	stamp := partition.AppendOptions{AllReplicas: true, LogAppendTime: true}
	var want []plainRecord
	for i := range 4 {
		opt := all
		if i%2 == 1 {
			opt = stamp
		}
		o := f.produce(ref, makeBatch(t, -1, -1, -1, 5000, "a", "b"), opt)
		if o.err != nil || (o.got.AppendTime != -1) != opt.LogAppendTime {
			t.Fatalf("append: %+v", o)
		}
		for k, value := range []string{"a", "b"} {
			ts := int64(5000 + k)
			if opt.LogAppendTime {
				ts = o.got.AppendTime
			}
			want = append(want, plainRecord{int64(2*i + k), ts, value})
		}
	}
	cold := newFixture(t, s, "2/b", nil)
	for name, reader := range map[string]*fixture{"cache": f, "redis": cold} {
		var got []plainRecord
		for _, raw := range reader.read(ref, partition.ReadRequest{MaxBytes: 1 << 20}) {
			got = append(got, records(t, raw)...)
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	last := want[len(want)-1]
	for name, reader := range map[string]*fixture{"owner": f, "another": cold} {
		got, err := reader.OffsetForTime(t.Context(), ref, 6000)
		if err != nil || got.Offset != 2 || got.Timestamp != want[2].Timestamp {
			t.Errorf("%s: a search by time finds %+v, %v", name, got, err)
		}
		if got, err := reader.OffsetForTime(t.Context(), ref, last.Timestamp+1); err != nil || got.Offset != -1 {
			t.Errorf("%s: a search beyond the end finds %+v, %v", name, got, err)
		}
	}
}

func TestHolesAndStrangersNeitherSkipNorRepeat(t *testing.T) {
	for name, disturb := range map[string]func(s *redistest.Server, f *fixture, ref partition.Ref, id func(int) string) (missing func(int) bool){
		"XDEL in the middle": func(s *redistest.Server, _ *fixture, _ partition.Ref, id func(int) string) func(int) bool {
			s.Do("XDEL", stream, id(7), id(8), id(30))
			return func(o int) bool { return o == 7 || o == 8 || o == 30 }
		},
		"XDEL of the ends": func(s *redistest.Server, _ *fixture, _ partition.Ref, id func(int) string) func(int) bool {
			s.Do("XDEL", stream, id(0), id(39))
			return func(o int) bool { return o == 0 || o == 39 }
		},
		"XTRIM MINID": func(s *redistest.Server, _ *fixture, _ partition.Ref, id func(int) string) func(int) bool {
			s.Do("XTRIM", stream, "MINID", id(15))
			return func(o int) bool { return o < 15 }
		},
		"XTRIM of a sealed segment": func(s *redistest.Server, f *fixture, ref partition.Ref, id func(int) string) func(int) bool {
			edge := id(25)
			f.roll(ref, 0)
			s.Do("XTRIM", "korvet:storage:segment:{"+stream+"}:0", "MINID", edge)
			return func(o int) bool { return o < 25 }
		},
		"a sealed segment is lost": func(s *redistest.Server, f *fixture, ref partition.Ref, _ func(int) string) func(int) bool {
			f.roll(ref, 0)
			s.Do("DEL", "korvet:storage:segment:{"+stream+"}:0")
			return func(o int) bool { return o < 40 }
		},
		"a roll": func(_ *redistest.Server, f *fixture, ref partition.Ref, _ func(int) string) func(int) bool {
			f.roll(ref, 0)
			return func(int) bool { return false }
		},
		"strangers' entries": func(s *redistest.Server, _ *fixture, _ partition.Ref, _ func(int) string) func(int) bool {
			for range 20 {
				s.Do("XADD", stream, "*", "value", "stranger's")
			}
			return func(int) bool { return false }
		},
		"strangers' entries before a roll": func(s *redistest.Server, f *fixture, ref partition.Ref, _ func(int) string) func(int) bool {
			for range 20 {
				s.Do("XADD", stream, "*", "value", "stranger's")
			}
			f.roll(ref, 0)
			return func(int) bool { return false }
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := redistest.Start(t)
			small := func(s *partition.Settings) { s.TailCacheBytes = 0; s.ReadReplyBytes = 1024 }
			f := newFixture(t, s, "1/a", small)
			ref := newRef("t")
			for i := range 8 {
				f.mustAppend(ref, numbers(5*i, 5*i+5)...)
				passed(t, s) // each batch has a ms of its own
			}
			readers := map[string]*fixture{"owner": f, "another": newFixture(t, s, "2/b", small)}
			for _, r := range readers { // they know positions from before
				for _, from := range []int64{0, 7, 20, 39} {
					r.readAll(ref, from, 200)
				}
			}
			m := s.Do("XRANGE", stream, "-", "+")
			entries, err := m.AsXRange()
			if err != nil || len(entries) != 40 {
				t.Fatalf("%d entries, %v", len(entries), err)
			}
			missing := disturb(s, f, ref, func(o int) string { return entries[o].ID })
			offsets := make([]int64, 60) // of each value
			for i := range offsets {
				offsets[i] = int64(i)
			}
			for i := 8; i < 12; i++ {
				passed(t, s)
				base := f.mustAppend(ref, numbers(5*i, 5*i+5)...)
				for k := range int64(5) { // those that a stranger's entry made Redis refuse stay unused
					offsets[int64(5*i)+k] = base + k
				}
			}
			for name, r := range readers {
				for from := range offsets[59] + 1 {
					var want []string
					for value, o := range offsets {
						if o >= from && !missing(value) {
							want = append(want, fmt.Sprintf("%d=%d", o, value))
						}
					}
					if got := r.readAll(ref, from, 200); !same(got, want) {
						t.Fatalf("%s from %d reads %v, want %v", name, from, got, want)
					}
				}
			}
		})
	}
}

func TestReadsKeepToTheirLimits(t *testing.T) {
	s := redistest.Start(t)
	f := newFixture(t, s, "1/a", nil)
	ref := newRef("t")
	value := strings.Repeat("x", 1000)
	for range 10 {
		f.mustAppend(ref, value, value)
	}
	large := strings.Repeat("y", 2<<20)
	f.mustAppend(ref, large)
	for name, r := range map[string]*fixture{"cache": f, "redis": newFixture(t, s, "2/b", nil)} {
		for _, c := range []struct {
			req  partition.ReadRequest
			some bool
		}{
			{partition.ReadRequest{MaxBytes: 0}, false}, {partition.ReadRequest{MaxBytes: 1}, false}, {partition.ReadRequest{MaxBytes: 500}, false},
			{partition.ReadRequest{MaxBytes: 0, AtLeastOne: true}, true}, {partition.ReadRequest{MaxBytes: 1, AtLeastOne: true}, true},
			{partition.ReadRequest{MaxBytes: 3000}, true}, {partition.ReadRequest{MaxBytes: 10_000}, true}, {partition.ReadRequest{Offset: 5, MaxBytes: 10_000}, true},
			{partition.ReadRequest{Offset: 20, MaxBytes: 1024}, false}, {partition.ReadRequest{Offset: 20, MaxBytes: 512, AtLeastOne: true}, true},
			{partition.ReadRequest{Offset: 21, MaxBytes: 1024, AtLeastOne: true}, false},
		} {
			got := r.read(ref, c.req)
			size := 0
			for _, raw := range got {
				size += len(raw)
			}
			if (len(got) > 0) != c.some {
				t.Errorf("%s: %+v gave %d batches", name, c.req, len(got))
			}
			if size > c.req.MaxBytes && len(got) > 1 {
				t.Errorf("%s: %+v gave %d batches of %d bytes together", name, c.req, len(got), size)
			}
			if c.some {
				first := records(t, got[0])
				if last := first[len(first)-1].Offset; first[0].Offset > c.req.Offset || last < c.req.Offset {
					t.Errorf("%s: %+v gave offsets from %d to %d first", name, c.req, first[0].Offset, last)
				}
			}
		}
	}
	for _, offset := range []int64{-1, 22, 1 << 60} {
		if _, err := f.Read(t.Context(), ref, partition.ReadRequest{Offset: offset, MaxBytes: 1000}, nil); !errors.Is(err, partition.ErrOffsetOutOfRange) {
			t.Errorf("offset %d: %v", offset, err)
		}
	}
}

func TestReadAppendsToTheBufferGiven(t *testing.T) {
	s := redistest.Start(t)
	f := newFixture(t, s, "1/a", nil)
	ref := newRef("t")
	f.mustAppend(ref, "a")
	for name, r := range map[string]*fixture{"cache": f, "redis": newFixture(t, s, "2/b", nil)} {
		res, err := r.Read(t.Context(), ref, partition.ReadRequest{MaxBytes: 1000}, []byte("before"))
		if err != nil || string(res.Batches[:6]) != "before" || len(batches(t, res.Batches[6:])) != 1 {
			t.Errorf("%s: %d bytes, %v", name, len(res.Batches), err)
		}
	}
}

// commands are the commands that Redis has run, but those that this asks with.
func commands(s *redistest.Server) string {
	m := s.Do("INFO", "commandstats")
	text, err := m.ToString()
	if err != nil {
		return err.Error()
	}
	var counts []string
	for line := range strings.Lines(text) {
		name, rest, ok := strings.Cut(line, ":calls=")
		if !ok || strings.Contains(name, "info") || strings.Contains(name, "hello") || strings.Contains(name, "client") || strings.Contains(name, "ping") {
			continue
		}
		n, _, _ := strings.Cut(rest, ",")
		counts = append(counts, name+"="+n)
	}
	return strings.Join(counts, " ")
}

// But for the log start, which is read once a second, and at first after a takeover.
func TestTailingReadersCostRedisNoCommand(t *testing.T) {
	s := redistest.Start(t)
	o := &seen{}
	still := &partition.Clock{Now: func() time.Duration { return time.Hour }, Token: rand.Text}
	f := newBroker(t, s, "1/a", nil, partition.Dependencies{Observer: o, Clock: still})
	ref := newRef("t")
	f.mustAppend(ref, numbers(0, 100)...)
	f.readAll(ref, 0, 500)
	before := commands(s)
	for range 50 {
		f.readAll(ref, 0, 500)
		woken := make(chan struct{}, 1)
		f.Watch(ref, 100, func() { woken <- struct{}{} })()
		f.LeaderEpoch(ref)
	}
	if after := commands(s); after != before {
		t.Errorf("commands before %s, after %s", before, after)
	}
	if n := o.readsOf("local"); n != 0 {
		t.Errorf("%d reads went to redis", n)
	}
}

func TestWatcherIsWokenByTheNextRecordOnly(t *testing.T) {
	s := redistest.Start(t)
	f := newFixture(t, s, "1/a", nil)
	ref := newRef("t")
	f.mustAppend(ref, "a", "b")
	woken := make(chan string, 10)
	cancelled := f.Watch(ref, 2, func() { woken <- "cancelled" })
	cancelled()
	cancelled()
	defer f.Watch(ref, 3, func() { woken <- "beyond" })()
	defer f.Watch(ref, 2, func() { woken <- "next" })()
	defer f.Watch(ref, 1, func() { woken <- "past" })()
	if got := <-woken; got != "past" {
		t.Errorf("%s was woken", got)
	}
	f.mustAppend(ref, "c")
	if got := <-woken; got != "next" {
		t.Errorf("%s was woken", got)
	}
	f.mustAppend(ref, "d")
	if got := <-woken; got != "beyond" {
		t.Errorf("%s was woken", got)
	}
}

func TestReadEndsWithItsContextWhenRedisIsFrozen(t *testing.T) {
	s := redistest.Start(t)
	f := newFixture(t, s, "1/a", func(s *partition.Settings) { s.TailCacheBytes = 0 })
	ref := newRef("t")
	f.mustAppend(ref, "a")
	s.Pause()
	for range 5 { // more than there are connections
		ctx, cancel := context.WithCancel(t.Context())
		read := make(chan error, 1)
		go func() {
			_, err := f.Read(ctx, ref, partition.ReadRequest{MaxBytes: 1000}, nil)
			read <- err
		}()
		cancel()
		if err := <-read; !errors.Is(err, partition.ErrTimeout) && !errors.Is(err, context.Canceled) {
			t.Errorf("read: %v", err)
		}
	}
	s.Resume()
	if got := f.readAll(ref, 0, 1000); !same(got, dense(0, "a")) {
		t.Errorf("afterwards it reads %v", got)
	}
}

// Nobody knows how large the entries are when a partition is read first: an answer must not be of hundreds of large ones.
func TestFirstReadOfLargeRecordsAsksForAFew(t *testing.T) {
	s := redistest.Start(t)
	f := newFixture(t, s, "1/a", nil)
	ref := newRef("t")
	for range 100 {
		f.mustAppend(ref, strings.Repeat("x", 200<<10))
	}
	cold := newFixture(t, s, "2/b", nil)
	before := sentBy(t, s)
	cold.read(ref, partition.ReadRequest{MaxBytes: 1 << 20, AtLeastOne: true})
	if sent := sentBy(t, s) - before; sent > 4<<20 {
		t.Errorf("Redis sent %d KiB for a read of at most 1 MiB", sent>>10)
	}
}

// sentBy tells how many bytes Redis has sent to anybody.
func sentBy(t *testing.T, s *redistest.Server) int64 {
	t.Helper()
	m := s.Do("INFO", "stats")
	text, err := m.ToString()
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(text, "total_net_output_bytes:")
	number, _, _ := strings.Cut(rest, "\r\n")
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

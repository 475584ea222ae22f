package batch

import (
	"bytes"
	"math"
	"testing"

	"github.com/korvet-io/korvet/internal/record"
)

func TestBuilderRoundTripsEveryKindOfRecord(t *testing.T) {
	want := awkwardRecords()
	for _, codec := range allCodecs {
		b := mustParse(t, build(want, BuildOptions{Codec: codec}))
		if !equalRecords(readAllRecords(b), want) {
			t.Errorf("%v: the records changed", codec)
		}
		if b.Codec != codec || b.MinTimestamp != -1 || b.MaxTimestamp != 1_800_000_000_000 || b.ProducerID != -1 {
			t.Errorf("%v: the batch says %+v", codec, b)
		}
	}
}

func TestBuilderAppendsToWhatIsThere(t *testing.T) {
	var b Builder
	b.Reset([]byte("before"), BuildOptions{LeaderEpoch: 3})
	b.Put(&record.Record{Offset: 0, Value: []byte("v")})
	out := b.Finish()
	if !bytes.HasPrefix(out, []byte("before")) {
		t.Fatalf("got %q", out)
	}
	h, ok := Peek(out[len("before"):])
	if !ok || h.LeaderEpoch != 3 || h.Size != len(out)-len("before") {
		t.Fatalf("the header says %+v, %v", h, ok)
	}
	mustParse(t, out[len("before"):])
}

func TestBuilderWithoutRecordsAppendsNothing(t *testing.T) {
	var b Builder
	b.Reset([]byte("before"), BuildOptions{Codec: Gzip})
	if out := b.Finish(); string(out) != "before" || b.Count() != 0 {
		t.Fatalf("got %q", out)
	}
}

func TestBuilderKeepsHolesBetweenOffsets(t *testing.T) {
	raw := build([]record.Record{{Offset: 100}, {Offset: 105}, {Offset: 1 << 20}}, BuildOptions{})
	h, _ := Peek(raw)
	if h.BaseOffset != 100 || h.LastOffset != 1<<20 || h.Count != 3 {
		t.Fatalf("the header says %+v", h)
	}
}

func TestBuilderStopsBeforeMaxBytes(t *testing.T) {
	r := record.Record{Value: make([]byte, 100)}
	one := len(build([]record.Record{r}, BuildOptions{}))
	for _, row := range []struct{ maxBytes, want int }{
		{1, 1}, {one, 1}, {2*one - HeaderSize - 1, 1}, {2*one - HeaderSize, 2}, {2*one - HeaderSize + 1, 2},
	} {
		var b Builder
		b.Reset(nil, BuildOptions{MaxBytes: row.maxBytes})
		n := 0
		for b.Put(&r) {
			n++
		}
		size := b.Len()
		if out := b.Finish(); n != row.want || b.Count() != row.want || len(out) != size {
			t.Errorf("at most %d bytes: %d records in %d bytes, want %d records", row.maxBytes, n, len(out), row.want)
		}
	}
}

func TestBuilderStopsWhereOffsetDeltasEnd(t *testing.T) {
	var b Builder
	b.Reset(nil, BuildOptions{})
	for _, row := range []struct {
		offset int64
		want   bool
	}{{10, true}, {10 + math.MaxInt32, true}, {11 + math.MaxInt32, false}, {math.MaxInt64, false}} {
		if got := b.Put(&record.Record{Offset: row.offset}); got != row.want {
			t.Errorf("offset %d: taken is %v", row.offset, got)
		}
	}
	if h, _ := Peek(b.Finish()); h.LastOffset != 10+math.MaxInt32 || h.Count != 2 {
		t.Fatalf("the header says %+v", h)
	}
}

func TestBuilderKeepsOneAppendTimePerBatch(t *testing.T) {
	var b Builder
	b.Reset(nil, BuildOptions{LogAppendTime: true})
	for i, row := range []struct {
		timestamp int64
		want      bool
	}{{50, true}, {50, true}, {51, false}, {49, false}} {
		if got := b.Put(&record.Record{Offset: int64(i), Timestamp: row.timestamp}); got != row.want {
			t.Errorf("append time %d: taken is %v", row.timestamp, got)
		}
	}
	raw := b.Finish()
	if h, _ := Peek(raw); h.MaxTimestamp != 50 || int16At(raw, atAttributes) != appendTimeBit {
		t.Fatalf("the header says %+v, attributes %x", h, int16At(raw, atAttributes))
	}
}

func TestBuilderEndsABatchThatBeganWithoutTimestampAtTheFirstOne(t *testing.T) {
	for _, row := range []struct {
		timestamps []int64
		taken      int
	}{
		{[]int64{-1, -1, 1000}, 2},
		{[]int64{-86_400_000, -1}, 1},
		{[]int64{1000, -1, 0, 2000}, 4},
		{[]int64{0, -1}, 2},
	} {
		var b Builder
		b.Reset(nil, BuildOptions{})
		taken := 0
		for taken < len(row.timestamps) && b.Put(&record.Record{Offset: int64(taken), Timestamp: row.timestamps[taken]}) {
			taken++
		}
		if taken != row.taken {
			t.Errorf("timestamps %v: %d of them are in one batch, want %d", row.timestamps, taken, row.taken)
		}
	}
}

func TestBuilderAllocatesNothingInALargeEnoughBuffer(t *testing.T) {
	records, dst := awkwardRecords(), make([]byte, 0, 1<<20)
	var b Builder
	if n := testing.AllocsPerRun(10, func() {
		b.Reset(dst, BuildOptions{})
		for i := range records {
			b.Put(&records[i])
		}
		b.Finish()
	}); n != 0 {
		t.Fatalf("%v allocations", n)
	}
}

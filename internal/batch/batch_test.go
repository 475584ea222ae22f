package batch

import (
	"bytes"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/korvet-io/korvet/internal/record"
)

func TestNullKeysListsTheRecordsWithoutKey(t *testing.T) {
	b := mustParse(t, foreignBatch(t, Zstd, []kmsg.Record{
		foreignRecord(0, 0, []byte("k"), nil),
		foreignRecord(1, 0, nil, []byte("v")),
		foreignRecord(2, 0, []byte{}, []byte("v")),
		foreignRecord(3, 0, nil, nil),
	}, nil))
	if got := b.NullKeys(); b.NullKeyCount != 2 || !slices.Equal(got, []int32{1, 3}) {
		t.Fatalf("%d null keys at %v, want 2 at 1 and 3", b.NullKeyCount, got)
	}
	if b = mustParse(t, foreignBatch(t, None, plainRecords(3), nil)); b.NullKeys() != nil {
		t.Fatalf("null keys at %v, want none", b.NullKeys())
	}
}

func TestTimestampsOutsideListsTheRecords(t *testing.T) {
	b := mustParse(t, foreignBatch(t, None, plainRecords(5), nil)) // base, base+1, ... base+4
	base := b.BaseTimestamp
	for _, row := range []struct {
		lo, hi int64
		want   []int32
	}{
		{base, base + 4, nil},
		{base + 1, base + 3, []int32{0, 4}},
		{base + 9, base + 10, []int32{0, 1, 2, 3, 4}},
	} {
		if got := b.TimestampsOutside(row.lo, row.hi); !slices.Equal(got, row.want) {
			t.Errorf("outside [%d,%d]: %v, want %v", row.lo-base, row.hi-base, got, row.want)
		}
	}
}

func TestStampPlacesTheBatchInTheLog(t *testing.T) {
	b := mustParse(t, foreignBatch(t, LZ4, plainRecords(3), nil))
	b.Stamp(1<<40, 17)
	h, ok := Peek(b.Raw)
	if !ok || h.BaseOffset != 1<<40 || h.LastOffset != 1<<40+2 || h.LeaderEpoch != 17 || h.Size != len(b.Raw) || h.Count != 3 || h.Codec != LZ4 {
		t.Fatalf("the header says %+v", h)
	}
	if r := readAllRecords(b); r[2].Offset != 1<<40+2 {
		t.Fatalf("the last record is at %d", r[2].Offset)
	}
	putInt64(b.Raw, atBaseOffset, 0)
	mustParse(t, b.Raw) // the CRC still holds
}

func TestStampAppendTimeReplacesEveryTimestamp(t *testing.T) {
	b := mustParse(t, foreignBatch(t, Snappy, plainRecords(3), nil))
	b.StampAppendTime(42)
	for _, r := range readAllRecords(b) {
		if r.Timestamp != 42 {
			t.Fatalf("record %d has timestamp %d", r.Offset, r.Timestamp)
		}
	}
	if b.MinTimestamp != 42 || b.MaxTimestamp != 42 || b.TimestampsOutside(42, 42) != nil {
		t.Fatalf("timestamps are %d to %d", b.MinTimestamp, b.MaxTimestamp)
	}
	if int16At(b.Raw, atAttributes)&appendTimeBit == 0 || int64At(b.Raw, atMaxTimestamp) != 42 {
		t.Fatal("the header does not say so")
	}
	if err := checkFrame(b.Raw); err != nil {
		t.Fatalf("the CRC is wrong: %v", err)
	}
}

func TestPeekWalksARunOfBatches(t *testing.T) {
	var run []byte
	for i := range int64(3) {
		b := mustParse(t, foreignBatch(t, None, plainRecords(2), nil))
		b.Stamp(2*i, int32(i))
		run = append(run, b.Raw...)
	}
	for want := range int64(3) {
		h, ok := Peek(run)
		if !ok || h.BaseOffset != 2*want || h.LastOffset != 2*want+1 || h.LeaderEpoch != int32(want) {
			t.Fatalf("batch %d: %+v, %v", want, h, ok)
		}
		run = run[h.Size:]
	}
	if _, ok := Peek(run); ok {
		t.Fatal("found a batch after the last one")
	}
}

func TestPeekRefusesWhatIsNoWholeBatch(t *testing.T) {
	raw := foreignBatch(t, None, plainRecords(2), nil)
	for _, b := range [][]byte{nil, raw[:HeaderSize-1], raw[:len(raw)-1], make([]byte, 100), bytes.Repeat([]byte{0xff}, 100)} {
		if h, ok := Peek(b); ok {
			t.Errorf("%d bytes: got %+v", len(b), h)
		}
	}
}

func TestReleaseTakesTheRecordsAway(t *testing.T) {
	b := mustParse(t, foreignBatch(t, Gzip, plainRecords(3), nil))
	b.Release()
	b.Release()
	c := b.Cursor()
	if c.Next(&record.Record{}) {
		t.Fatal("a cursor still finds records")
	}
	if _, ok := Peek(b.Raw); !ok {
		t.Fatal("the raw batch is gone")
	}
}

func TestRecompressKeepsTheRecords(t *testing.T) {
	for _, from := range allCodecs {
		for _, to := range allCodecs {
			b := mustParse(t, foreignBatch(t, from, plainRecords(300), nil))
			want := readAllRecords(b)
			got, err := Recompress(b, to, DefaultLevel)
			if err != nil {
				t.Fatal(err)
			}
			again := mustParse(t, bytes.Clone(got.Raw))
			if got.Codec != to || again.Codec != to || !equalRecords(readAllRecords(got), want) || !equalRecords(readAllRecords(again), want) {
				t.Errorf("%v to %v: the records changed", from, to)
			}
			got.Release()
		}
	}
}

func TestRecompressRefusesAnUnknownCodec(t *testing.T) {
	b := mustParse(t, foreignBatch(t, None, plainRecords(1), nil))
	if _, err := Recompress(b, 5, DefaultLevel); err == nil {
		t.Fatal("accepted codec 5")
	}
}

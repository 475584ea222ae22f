package batch

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/korvet-io/korvet/internal/record"
)

// fuzzLimits are small, so that a decoder that ignores them shows.
var fuzzLimits = Limits{MaxRecords: 1000, MaxDecompressed: 1 << 20}

// checkAccepted proves what is promised of an accepted batch: a cursor gives its records, and it is accepted again.
func checkAccepted(t *testing.T, b *Batch) {
	t.Helper()
	if len(b.records) > fuzzLimits.MaxDecompressed || int(b.Count) > fuzzLimits.MaxRecords {
		t.Fatalf("%d records in %d bytes are more than the limits", b.Count, len(b.records))
	}
	records := readAllRecords(b)
	if len(records) != int(b.Count) {
		t.Fatalf("the cursor gave %d records of %d", len(records), b.Count)
	}
	for i, r := range records {
		if r.Offset != int64(i) || r.Timestamp < b.MinTimestamp || r.Timestamp > b.MaxTimestamp {
			t.Fatalf("record %d is %+v", i, r)
		}
	}
	h, ok := Peek(b.Raw)
	if !ok || h.Size != len(b.Raw) || h.LastOffset != int64(b.Count-1) || h.MaxTimestamp != b.MaxTimestamp {
		t.Fatalf("the header says %+v", h)
	}
	again, err := Parse(bytes.Clone(b.Raw), fuzzLimits)
	if err != nil || !bytes.Equal(again.Raw, b.Raw) {
		t.Fatalf("not accepted again: %v", err)
	}
	for len(records) > 0 {
		raw, n := buildSome(records)
		if n == 0 || !equalRecords(readAllRecords(mustParse(t, raw)), records[:n]) {
			t.Fatal("the records changed when built again")
		}
		if records = records[n:]; len(records) > 0 {
			base := records[0].Offset
			for i := range records {
				records[i].Offset -= base // Parse takes batches from offset 0 on
			}
		}
	}
}

// buildSome builds a batch of as many records as go into one.
func buildSome(records []record.Record) (raw []byte, n int) {
	var b Builder
	b.Reset(nil, BuildOptions{})
	for n < len(records) && b.Put(&records[n]) {
		n++
	}
	return b.Finish(), n
}

func FuzzParse(f *testing.F) {
	for _, codec := range allCodecs {
		f.Add(golden(f, "java-v2-"+codec.String()))
		f.Add(foreignBatch(f, codec, plainRecords(3), nil))
		f.Add(foreignBatch(f, codec, plainRecords(3), func(b *kmsg.RecordBatch) { b.Attributes |= appendTimeBit }))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if len(raw) >= HeaderSize { // let the fuzzer past the length and the CRC
			putInt32(raw, atLength, int32(len(raw)-lengthOverhead))
			sealCRC(raw)
		}
		if b, err := Parse(raw, fuzzLimits); err == nil {
			checkAccepted(t, b)
			b.Release()
		}
	})
}

func FuzzConvert(f *testing.F) {
	for magic := range 2 {
		for _, codec := range []Codec{None, Gzip, Snappy, LZ4} {
			raw := golden(f, fmt.Sprintf("java-v%d-%v", magic, codec))
			f.Add(raw, int8(None))
			f.Add(raw, int8(codec))
		}
	}
	f.Add(append(messageV0(0, None, []byte("k"), nil), messageV1(1, 5, None, nil, []byte("v"))...), int8(Gzip))
	f.Fuzz(func(t *testing.T, raw []byte, wrapper int8) {
		if len(raw) > atMessageAttributes { // let the fuzzer past the length and the CRC
			putInt32(raw, atLength, int32(len(raw)-lengthOverhead))
			resealMessage(raw)
		}
		if codec := Codec(wrapper); codec.known() && codec != None {
			raw = messageV1(0, 0, codec, nil, codec.compress(nil, raw, DefaultLevel))
		}
		if b, err := Convert(raw, fuzzLimits); err == nil {
			checkAccepted(t, b)
			b.Release()
		}
	})
}

func FuzzDecompress(f *testing.F) {
	for _, codec := range allCodecs[1:] {
		f.Add(int8(codec), codec.compress(nil, bodies()[2], DefaultLevel))
		f.Add(int8(codec), foreignCompress(f, codec, bodies()[2]))
	}
	f.Fuzz(func(t *testing.T, codec int8, src []byte) {
		const limit = 1 << 20
		out, err := Codec(codec).decompress(nil, src, limit)
		if err != nil {
			return
		}
		if len(out) > limit || cap(out) > 2*limit {
			t.Fatalf("%d bytes in a buffer of %d for a limit of %d", len(out), cap(out), limit)
		}
		again, err := Codec(codec).decompress(nil, Codec(codec).compress(nil, out, DefaultLevel), limit)
		if err != nil || !bytes.Equal(again, out) {
			t.Fatalf("the body changed when compressed again: %v", err)
		}
	})
}

func FuzzBuilderRoundTrip(f *testing.F) {
	f.Add(int64(0), int64(1_700_000_000_000), []byte("k"), []byte("v"), []byte("h"), int64(1), int64(1), int8(0))
	f.Add(int64(1)<<60, int64(-1), []byte{}, []byte{}, []byte{}, int64(1)<<31, int64(-1)<<52, int8(4))
	f.Fuzz(func(t *testing.T, offset, timestamp int64, key, value, headerKey []byte, offsetStep, timestampStep int64, codec int8) {
		c := Codec(codec)
		if !c.known() {
			return
		}
		header := kmsg.Record{Headers: []kmsg.Header{{Key: string(headerKey), Value: value}}}
		records := []record.Record{
			{Offset: offset, Timestamp: timestamp, Key: key, Value: value, Headers: header.AppendTo(nil)[6:]},
			{Offset: offset + offsetStep, Timestamp: timestamp + timestampStep, Key: nil, Value: key},
			{Offset: offset + 2*offsetStep, Timestamp: timestamp, Key: value, Value: nil},
		}
		var b Builder
		b.Reset(nil, BuildOptions{Codec: c})
		var want []record.Record
		for i := range records {
			if offsetStep > 0 && b.Put(&records[i]) {
				want = append(want, records[i])
			}
		}
		checkBuilt(t, b.Finish(), want)
	})
}

// checkBuilt walks a built batch, which may lie anywhere in the log and have holes.
func checkBuilt(t *testing.T, raw []byte, want []record.Record) {
	t.Helper()
	if len(want) == 0 {
		if len(raw) != 0 {
			t.Fatal("a batch without records was made")
		}
		return
	}
	h, ok := Peek(raw)
	if !ok || h.BaseOffset != want[0].Offset || h.LastOffset != want[len(want)-1].Offset || int(h.Count) != len(want) || h.Size != len(raw) {
		t.Fatalf("the header says %+v", h)
	}
	b := &Batch{Raw: raw, Codec: h.Codec, BaseTimestamp: int64At(raw, atBaseTimestamp), Count: h.Count}
	if err := b.openRecords(Limits{}.withDefaults()); err != nil {
		t.Fatal(err)
	}
	if got := readAllRecords(b); !equalRecords(got, want) {
		t.Fatalf("got %+v\nwant %+v", got, want)
	}
}

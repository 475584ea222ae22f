package load

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/korvet-io/korvet/test/faults/checker"
	"github.com/twmb/franz-go/pkg/kgo"
)

func TestARecordIsRecognisedWhenItIsRead(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for seq := range int64(2000) {
		id := checker.ID{Producer: 3, Seq: seq}
		r := newRecord(id, time.UnixMilli(1_700_000_000_000+seq), rnd)
		if got := Entry(r); got.ID != id || got.Digest != digest(r) {
			t.Fatalf("record %v is read as %v", id, got)
		}
	}
}

func TestARecordWhoseBytesChangedIsNotRecognised(t *testing.T) {
	r := &kgo.Record{Value: identity(checker.ID{Producer: 3, Seq: 4}, bytes.Repeat([]byte("x"), 50))}
	for i := range r.Value {
		r.Value[i] ^= 0x20
		if got := Entry(r); got.ID == (checker.ID{Producer: 3, Seq: 4}) {
			t.Errorf("with byte %d changed it is still read as %v", i, got)
		}
		r.Value[i] ^= 0x20
	}
}

func TestDigestsTellNullFromEmptyAndSeeEveryPart(t *testing.T) {
	records := []*kgo.Record{
		{Value: []byte("v")},
		{Value: []byte("w")},
		{Key: []byte{}, Value: []byte("v")},
		{Key: []byte("v")},
		{Key: []byte("v"), Value: []byte{}},
		{Value: []byte("v"), Headers: []kgo.RecordHeader{{Key: "h"}}},
		{Value: []byte("v"), Headers: []kgo.RecordHeader{{Key: "h", Value: []byte{}}}},
		{Value: []byte("v"), Headers: []kgo.RecordHeader{{Key: "h"}, {Key: "h"}}},
	}
	seen := map[uint64]int{}
	for i, r := range records {
		if j, ok := seen[digest(r)]; ok {
			t.Errorf("records %d and %d have one digest", i, j)
		}
		seen[digest(r)] = i
	}
}

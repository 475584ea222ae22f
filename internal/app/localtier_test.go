package app

import (
	"bytes"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/korvet-io/korvet/internal/demo"
	"github.com/korvet-io/korvet/internal/redistest"
)

func TestTheLocalTierTellsSegmentsAndWhatValuesTake(t *testing.T) {
	redis := redistest.Start(t)
	c := load(t, "--korvet.redis.uri="+redis.URI(), "--korvet.storage.worker.tick-interval=100ms")
	kafka := client(t, start(t, c))
	createTopic(t, kafka, "t", map[string]*string{"storage.compression.type": kadm.StringPtr("zstd"), "segment.ms": kadm.StringPtr("1"), "segment.bytes": kadm.StringPtr("1048576")})
	memory, err := NewRedisMemory(c.Redis)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(memory.Close)
	tier := memory.Tier(c.Namespace, "t", 1)
	look := func() demo.Log {
		t.Helper()
		got, err := tier.Look(t.Context())
		if err != nil || len(got.Logs) != 1 || got.Dictionary {
			t.Fatalf("look: %v, %+v", err, got)
		}
		return got.Logs[0]
	}
	if l := look(); len(l.Sealed) != 0 || l.Open != (demo.Segment{}) {
		t.Errorf("an empty log: %+v", l)
	}
	const records, value = 10, 1000
	produce := func(sealed int) demo.Log {
		t.Helper()
		var batch []*kgo.Record
		for range records {
			batch = append(batch, &kgo.Record{Topic: "t", Value: bytes.Repeat([]byte("x"), value)})
		}
		if err := kafka.ProduceSync(t.Context(), batch...).FirstErr(); err != nil {
			t.Fatal(err)
		}
		redistest.Eventually(t, "the segment to be sealed", func() bool { return len(look().Sealed) == sealed })
		return look()
	}
	produce(1)
	l := produce(2)
	for i, s := range l.Sealed {
		if s.Number != int64(i) || s.First != int64(records*i) || s.Next != s.First+records || s.Values != records*value || s.Stored <= 0 || s.Stored > s.Values/5 || s.Bytes < s.Stored {
			t.Errorf("sealed segment %d: %+v", i, s)
		}
	}
	if o := l.Open; o.Number != 2 || o.First != 2*records || o.Next != o.First || o.Values != 0 {
		t.Errorf("the open segment: %+v", o)
	}
	redis.Do("HDEL", "korvet:storage:segments:{korvet:storage:local:t:0}", "s:0") // as a drop does
	if l := look(); len(l.Sealed) != 1 || l.Sealed[0].Number != 1 || len(tier.means) != 1 {
		t.Errorf("after a drop: %+v, and %d means are kept", l, len(tier.means))
	}
}

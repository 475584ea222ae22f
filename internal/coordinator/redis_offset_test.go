package coordinator

import (
	"math"
	"testing"

	"github.com/google/uuid"
)

func TestOffsetIsTextThatRedisCliShows(t *testing.T) {
	o := Offset{
		TopicPartition: TopicPartition{"orders", 3}, TopicID: uuid.MustParse("01890a5d-ac96-774b-bcce-b302099a8057"),
		Offset: 42, LeaderEpoch: -1, CommitMs: 1700000000000, ExpireMs: 1700000060000, Metadata: " two  words",
	}
	if field := offsetField(o.TopicPartition); field != "orders:3" {
		t.Errorf("field %q", field)
	}
	const want = "42 -1 1700000000000 1700000060000 01890a5d-ac96-774b-bcce-b302099a8057  two  words"
	if value := offsetValue(&o); value != want {
		t.Errorf("value %q, want %q", value, want)
	}
	o.Metadata = ""
	if value := offsetValue(&o); value != want[:len(want)-len("  two  words")] {
		t.Errorf("value without metadata %q", value)
	}
}

func TestFieldsThatAreNoOffsetsAreErrors(t *testing.T) {
	const id = "01890a5d-ac96-774b-bcce-b302099a8057"
	for _, c := range []struct{ field, value string }{
		{"", "1 1 1 1 " + id}, {"orders", "1 1 1 1 " + id}, {":3", "1 1 1 1 " + id}, {"orders:x", "1 1 1 1 " + id},
		{"orders:-1", "1 1 1 1 " + id}, {"orders:2147483648", "1 1 1 1 " + id}, {"orders:1", ""}, {"orders:1", "1 1 1 " + id},
		{"orders:1", "x 1 1 1 " + id}, {"orders:1", "1 2147483648 1 1 " + id}, {"orders:1", "9223372036854775808 1 1 1 " + id},
		{"orders:1", "1 1 x 1 " + id}, {"orders:1", "1 1 1 x " + id}, {"orders:1", "1 1 1 1 x"}, {"orders:1", "1 1 1  " + id},
	} {
		if o, err := parseOffset(c.field, c.value); err == nil {
			t.Errorf("%q %q is taken for %+v", c.field, c.value, o)
		}
	}
}

func FuzzOffsetsAreReadAsTheyWereWritten(f *testing.F) {
	f.Add("orders", int32(0), int64(0), int32(-1), int64(1700000000000), int64(0), "")
	f.Add("a.b_c-d", int32(math.MaxInt32), int64(math.MaxInt64), int32(7), int64(-1), int64(math.MinInt64), " a \x00\n b ")
	f.Fuzz(func(t *testing.T, topic string, partition int32, offset int64, epoch int32, commit, expire int64, metadata string) {
		if topic == "" || partition < 0 {
			return
		}
		o := Offset{
			TopicPartition: TopicPartition{topic, partition}, TopicID: uuid.NewSHA1(uuid.Nil, []byte(topic)),
			Offset: offset, LeaderEpoch: epoch, CommitMs: commit, ExpireMs: expire, Metadata: metadata,
		}
		got, err := parseOffset(offsetField(o.TopicPartition), offsetValue(&o))
		if err != nil || got != o {
			t.Errorf("%+v became %+v, %v", o, got, err)
		}
	})
}

func FuzzParseOffset(f *testing.F) {
	f.Add("orders:0", "42 -1 1700000000000 0 01890a5d-ac96-774b-bcce-b302099a8057 text of a client")
	f.Add("orders:1", "42 -1 1700000000000 0 01890a5dac96774bbcceb302099a8057")
	f.Add("a:b:2", "+1 00 -0 1 {01890a5d-ac96-774b-bcce-b302099a8057} ")
	f.Fuzz(func(t *testing.T, field, value string) {
		o, err := parseOffset(field, value)
		if err != nil {
			return
		}
		again, err := parseOffset(offsetField(o.TopicPartition), offsetValue(&o))
		if err != nil || again != o {
			t.Errorf("%q %q is %+v, and written again %+v, %v", field, value, o, again, err)
		}
	})
}

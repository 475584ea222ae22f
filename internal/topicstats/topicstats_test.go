package topicstats

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/korvet-io/korvet/internal/compress"
	"github.com/korvet-io/korvet/internal/redistest"
)

// events are records that share their structure.
func events(n int) []Record {
	r := rand.New(rand.NewPCG(1, 2))
	var records []Record
	for i := range n {
		value := fmt.Sprintf(`{"event":"order_created","order":"o-%08d","customer":"customer-%05d","country":"DE","items":[{"sku":"SKU-%06d","quantity":%d}]}`, r.IntN(1e8), r.IntN(1e5), r.IntN(1e6), r.IntN(9))
		records = append(records, Record{Key: fmt.Append(nil, "o-", i), Value: []byte(value), Offset: int64(i), Timestamp: 1_769_842_800_000})
	}
	return records
}

func TestADictionaryIsMeasuredOnOtherRecordsThanItWasTrainedOn(t *testing.T) {
	training, measured := Split(events(1000))
	if len(training) != 500 || len(measured) != 500 || training[0].Offset != 0 || measured[0].Offset != 1 {
		t.Fatalf("%d records for training, %d to measure", len(training), len(measured))
	}
	methods, err := Methods(training)
	if err != nil || len(methods) != 6 || methods[5].Dictionary == nil {
		t.Fatalf("%d methods, %v", len(methods), err)
	}
	var rows []Row
	for _, m := range methods {
		row, err := Measure(m, measured, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	if rows[0].Ratio != 1 || rows[5].Name() != "zstd + dictionary" || rows[5].StoredBytes > rows[4].StoredBytes/2 {
		t.Errorf("%+v", rows)
	}
	if got := Recommend(rows); got.Codec != "zstd" || !got.Dictionary || !strings.Contains(got.Text, "bytes a value") {
		t.Errorf("recommended %+v", got)
	}
}

func TestMediansAreOfTheInjectedClock(t *testing.T) {
	var reads int64
	row, err := Measure(Method{Codec: compress.Gzip}, events(10), func() time.Time {
		reads++
		return time.Unix(0, reads*reads*1000)
	})
	if err != nil || row.CompressUs >= row.DecompressUs || row.CompressUs < 60 {
		t.Errorf("%+v, %v", row, err)
	}
}

func TestNullsAreNotMeasuredAndTooFewValuesTrainNoDictionary(t *testing.T) {
	tombstones := []Record{{Key: []byte("a")}, {Key: []byte("b")}}
	if _, err := Measure(Method{}, tombstones, time.Now); !errors.Is(err, ErrNoValues) {
		t.Errorf("tombstones alone: %v", err)
	}
	row, err := Measure(Method{}, append(tombstones, Record{Value: []byte("four")}), time.Now)
	if err != nil || row.StoredBytes != 4 {
		t.Errorf("%+v, %v, want the one value's 4 bytes", row, err)
	}
	if methods, err := Methods(events(3)); err != nil || len(methods) != 5 {
		t.Errorf("%d methods, %v", len(methods), err)
	}
	if training, measured := Split(events(1)); len(training) != 1 || len(measured) != 1 {
		t.Error("a single record is not measured")
	}
}

func TestTheRecommendationWeighsBytesAndTime(t *testing.T) {
	row := func(codec string, bytes, us float64) Row {
		return Row{Codec: codec, StoredBytes: bytes, CompressUs: us, RedisBytes: bytes}
	}
	for name, c := range map[string]struct {
		rows []Row
		want string
	}{
		"the smallest":             {[]Row{row("none", 1000, 0), row("lz4", 500, 1), row("zstd", 300, 9)}, "zstd"},
		"nearly as small, faster":  {[]Row{row("none", 1000, 0), row("lz4", 320, 1), row("zstd", 300, 9)}, "lz4"},
		"nearly as small, slower":  {[]Row{row("none", 1000, 0), row("gzip", 310, 20), row("zstd", 300, 9)}, "zstd"},
		"none is nearly as small":  {[]Row{row("none", 1000, 0), row("lz4", 1010, 1), row("zstd", 950, 9)}, "none"},
		"none, for all are larger": {[]Row{row("none", 1000, 0), row("lz4", 1010, 1)}, "none"},
	} {
		if got := Recommend(c.rows); got.Codec != c.want || !strings.HasPrefix(got.Text, c.want+": ") {
			t.Errorf("%s: %+v, want %s", name, got, c.want)
		}
	}
}

func TestAScratchStreamIsMeasuredAndGone(t *testing.T) {
	redis := redistest.Start(t)
	s := Scratch{Client: redis.Client(), Key: "korvet:storage:scratch:x", Now: time.Now}
	records := append(events(1000), Record{Key: []byte("tombstone"), Headers: []byte("\x00")}, Record{Stamped: true})
	plain, err := s.Measure(t.Context(), Method{}, records)
	if err != nil || plain < 150 || plain > 400 {
		t.Errorf("%.0f bytes a record, %v", plain, err)
	}
	methods, err := Methods(records[:500])
	if err != nil {
		t.Fatal(err)
	}
	if small, err := s.Measure(t.Context(), methods[5], records[500:]); err != nil || small > 0.7*plain {
		t.Errorf("with a dictionary %.0f bytes, %v", small, err)
	}
	mustBeEmpty(t, redis)
}

func TestAScratchStreamIsGoneWhenTheMeasuringIsCutShort(t *testing.T) {
	redis := redistest.Start(t)
	redis.Do("XADD", "scratch", "1-1", "value", "begun")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := Scratch{Client: redis.Client(), Key: "scratch", Now: time.Now}
	if _, err := s.Measure(ctx, Method{}, events(10)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	mustBeEmpty(t, redis)
}

func TestAScratchStreamIsBoundedAndExpires(t *testing.T) {
	redis := redistest.Start(t)
	s := Scratch{Client: redis.Client(), Key: "scratch", Now: time.Now}
	large := Record{Value: bytes.Repeat([]byte("x"), 6<<20)}
	if _, err := s.Measure(t.Context(), Method{}, []Record{large, large, large, large}); err != nil {
		t.Fatal(err)
	}
	reply := redis.Do("INFO", "commandstats")
	stats, err := reply.ToString()
	if err != nil || !strings.Contains(stats, "cmdstat_xadd:calls=2,") || !strings.Contains(stats, "cmdstat_expire:calls=1,") {
		t.Errorf("%v, of four records of 6 MiB: %s", err, stats)
	}
	mustBeEmpty(t, redis)
}

func TestAFullRedisIsAnErrorAndLeavesNothing(t *testing.T) {
	redis := redistest.Start(t, "--maxmemory", "1")
	s := Scratch{Client: redis.Client(), Key: "scratch", Now: time.Now}
	if _, err := s.Measure(t.Context(), Method{}, events(10)); err == nil || !strings.Contains(err.Error(), "OOM") {
		t.Errorf("got %v", err)
	}
	mustBeEmpty(t, redis)
}

func mustBeEmpty(t *testing.T, redis *redistest.Server) {
	t.Helper()
	reply := redis.Do("DBSIZE")
	if n, err := reply.ToInt64(); err != nil || n != 0 {
		t.Errorf("%d keys are left, %v", n, err)
	}
}

package demo

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestShopTellsStoriesThatHangTogether(t *testing.T) {
	shop := NewShop(rand.New(rand.NewPCG(1, 2)))
	owed := map[string]int64{} // by order
	seen := map[string]int{}
	for i := range 20_000 {
		e := shop.Next(time.UnixMilli(int64(i)))
		var v event
		if err := json.Unmarshal(e.Value, &v); err != nil {
			t.Fatal(err)
		}
		seen[v.Type]++
		if v.Customer != e.Key || e.Headers[0] != [2]string{"type", v.Type} {
			t.Fatalf("key %s, headers %v, value %s", e.Key, e.Headers, e.Value)
		}
		switch v.Type {
		case "order":
			total := int64(0)
			for _, l := range v.Lines {
				total += l.Cents * int64(l.Quantity)
			}
			if total != v.Total || total == 0 || owed[v.Order] != 0 {
				t.Fatalf("order %s", e.Value)
			}
			owed[v.Order] = total
		case "payment":
			if owed[v.Order] != v.Total {
				t.Fatalf("payment without its order: %s", e.Value)
			}
		}
	}
	for _, kind := range []string{"page_view", "cart", "order", "payment"} {
		if seen[kind] < 500 {
			t.Errorf("%d events %s", seen[kind], kind)
		}
	}
}

func TestPercentilesAreWithinATenthOfTheTruth(t *testing.T) {
	var l latencies
	for us := 1; us <= 10_000; us++ {
		l.add(time.Duration(us) * time.Microsecond)
	}
	got := l.percentiles(0.5, 0.99)
	for i, want := range []time.Duration{5 * time.Millisecond, 9900 * time.Microsecond} {
		if got[i] < want*9/10 || got[i] > want*11/10 {
			t.Errorf("got %v, want %v", got[i], want)
		}
	}
}

func TestPercentilesForgetWhatIsLongAgo(t *testing.T) {
	var l latencies
	l.add(time.Hour)
	for range latencySpan {
		l.next()
	}
	if got := l.percentiles(0.5); got[0] != 0 {
		t.Errorf("got %v of nothing", got)
	}
	l.add(time.Millisecond)
	if got := l.percentiles(0.99); got[0] > 2*time.Millisecond {
		t.Errorf("got %v", got)
	}
}

func TestFramesFitTheScreen(t *testing.T) {
	s := Sample{Partitions: []Partition{{End: 1}, {End: 2}, {End: 3, Reader: 2}}, LastEvent: strings.Repeat("é", 300), ratesHistory: []float64{1, 2}}
	text := frame(lines(Places{Kafka: "localhost:9092"}, s, 12), 40, 12)
	drawn := strings.Split(text, "\r\n")
	if len(drawn) != 12 {
		t.Errorf("%d lines", len(drawn))
	}
	for _, line := range drawn {
		plain := strings.NewReplacer("\x1b[H", "", "\x1b[K", "", "\x1b[J", "").Replace(line)
		if n := utf8.RuneCountInString(plain); n > 40 {
			t.Errorf("%d columns: %s", n, plain)
		}
	}
	if !strings.HasPrefix(text, "\x1b[H") || !strings.HasSuffix(text, "\x1b[J") {
		t.Error("a frame starts at the top left and clears what is below it")
	}
}

func TestNothingButTheEventIsCutAt80Columns(t *testing.T) {
	const place = "127.0.0.1:65535"
	segment := Segment{Number: 1234, First: 199_999_999, Next: 200_000_000, Values: 1 << 30, Stored: 1 << 29, Bytes: 1 << 29, Age: time.Minute}
	tier := Tier{Codec: "zstd", Dictionary: true, Logs: []Log{{Sealed: []Segment{segment, segment}, Open: segment, Start: 100_000_000, Tiered: 199_999_999}, {}, {}}}
	s := Sample{GroupState: "Stable", Tier: tier, Partitions: []Partition{{Start: 100_000_000, End: 200_000_000, Committed: 123_456_789, Reader: 2}}, LastEvent: "{}"}
	for _, line := range lines(Places{Kafka: place, HTTP: place, Redis: place, RedisPort: "65535", Namespace: "korvet", Program: "bin/korvet", Catalog: "http://" + place + "/iceberg"}, s, 40) {
		if n := utf8.RuneCountInString(line); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

func TestPlainLinesHoldOneValueAWord(t *testing.T) {
	s := Sample{Elapsed: 2 * time.Second, InRate: 49.6, OutRate: 50, In: 100, Out: 99, P50: 612 * time.Microsecond, P99: 3 * time.Millisecond, RedisMemory: 3 << 20, Partitions: []Partition{{End: 40, Committed: 39, Reader: 1}, {End: 30, Committed: 30, Reader: 1}, {End: 30, Start: 20, Reader: 2}}, Failed: 1,
		Tier: Tier{Codec: "zstd", Dictionary: true, Logs: []Log{{Sealed: []Segment{{Number: 2, First: 70, Next: 100, Values: 3000, Stored: 1000, Bytes: 2048}}, Open: Segment{Number: 3}, Start: 20, Tiered: 100}}}}
	const want = "2s in=50/s out=50/s total_in=100 total_out=99 ack_p50=0.61ms ack_p99=3.00ms redis_memory=3.0MB log_start=0,0,20 log_end=40,30,30 lag=1,0,10 read_by=1,1,2 codec=zstd+dictionary sealed=1 gone=2 values=2.9KB stored_as=1.0KB in_redis=2.0KB in_table=80 only_in_table=50 failed=1"
	if got := plain(s); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestNumbersAreGrouped(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", -1234567: "-1,234,567"} {
		if got := grouped(n); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

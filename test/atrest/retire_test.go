package atrest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/rueidis"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/korvet-io/korvet/internal/compress"
	"github.com/korvet-io/korvet/internal/redistest"
)

const partitionDictionaries = "korvet:storage:zdict:{korvet:storage:local:t:0}"

// ids are the dictionaries in a hash of Redis.
func ids(t *testing.T, redis rueidis.Client, key string) string {
	t.Helper()
	fields, err := do(t, redis, "HKEYS", key).AsStrSlice()
	if err != nil {
		t.Fatal(err)
	}
	fields = slices.DeleteFunc(fields, func(f string) bool { return strings.Trim(f, "0123456789") != "" })
	slices.Sort(fields)
	return strings.Join(fields, " ")
}

// kinds of values that have nothing in common.
var kinds = []func(n int) []byte{
	func(n int) []byte { return payload(n, 300) },
	other,
	func(n int) []byte {
		return fmt.Appendf(nil, "INSERT INTO `visits` (`page`, `visitor`, `seconds`, `referrer`) VALUES ('/shop/%d', %d, %d, 'https://search.example/?q=%x');", n%97, n*7919, n%300, n*31)
	},
}

// retrain produces values until the partition uses the dictionary that was trained of them. It returns the log's end.
func retrain(t *testing.T, client *kgo.Client, redis rueidis.Client, id int) (end int64) {
	t.Helper()
	redistest.Eventually(t, fmt.Sprintf("dictionary %d to be trained and used", id), func() bool {
		list := make([]*kgo.Record, 5000)
		for n := range list {
			list[n] = &kgo.Record{Topic: "t", Value: kinds[id-1](n)}
		}
		results := client.ProduceSync(t.Context(), list...)
		if err := results.FirstErr(); err != nil {
			t.Fatal(err)
		}
		end = results[len(results)-1].Record.Offset + 1
		used, err := do(t, redis, "HEXISTS", partitionDictionaries, strconv.Itoa(id)).AsInt64()
		return err == nil && used == 1
	})
	return end
}

// sameByHand compares each hundredth value of a log of one stream as the stock program reads it with what a consumer got.
func sameByHand(t *testing.T, s *redistest.Server, redis rueidis.Client, consumed []*kgo.Record) {
	t.Helper()
	frames := stored(t, s, "t")
	if len(frames) != len(consumed) {
		t.Fatalf("%d entries in Redis, %d records consumed", len(frames), len(consumed))
	}
	for i := 0; i < len(frames); i += 100 {
		args := []string{"-dc"}
		id, err := compress.FrameDictionary(frames[i])
		if err != nil {
			t.Fatal(err)
		}
		if id > 0 {
			blob, err := do(t, redis, "HGET", partitionDictionaries, strconv.Itoa(int(id))).AsBytes()
			if err != nil {
				t.Fatalf("dictionary %d of entry %d: %v", id, i, err)
			}
			path := filepath.Join(t.TempDir(), "dictionary")
			if err := os.WriteFile(path, blob, 0o600); err != nil {
				t.Fatal(err)
			}
			args = append(args, "-D", path)
		}
		if got := run(t, frames[i], "zstd", args...); !bytes.Equal(got, consumed[i].Value) {
			t.Fatalf("entry %d is %q by hand and %q to a consumer", i, got, consumed[i].Value)
		}
	}
}

func TestDictionariesGoWithTheRecordsThatNeedThem(t *testing.T) {
	b, client, redis := start(t, "--korvet.storage.local.compression.dictionary.sample-records=300",
		"--korvet.storage.local.compression.dictionary.retrain-interval=1ms", "--korvet.storage.worker.tick-interval=100ms")
	create(t, client, "t", "zstd", "retention.ms", "-1")
	var ends []int64 // of what was produced until each dictionary was used
	for id := range kinds {
		ends = append(ends, retrain(t, client, redis, id+1))
	}
	all := dictionaryKeys(t, redis)[0]
	if got := ids(t, redis, partitionDictionaries) + ", " + ids(t, redis, all); got != "1 2 3, 1 2 3" {
		t.Fatalf("the partition and the topic have dictionaries %s", got)
	}
	start := int64(0)
	for i, want := range []string{"1 2 3", "2 3", "3"} {
		if i > 0 { // the dictionary before was used for the last time in the round that ended there
			start = ends[i]
			deleteBefore(t, client, start)
		}
		redistest.Eventually(t, "dictionaries "+want+" to be left", func() bool {
			return ids(t, redis, partitionDictionaries) == want && ids(t, redis, all) == want
		})
		b.Restart() // it has no dictionary in memory
		sameByHand(t, b.Redis, redis, consume(t, b, "t", start, ends[len(ends)-1]))
	}
}

// deleteBefore has a log start at an offset.
func deleteBefore(t *testing.T, client *kgo.Client, offset int64) {
	t.Helper()
	var at kadm.Offsets
	at.Add(kadm.Offset{Topic: "t", Partition: 0, At: offset})
	answers, err := kadm.NewClient(client).DeleteRecords(t.Context(), at)
	if err == nil {
		err = answers.Error()
	}
	if err != nil {
		t.Fatal(err)
	}
}

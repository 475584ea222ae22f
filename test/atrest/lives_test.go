package atrest

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/redis/rueidis"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/korvet-io/korvet/internal/redistest"
	"github.com/korvet-io/korvet/test/harness"
)

// dictionaryKeys are the hashes of the topics' dictionaries.
func dictionaryKeys(t *testing.T, redis rueidis.Client) []string {
	t.Helper()
	keys, err := do(t, redis, "KEYS", "korvet:storage:zdicts:*").AsStrSlice()
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// newest is the id of the newest dictionary of the only topic that has any.
func newest(t *testing.T, redis rueidis.Client) string {
	t.Helper()
	for _, key := range dictionaryKeys(t, redis) {
		id, err := do(t, redis, "HGET", key, "newest").ToString()
		if err == nil {
			return id
		}
	}
	return ""
}

// other is a value of another kind than payload's.
func other(n int) []byte {
	return fmt.Appendf(nil, "<reading><sensor>%x</sensor><celsius>%d.%d</celsius><humidity unit=\"percent\">%d</humidity><battery>%d mV</battery></reading>",
		n*7919, n%40, n%10, n*31%100, 3000+n%900)
}

func TestValuesAreReadAfterRetrainingRestartAndTakeover(t *testing.T) {
	const records = 15_000
	settings := []string{"--korvet.storage.local.compression.dictionary.sample-records=300", "--korvet.storage.local.compression.dictionary.retrain-interval=1ms"}
	b, client, redis := start(t, settings...)
	create(t, client, "t", "zstd")
	train(t, client, redis, "t", 500)
	for round := 0; newest(t, redis) != "2"; round++ {
		if round == 20 {
			t.Fatal("the dictionary is not replaced although it does not fit the values any more")
		}
		var list []*kgo.Record
		for n := range records / 3 {
			list = append(list, &kgo.Record{Topic: "t", Value: other(n)})
		}
		if err := client.ProduceSync(t.Context(), list...).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	redistest.Eventually(t, "the second dictionary to be used", func() bool {
		if err := client.ProduceSync(t.Context(), &kgo.Record{Topic: "t", Value: other(1)}).FirstErr(); err != nil {
			t.Fatal(err)
		}
		used, err := do(t, redis, "HEXISTS", "korvet:storage:zdict:{korvet:storage:local:t:0}", "2").AsInt64()
		return err == nil && used == 1
	})
	frames := int64(len(stored(t, b.Redis, "t")))
	before := consume(t, b, "t", 0, frames)
	same := func(who string, b *harness.Broker) {
		for i, r := range consume(t, b, "t", 0, frames) {
			if !bytes.Equal(r.Value, before[i].Value) || len(r.Value) < 50 {
				t.Fatalf("%s: record %d is %q, was %q", who, i, r.Value, before[i].Value)
			}
		}
	}
	b.Restart()
	same("after a restart", b)
	b.Kill9()
	same("another broker", harness.Start(t, harness.Options{Own: true, Redis: b.Redis, Args: []string{"--korvet.broker.id=2"}}))
}

func TestATopicThatIsCreatedAgainHasDictionariesOfItsOwn(t *testing.T) {
	b, client, redis := start(t)
	create(t, client, "t", "zstd")
	train(t, client, redis, "t", 500)
	old := dictionaryKeys(t, redis)
	if _, err := kadm.NewClient(client).DeleteTopic(t.Context(), "t"); err != nil {
		t.Fatal(err)
	}
	create(t, client, "t", "zstd")
	again, err := kgo.NewClient(kgo.SeedBrokers(b.Addr), kgo.RecordPartitioner(kgo.ManualPartitioner())) // the other one knows the old id
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	train(t, again, redis, "t", 1000)
	redistest.Eventually(t, "the earlier life's dictionaries to be gone", func() bool {
		return len(old) == 1 && !strings.Contains(fmt.Sprint(dictionaryKeys(t, redis)), old[0])
	})
	if n, err := do(t, redis, "EXISTS", "korvet:storage:zdict:t").AsInt64(); err != nil || n != 1 {
		t.Errorf("the readable copy of the new life went with the old: %d, %v", n, err)
	}
	b.Restart()
	for _, r := range consume(t, b, "t", 0, 100) {
		if !bytes.HasPrefix(r.Value, []byte(`{"ts"`)) {
			t.Fatalf("a value is %q", r.Value)
		}
	}
}

func TestAValueWhoseDictionaryIsGoneIsCorruptAndOtherTopicsAreRead(t *testing.T) {
	b, client, redis := start(t)
	create(t, client, "lost", "zstd")
	create(t, client, "kept", "zstd")
	train(t, client, redis, "lost", 500)
	produce(t, client, "kept", 0, 10, 500)
	end := int64(len(stored(t, b.Redis, "lost")))
	for _, key := range append(dictionaryKeys(t, redis), "korvet:storage:zdict:{korvet:storage:local:lost:0}") {
		if err := do(t, redis, "DEL", key).Error(); err != nil {
			t.Fatal(err)
		}
	}
	b.Restart()
	if got := consume(t, b, "lost", 0, 100); len(got) < 100 {
		t.Errorf("%d records from before the dictionary", len(got))
	}
	reader, err := kgo.NewClient(kgo.SeedBrokers(b.Addr), kgo.KeepRetryableFetchErrors(), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{
		"lost": {0: kgo.NewOffset().At(end - 1)}, "kept": {0: kgo.NewOffset().At(0)},
	}))
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	corrupt, read := false, 0
	for !corrupt || read < 10 {
		fetched := reader.PollFetches(t.Context())
		for _, e := range fetched.Errors() {
			if e.Topic != "lost" || e.Err != kerr.CorruptMessage {
				t.Fatalf("%s: %v", e.Topic, e.Err)
			}
			corrupt = true
		}
		read += len(fetched.Records())
	}
	if !strings.Contains(b.Logs(), "zstd dictionary 1") {
		t.Error("the log does not name the dictionary")
	}
}

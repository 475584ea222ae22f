package metadata

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/korvet-io/korvet/internal/redistest"
)

func TestNamespaceOfAnotherKindStopsTheStart(t *testing.T) {
	redis := redistest.Start(t)
	for _, c := range []struct {
		name  string
		setup []string
		want  []string
	}{
		{"the product's streams", []string{"XADD", "korvet:storage:local:orders:0", "*", "value", "x"}, []string{"korvet:storage:local:orders:0", "choose another korvet.namespace"}},
		{"a marker that is no hash", []string{"SET", "korvet:meta", "x"}, []string{"korvet:meta is a string"}},
		{"a marker without format", []string{"HSET", "korvet:meta", "a", "b"}, []string{"korvet:meta has no layout format"}},
		{"a newer layout", []string{"HSET", "korvet:meta", "format", "2", "cluster_id", "c"}, []string{"korvet:meta", "format 2 is newer than 1"}},
	} {
		redis.Do("FLUSHALL")
		redis.Do(c.setup...)
		_, err := Open(t.Context(), redis.Client(), options(t, 1))
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %v, want %q in it", c.name, err, want)
			}
		}
		keys := redis.Do("DBSIZE")
		if n, _ := keys.AsInt64(); n != 1 {
			t.Errorf("%s: %d keys after the refusal, want 1", c.name, n)
		}
	}
}

func TestOtherNamespacesAreNoObstacle(t *testing.T) {
	redis := redistest.Start(t)
	redis.Do("SET", "korvette:x", "1")
	redis.Do("SET", "other:meta", "1")
	open(t, redis, options(t, 1))
	opt := options(t, 1)
	opt.Namespace = "second[*"
	open(t, redis, opt)
}

func TestMessagesOfAnotherClusterStopTheStart(t *testing.T) {
	mine, messages := redistest.Start(t), redistest.Start(t)
	s := open(t, mine, options(t, 1))
	for range 2 {
		if err := ClaimMessages(t.Context(), messages.Client(), "korvet", s.ID(), "test"); err != nil {
			t.Fatal(err)
		}
	}
	err := ClaimMessages(t.Context(), messages.Client(), "korvet", "another", "test")
	if err == nil || !strings.Contains(err.Error(), "belongs to cluster "+s.ID()) {
		t.Errorf("claim for another cluster: %v, want a refusal", err)
	}
}

func TestServerThatWouldLoseDataIsRefused(t *testing.T) {
	redis := redistest.Start(t)
	var log bytes.Buffer
	check := func() error {
		return CheckServer(context.Background(), redis.Client(), "korvet", "messages", slog.New(slog.NewTextHandler(&log, nil)))
	}
	if err := check(); err != nil || !strings.Contains(log.String(), "append-only") {
		t.Errorf("without AOF: error %v, log %q, want a warning", err, log.String())
	}
	for _, policy := range []string{"allkeys-lru", "allkeys-lfu", "allkeys-random"} {
		redis.Do("CONFIG", "SET", "maxmemory-policy", policy)
		if err := check(); err == nil || !strings.Contains(err.Error(), policy) || !strings.Contains(err.Error(), "messages") {
			t.Errorf("%s: error %v, want a refusal", policy, err)
		}
	}
	redis.Do("CONFIG", "SET", "maxmemory-policy", "volatile-lru")
	redis.Do("CONFIG", "SET", "appendonly", "yes")
	log.Reset()
	if err := check(); err != nil || log.Len() != 0 {
		t.Errorf("with AOF: error %v, log %q, want nothing", err, log.String())
	}
}

func FuzzDecodeTopic(f *testing.F) {
	f.Add(`{"name":"t","id":"01890a5d-ac96-774b-bcce-b302099a8057","partitions":1,"configs":{"retention.ms":"1"},"version":1,"created":1}`)
	f.Add(`{"name":"t","configs":null}`)
	f.Add(`[]`)
	s := &Store{opt: options(f, 1)}
	f.Fuzz(func(t *testing.T, encoded string) {
		topic, err := s.decodeAny(encoded)
		if err == nil && (topic.Name == "" || topic.Partitions < 1) {
			t.Errorf("%q is accepted as %+v", encoded, topic)
		}
	})
}

package app

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/korvet-io/korvet/internal/batch"
	"github.com/korvet-io/korvet/internal/metadata"
	"github.com/korvet-io/korvet/internal/partition"
	"github.com/korvet-io/korvet/internal/record"
	"github.com/korvet-io/korvet/internal/redistest"
)

// logText keeps what is logged.
type logText struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logText) count(what string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), what)
}

func TestRefusedWritesAreToldOnceAMinuteAndTheirEndAfterAMinuteOfCalm(t *testing.T) {
	log, now := &logText{}, time.Unix(1_700_000_000, 0)
	counted, woken := map[string]int{}, 0
	r := &refusals{
		log: slog.New(slog.NewTextHandler(log, nil)), now: func() time.Time { return now },
		count: func(reason string) { counted[reason]++ }, full: func() { woken++ },
	}
	full := fmt.Errorf("append: %w", partition.ErrFull)
	step := func(after time.Duration, err error, refusing, again int) {
		t.Helper()
		now = now.Add(after)
		r.note(err)
		if a, b := log.count("refuses writes"), log.count("takes writes again"); a != refusing || b != again {
			t.Errorf("told %d times that it refuses and %d that it does not, want %d and %d", a, b, refusing, again)
		}
	}
	step(0, nil, 0, 0)
	step(0, partition.ErrTimeout, 0, 0)
	step(0, full, 1, 0)
	for range 29 { // accepted and refused in turn
		step(time.Second, nil, 1, 0)
		step(time.Second, full, 1, 0)
	}
	step(2*time.Second, full, 2, 0)
	step(59*time.Second, nil, 2, 0)
	step(time.Second, nil, 2, 1)
	step(time.Second, nil, 2, 1)
	step(0, fmt.Errorf("save: %w", metadata.ErrNotSaved), 3, 1)
	step(0, errors.New("another"), 3, 1)
	if counted["full"] != 31 || counted["not_saved"] != 1 || woken != 31 {
		t.Errorf("counted %v, woken %d times", counted, woken)
	}
	if n := log.count("(MISCONF)"); n != 1 {
		t.Errorf("the reason was told %d times", n)
	}
}

func oneRecord() []byte {
	var b batch.Builder
	b.Reset(nil, batch.BuildOptions{})
	b.Put(&record.Record{Timestamp: 1_700_000_000_000, Value: []byte("v")})
	return b.Finish()
}

// The storage worker may run elsewhere, or nowhere: who is refused finds out here all the same.
func TestBrokerWithoutWorkerSaysThatRedisRefusesWrites(t *testing.T) {
	redis, log := redistest.Start(t), &logText{}
	b := startLogging(t, load(t, "--korvet.redis.uri="+redis.URI(), "--korvet.storage.worker.enabled=false"), slog.NewTextHandler(log, nil))
	c := client(t, b)
	createTopic(t, c, "t", nil)
	(&numbered{client: c}).send(t, 10)
	fill(t, redis)
	for i := range 3 {
		req := kmsg.NewPtrProduceRequest()
		req.Acks, req.TimeoutMillis = -1, 10_000
		topic := kmsg.NewProduceRequestTopic()
		topic.Topic, topic.Partitions = "t", []kmsg.ProduceRequestTopicPartition{{Records: oneRecord()}}
		req.Topics = append(req.Topics, topic)
		code := ask[*kmsg.ProduceResponse](t, b, req).Topics[0].Partitions[0].ErrorCode
		if err := kerr.ErrorForCode(code); !errors.Is(err, kerr.KafkaStorageError) {
			t.Fatalf("record %d: %v", i, err)
		}
		if err := joinOnce(t, b, "g"); !errors.Is(err, kerr.CoordinatorNotAvailable) {
			t.Fatalf("join %d: %v", i, err)
		}
	}
	if n := log.count("Redis is full (maxmemory) and refuses writes"); n != 1 {
		t.Errorf("told %d times:\n%s", n, log.text.String())
	}
	if n := log.count("cannot store a group"); n != 0 {
		t.Errorf("%d lines of groups beside it", n)
	}
	if text := get(t, b, "/metrics"); !strings.Contains(text, "\nkorvet_redis_refused_writes_total{reason=\"full\"} 6\n") {
		t.Errorf("the six refusals are not counted:\n%s", text)
	}
}

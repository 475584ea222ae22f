package clients_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/korvet-io/korvet/test/harness"
)

// suite is what the tests of all clients share.
type suite struct {
	broker *harness.Broker
	admin  *kadm.Client
	// producer is for the feeds.
	producer *kgo.Client
	clients  []*client
	// reference reads what every client produced, before the other clients do.
	reference *client
	flights   []record
	// timeout bounds one produce or consume. Reaching it is a failure.
	timeout time.Duration
	started time.Time
	table   *table

	mu   sync.Mutex
	logs map[*client][]*topicLog
}

// bigLimit is max.message.bytes of topics for big messages, and what clients that have a limit of their own are told to allow.
const bigLimit = 8_000_000

// smallLimit is a batch that topics take which are not for big messages.
const smallLimit = 1_000_000

// batchLimit is how large a client that has a limit of its own may make the batches of some records.
func batchLimit(records []record) int {
	for i := range records {
		if len(records[i].value) >= smallLimit {
			return bigLimit
		}
	}
	return smallLimit
}

// topicLog is what should be in partition 0 of a topic.
type topicLog struct {
	topic  string
	kind   topicKind
	expect []record
	// origin is the feature that each record was produced for.
	origin []string
}

// long reports whether the whole data set is asked for: KORVET_TEST_LONG=1.
func long() bool { return os.Getenv("KORVET_TEST_LONG") == "1" }

func newSuite(t *testing.T) *suite {
	t.Helper()
	dir := install(t)
	flights, timeout := 5_000, time.Minute
	if long() {
		flights, timeout = 0, 15*time.Minute
	}
	data, err := loadFlights(dir, flights)
	if err != nil {
		t.Fatalf("load data: %v", err)
	}
	broker := harness.Start(t, harness.Options{})
	addr := broker.Addr
	c, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatalf("make client: %v", err)
	}
	t.Cleanup(c.Close)
	java, franz := newJava(t, addr, dir), newFranz(addr)
	return &suite{
		broker:   broker,
		admin:    kadm.NewClient(c),
		producer: c,
		clients: []*client{
			newKcat(addr), newConsole(t, addr, dir, java.version), java, franz, newSarama(addr), newKafkaGo(addr),
			newConfluent(t, addr, dir), newKafkaPython(t, addr, dir), newAiokafka(t, addr, dir), newKafkaJS(t, addr, dir),
		},
		reference: franz,
		flights:   data,
		timeout:   timeout,
		started:   time.Now(),
		table:     newTable(),
		logs:      map[*client][]*topicLog{},
	}
}

// install brings the clients and returns the folder they are in.
func install(t *testing.T) string {
	t.Helper()
	var complaints strings.Builder
	cmd := exec.Command("bash", "install.sh")
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("install clients: %v\n%s", err, complaints.String())
	}
	return strings.TrimSpace(string(out))
}

// newLog makes an empty topic, or only a name when the producer is to create it.
func (s *suite) newLog(ctx context.Context, c *client, kind topicKind) (*topicLog, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := strings.ToLower(strings.ReplaceAll(c.name, " ", "-"))
	l := &topicLog{topic: fmt.Sprintf("clients-%d-%s-%s-%d", s.started.UnixMilli(), name, kind, len(s.logs[c])), kind: kind}
	if kind != autoTopic {
		if err := s.createTopic(ctx, l.topic, 1, kind); err != nil {
			return nil, err
		}
	}
	s.logs[c] = append(s.logs[c], l)
	return l, nil
}

// logsOf are the logs that the client has written so far.
func (s *suite) logsOf(c *client) []*topicLog {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.logs[c])
}

func (s *suite) createTopic(ctx context.Context, topic string, partitions int32, kind topicKind) error {
	timestamps, forever := "CreateTime", "-1"
	if kind == appendTopic {
		timestamps = "LogAppendTime"
	}
	// The data are years old: a broker that goes by their timestamps must not delete them.
	configs := map[string]*string{"message.timestamp.type": &timestamps, "retention.ms": &forever}
	if kind == bigTopic {
		limit := strconv.Itoa(bigLimit)
		configs["max.message.bytes"] = &limit
	}
	resp, err := s.admin.CreateTopic(ctx, partitions, 1, configs, topic)
	if err == nil {
		err = resp.Err
	}
	if err != nil {
		return fmt.Errorf("create topic %s: %w", topic, err)
	}
	return s.awaitTopic(ctx, topic)
}

// awaitTopic waits until the broker serves all partitions: Kafka answers before that.
func (s *suite) awaitTopic(ctx context.Context, topic string) error {
	for {
		offsets, err := s.admin.ListEndOffsets(ctx, topic)
		if err == nil {
			err = offsets.Error()
		}
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for topic %s: %w", topic, err)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// awaitEnd waits until the partition ends at the offset: with acks=0 a producer returns before that.
func (s *suite) awaitEnd(ctx context.Context, topic string, end int64) error {
	for {
		offsets, err := s.admin.ListEndOffsets(ctx, topic)
		if err != nil {
			return fmt.Errorf("list end offset: %w", err)
		}
		o, _ := offsets.Lookup(topic, 0)
		switch {
		case o.Err == nil && o.Offset == end:
			return nil
		case o.Err == nil && o.Offset > end:
			return fmt.Errorf("log ends at offset %d, %d were produced", o.Offset, end)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("log ends at offset %d, %d were produced: %w", o.Offset, end, ctx.Err())
		case <-time.After(5 * time.Millisecond):
		}
	}
}

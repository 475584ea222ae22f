// Package ecosystem_test runs the systems that teams put on Kafka, unchanged, against the broker and compares what they make of their input with
// what they have to. Each runs as processes of its own, and each test has its own broker.
//
//	KORVET_TEST_BOOTSTRAP   a broker that runs already, of any make; it is not restarted then
//	KORVET_TEST_LONG=1      ten times as much input
//
// Package harness's other variables hold, too. What is not there and cannot be installed fails its test.
package ecosystem_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/korvet-io/korvet/test/harness"
)

// patience bounds every wait for a condition. It is generous because tests share few cores; it is no expectation.
const patience = 2 * time.Minute

// scaled is an amount of input, ten times as much in the long form.
func scaled(n int) int {
	if os.Getenv("KORVET_TEST_LONG") == "1" {
		return 10 * n
	}
	return n
}

// world is a broker and what a test knows of it by itself, without the system under test.
type world struct {
	t      *testing.T
	broker *harness.Broker
	admin  *kadm.Client
	client *kgo.Client
	// prefix begins the names of topics and groups, so that tests on one broker do not meet.
	prefix string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	broker := harness.Start(t, harness.Options{})
	client, err := kgo.NewClient(kgo.SeedBrokers(broker.Addr), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatalf("make client: %v", err)
	}
	t.Cleanup(client.Close)
	return &world{t: t, broker: broker, admin: kadm.NewClient(client), client: client, prefix: fmt.Sprintf("eco-%d-", time.Now().UnixNano())}
}

// restart restarts the broker, unless it is somebody else's. Systems that are connected see their connections end.
func (w *world) restart() {
	w.t.Helper()
	if !w.broker.External() {
		w.broker.Restart()
	}
}

// createTopic makes a topic and returns its name. Settings are "name=value".
func (w *world) createTopic(name string, partitions int32, settings ...string) string {
	w.t.Helper()
	configs := map[string]*string{}
	for _, s := range settings {
		key, value, _ := strings.Cut(s, "=")
		configs[key] = &value
	}
	topic := w.prefix + name
	resp, err := w.admin.CreateTopic(w.context(), partitions, 1, configs, topic)
	if err == nil {
		err = resp.Err
	}
	if err != nil {
		w.t.Fatalf("create topic %s: %v", topic, err)
	}
	return topic
}

// produce appends records whose partition is set, in their order.
func (w *world) produce(records ...*kgo.Record) {
	w.t.Helper()
	if err := w.client.ProduceSync(w.context(), records...).FirstErr(); err != nil {
		w.t.Fatalf("produce: %v", err)
	}
}

// read waits until the topic's partitions hold n records together and returns them, each partition's in order. More than n fail the test.
func (w *world) read(topic string, n int) []*kgo.Record {
	w.t.Helper()
	var starts, ends kadm.ListedOffsets
	w.await(fmt.Sprintf("%d records in %s", n, topic), func() error {
		starts, ends = w.bounds(topic)
		if got := extent(starts, ends); got < n {
			return fmt.Errorf("%d records", got)
		}
		return nil
	})
	if got := extent(starts, ends); got > n {
		w.t.Fatalf("%s has %d records, want %d", topic, got, n)
	}
	records := w.readTo(starts, ends)
	if len(records) != n {
		w.t.Fatalf("read %d records of %s, want %d", len(records), topic, n)
	}
	return records
}

// bounds are the log start offsets and the high watermarks of a topic.
func (w *world) bounds(topic string) (starts, ends kadm.ListedOffsets) {
	w.t.Helper()
	starts, err := w.admin.ListStartOffsets(w.context(), topic)
	if err == nil {
		err = starts.Error()
	}
	if err != nil {
		w.t.Fatalf("list start offsets of %s: %v", topic, err)
	}
	ends, err = w.admin.ListEndOffsets(w.context(), topic)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		w.t.Fatalf("list end offsets of %s: %v", topic, err)
	}
	return starts, ends
}

// extent is the number of offsets between the bounds.
func extent(starts, ends kadm.ListedOffsets) int {
	n := int64(0)
	ends.Each(func(end kadm.ListedOffset) {
		start, _ := starts.Lookup(end.Topic, end.Partition)
		n += end.Offset - start.Offset
	})
	return int(n)
}

// readTo reads every record between the bounds. A compacted topic has fewer of them than offsets; the last one stays.
func (w *world) readTo(starts, ends kadm.ListedOffsets) []*kgo.Record {
	w.t.Helper()
	consumer, err := kgo.NewClient(kgo.SeedBrokers(w.broker.Addr), kgo.ConsumePartitions(starts.KOffsets()))
	if err != nil {
		w.t.Fatalf("make consumer: %v", err)
	}
	defer consumer.Close()
	var records []*kgo.Record
	for left := beyond(starts.Offsets(), ends); len(left) > 0; {
		fetches := consumer.PollFetches(w.context())
		if err := fetches.Err(); err != nil {
			w.t.Fatalf("read after %d records, partitions %v are not at their ends: %v", len(records), left, err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			records = append(records, r)
			if end, _ := ends.Lookup(r.Topic, r.Partition); r.Offset+1 >= end.Offset {
				delete(left, r.Partition)
			}
		})
	}
	return records
}

// beyond names the partitions that have something to read from the starts on.
func beyond(starts kadm.Offsets, ends kadm.ListedOffsets) map[int32]bool {
	left := map[int32]bool{}
	ends.Each(func(end kadm.ListedOffset) {
		if start, _ := starts.Lookup(end.Topic, end.Partition); start.At < end.Offset {
			left[end.Partition] = true
		}
	})
	return left
}

// policy is a topic's setting cleanup.policy and its number of partitions, for instance "compact 25".
func (w *world) policy(topic string) string {
	w.t.Helper()
	topics, err := w.admin.ListTopicsWithInternal(w.context(), topic)
	if err == nil {
		err = topics.Error()
	}
	if err != nil {
		w.t.Fatalf("describe topic %s: %v", topic, err)
	}
	configs, err := w.admin.DescribeTopicConfigs(w.context(), topic)
	if err != nil {
		w.t.Fatalf("describe configs of %s: %v", topic, err)
	}
	for _, c := range configs[0].Configs {
		if c.Key == "cleanup.policy" {
			return fmt.Sprintf("%s %d", c.MaybeValue(), len(topics[topic].Partitions))
		}
	}
	w.t.Fatalf("topic %s has no cleanup.policy", topic)
	return ""
}

// awaitMembers waits until the group is stable with n members.
func (w *world) awaitMembers(group string, n int) {
	w.t.Helper()
	w.await(fmt.Sprintf("%d members of group %s", n, group), func() error {
		state, members, err := w.describe(group)
		if err != nil {
			return err
		}
		if state != "Stable" || members != n {
			return fmt.Errorf("state %s, %d members", state, members)
		}
		return nil
	})
}

// describe tells a group's state and number of members. Each of the two kinds of groups has a request of its own.
func (w *world) describe(group string) (state string, members int, err error) {
	classic, err := w.admin.DescribeGroups(w.context(), group)
	if err != nil {
		return "", 0, err
	}
	if g := classic[group]; g.Err == nil && g.State != "Dead" {
		return g.State, len(g.Members), nil
	}
	consumer, err := w.admin.DescribeConsumerGroups(w.context(), group)
	if err != nil {
		return "", 0, err
	}
	g := consumer[group]
	return g.State, len(g.Members), g.Err
}

// awaitCommitted waits until the group has committed the end of each partition of the topic.
func (w *world) awaitCommitted(group, topic string) {
	w.t.Helper()
	w.await("commits of group "+group, func() error {
		committed, err := w.admin.FetchOffsets(w.context(), group)
		if err != nil {
			return err
		}
		_, ends := w.bounds(topic)
		ends.Each(func(end kadm.ListedOffset) {
			if c, _ := committed.Lookup(topic, end.Partition); c.At != end.Offset && end.Offset > 0 {
				err = fmt.Errorf("partition %d of %s: committed %d, end %d", end.Partition, topic, c.At, end.Offset)
			}
		})
		return err
	})
}

// await waits until the condition returns nil. The test fails with the condition's last error.
func (w *world) await(what string, condition func() error) {
	w.t.Helper()
	var err error
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if err = condition(); err == nil {
			return
		}
	}
	w.t.Fatalf("waited %v for %s: %v", patience, what, err)
}

// context ends with the test, and with the patience for one request.
func (w *world) context() context.Context {
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	w.t.Cleanup(cancel)
	return ctx
}

// install brings a system and returns what install.sh printed: its class path or its program.
func install(t *testing.T, system string) string {
	t.Helper()
	var complaints strings.Builder
	cmd := exec.Command("bash", "install.sh", system)
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("install %s: %v\n%s", system, err, complaints.String())
	}
	return strings.TrimSpace(string(out))
}

// record is a record with a value alone.
func record(topic string, partition int32, value string) *kgo.Record {
	return &kgo.Record{Topic: topic, Partition: partition, Value: []byte(value)}
}

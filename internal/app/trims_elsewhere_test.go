package app

import (
	"errors"
	"fmt"
	"strconv"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/korvet-io/korvet/internal/redistest"
)

// fetchAt reads partition 0 of topic t once, without waiting for more.
func fetchAt(t *testing.T, b *Broker, offset int64) error {
	t.Helper()
	req := kmsg.NewPtrFetchRequest()
	req.MaxBytes, req.SessionEpoch = 1<<20, -1
	topic, part := kmsg.NewFetchRequestTopic(), kmsg.NewFetchRequestTopicPartition()
	part.FetchOffset, part.PartitionMaxBytes = offset, 1<<20
	topic.Topic, topic.Partitions = "t", append(topic.Partitions, part)
	req.Topics = append(req.Topics, topic)
	got := ask[*kmsg.FetchResponse](t, b, req).Topics[0].Partitions[0]
	if got.ErrorCode == 0 && len(got.RecordBatches) == 0 {
		return fmt.Errorf("nothing at offset %d below %d", offset, got.HighWatermark)
	}
	return kerr.ErrorForCode(got.ErrorCode)
}

// earliest asks one broker once for the log start.
func earliest(t *testing.T, b *Broker) int64 {
	t.Helper()
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID = -1
	topic, part := kmsg.NewListOffsetsRequestTopic(), kmsg.NewListOffsetsRequestTopicPartition()
	part.Timestamp = -2
	topic.Topic, topic.Partitions = "t", append(topic.Partitions, part)
	req.Topics = append(req.Topics, topic)
	got := ask[*kmsg.ListOffsetsResponse](t, b, req).Topics[0].Partitions[0]
	if err := kerr.ErrorForCode(got.ErrorCode); err != nil {
		t.Fatal(err)
	}
	return got.Offset
}

// deleteThrough sends DeleteRecords to a broker, whether it leads the partition or not.
func deleteThrough(t *testing.T, b *Broker, offset int64) {
	t.Helper()
	req := kmsg.NewPtrDeleteRecordsRequest()
	req.TimeoutMillis = 10_000
	req.Topics = []kmsg.DeleteRecordsRequestTopic{{Topic: "t", Partitions: []kmsg.DeleteRecordsRequestTopicPartition{{Offset: offset}}}}
	got := ask[*kmsg.DeleteRecordsResponse](t, b, req).Topics[0].Partitions[0]
	if err := kerr.ErrorForCode(got.ErrorCode); err != nil || got.LowWatermark != offset {
		t.Fatalf("delete records below %d: %d, %v", offset, got.LowWatermark, err)
	}
}

// leaderAnd returns the broker that leads partition 0 of topic t, and the other one.
func leaderAnd(t *testing.T, c *kgo.Client, brokers map[int32]*Broker) (leader, other *Broker) {
	t.Helper()
	topics, err := kadm.NewClient(c).ListTopics(t.Context(), "t")
	if err != nil {
		t.Fatal(err)
	}
	id := topics["t"].Partitions[0].Leader
	return brokers[id], brokers[3-id]
}

// seesTrim checks that a broker in use tells of a log start that another process has raised: ListOffsets at once, and Fetch
// from when it looks anew.
func seesTrim(t *testing.T, b *Broker, start int64) {
	t.Helper()
	if got := earliest(t, b); got != start {
		t.Errorf("the log starts at %d, want %d", got, start)
	}
	fetchesFrom(t, b, start)
}

func fetchesFrom(t *testing.T, b *Broker, start int64) {
	t.Helper()
	redistest.Eventually(t, "the fetch below the log start to be refused", func() bool {
		err := fetchAt(t, b, start-1)
		if err != nil && !errors.Is(err, kerr.OffsetOutOfRange) {
			t.Fatal(err)
		}
		return err != nil
	})
	if err := fetchAt(t, b, start); err != nil {
		t.Errorf("fetch from the log start: %v", err)
	}
}

func TestABrokerInUseSeesWhatOtherProcessesTrim(t *testing.T) {
	redis, brokers := redistest.Start(t), map[int32]*Broker{}
	for id := int32(1); id <= 2; id++ {
		brokers[id] = start(t, load(t, "--korvet.redis.uri="+redis.URI(), "--korvet.broker.id="+strconv.Itoa(int(id)),
			"--korvet.storage.worker.enabled=false"))
	}
	n := &numbered{client: client(t, brokers[1])}
	createTopic(t, n.client, "t", map[string]*string{"segment.bytes": kadm.StringPtr("1048576")})
	n.send(t, 3000) // three segments
	leader, other := leaderAnd(t, n.client, brokers)
	if err := fetchAt(t, leader, 0); err != nil {
		t.Fatal(err)
	}

	deleteThrough(t, other, 700) // inside the first segment
	seesTrim(t, leader, 700)
	deleteThrough(t, other, 2500)
	if err := fetchAt(t, leader, 2600); err != nil {
		t.Error(err)
	}
	fetchesFrom(t, leader, 2500) // nobody asked for bounds before
	seesTrim(t, leader, 2500)

	alter := []kadm.AlterConfig{{Name: "retention.bytes", Value: kadm.StringPtr("100000")}}
	if _, err := kadm.NewClient(n.client).AlterTopicConfigs(t.Context(), alter, "t"); err != nil {
		t.Fatal(err)
	}
	start(t, load(t, "--korvet.redis.uri="+redis.URI(), "--korvet.broker.enabled=false"))
	var trimmed int64
	redistest.Eventually(t, "the worker to trim", func() bool {
		m := redis.Do("HGET", "korvet:storage:segments:{korvet:storage:local:t:0}", "start")
		trimmed, _ = m.AsInt64() // there is one since DeleteRecords
		return trimmed > 2500
	})
	from := earliest(t, leader)
	if from < trimmed {
		t.Errorf("the log starts at %d although the worker has trimmed to %d", from, trimmed)
	}
	fetchesFrom(t, leader, from)
	n.send(t, 10)
	checkLog(t, leader, n.next)
}

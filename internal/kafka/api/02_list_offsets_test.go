package api

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/korvet-io/korvet/internal/partition"
	"github.com/korvet-io/korvet/internal/record"
)

func listOffsetsOf(topic string, timestamps ...int64) *kmsg.ListOffsetsRequest {
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID = -1
	rt := kmsg.NewListOffsetsRequestTopic()
	rt.Topic = topic
	for i, ts := range timestamps {
		rp := kmsg.NewListOffsetsRequestTopicPartition()
		rp.Partition, rp.Timestamp = int32(i), ts
		rt.Partitions = append(rt.Partitions, rp)
	}
	req.Topics = append(req.Topics, rt)
	return req
}

func placeText(p kmsg.ListOffsetsResponseTopicPartition) string {
	if p.ErrorCode != 0 {
		return codeName(p.ErrorCode)
	}
	return fmt.Sprintf("%d@%d", p.Offset, p.Timestamp)
}

func TestListOffsets(t *testing.T) {
	b := newBroker(t, nil)
	for _, ts := range []int64{1000, 3000, 2000, 3000} {
		b.mustProduce("t", recordsOf(record.Record{Timestamp: ts, Value: []byte("v")}))
	}
	b.create("empty", 1, nil)
	for _, c := range []struct {
		topic     string
		version   int16
		timestamp int64
		want      string
	}{
		{"t", 1, -1, "4@-1"}, {"t", 1, -2, "0@-1"}, {"t", 11, -1, "4@-1"}, {"t", 9, -4, "0@-1"}, {"t", 9, -3, "1@3000"},
		{"t", 9, -5, "-1@-1"}, {"t", 11, -6, "-1@-1"},
		{"t", 11, -7, "UNSUPPORTED_VERSION"}, {"t", 6, -3, "UNSUPPORTED_VERSION"}, {"t", 7, -4, "UNSUPPORTED_VERSION"},
		{"t", 8, -5, "UNSUPPORTED_VERSION"}, {"t", 10, -6, "UNSUPPORTED_VERSION"}, {"t", 1, -1 << 63, "UNSUPPORTED_VERSION"},
		{"t", 9, 0, "0@1000"}, {"t", 9, 1000, "0@1000"}, {"t", 9, 1001, "1@3000"}, {"t", 9, 2000, "1@3000"},
		{"t", 9, 3000, "1@3000"}, {"t", 9, 3001, "-1@-1"}, {"t", 9, 1 << 62, "-1@-1"},
		{"empty", 9, 0, "-1@-1"}, {"empty", 9, -3, "-1@-1"}, {"empty", 9, -1, "0@-1"}, {"empty", 9, -2, "0@-1"},
		{"nope", 9, -1, "UNKNOWN_TOPIC_OR_PARTITION"},
	} {
		p := do[*kmsg.ListOffsetsResponse](b, listOffsetsOf(c.topic, c.timestamp), c.version).Topics[0].Partitions[0]
		if got := placeText(p); got != c.want {
			t.Errorf("%s version %d timestamp %d: %s, want %s", c.topic, c.version, c.timestamp, got, c.want)
		}
	}
}

func TestListOffsetsChecksPartitionAndEpoch(t *testing.T) {
	b := newBroker(t, nil)
	req := listOffsetsOf("t3", -1, -1, -1, -1)
	req.Topics[0].Partitions[1].CurrentLeaderEpoch = 1
	req.Topics[0].Partitions[2].CurrentLeaderEpoch = 0
	parts := do[*kmsg.ListOffsetsResponse](b, req, 9).Topics[0].Partitions
	for i, want := range []string{"0@-1", "UNKNOWN_LEADER_EPOCH", "0@-1", "UNKNOWN_TOPIC_OR_PARTITION"} {
		if got := placeText(parts[i]); got != want || parts[i].Partition != int32(i) {
			t.Errorf("partition %d: %s, want %s", parts[i].Partition, got, want)
		}
	}
}

func TestListOffsetsRefusesAPartitionThatComesTwice(t *testing.T) {
	b := newBroker(t, nil)
	req := listOffsetsOf("t3", -1, -1, -1)
	req.Topics[0].Partitions[2].Partition = 0
	parts := do[*kmsg.ListOffsetsResponse](b, req, 9).Topics[0].Partitions
	for i, want := range []string{"INVALID_REQUEST", "0@-1", "INVALID_REQUEST"} {
		if got := placeText(parts[i]); got != want {
			t.Errorf("entry %d: %s, want %s", i, got, want)
		}
	}
}

func TestListOffsetsTellsTheLogsErrors(t *testing.T) {
	b := newBroker(t, nil)
	b.logs.fail[0] = partition.ErrNotLeader
	for _, ts := range []int64{-1, -2, -3, 5} {
		p := do[*kmsg.ListOffsetsResponse](b, listOffsetsOf("t", ts), 9).Topics[0].Partitions[0]
		if codeName(p.ErrorCode) != "NOT_LEADER_FOR_PARTITION" || p.Offset != -1 {
			t.Errorf("timestamp %d: %+v", ts, p)
		}
	}
}

// placesOf sets the tiers of a topic's first partition: Redis begins at local, the remote tier ends at end.
func (b *broker) placesOf(topic string, local, end int64) {
	b.logs.mu.Lock()
	defer b.logs.mu.Unlock()
	for ref, g := range b.logs.byRef {
		if ref.Topic == topic {
			g.local, g.tiered = local, end
		}
	}
}

func TestListOffsetsTellsOfTheTiers(t *testing.T) {
	b := newBroker(t, nil)
	for i := range int64(10) {
		b.mustProduce("t", recordsOf(record.Record{Timestamp: 1000 + i, Value: []byte("v")}))
	}
	b.placesOf("t", 4, 6)
	for _, c := range []struct {
		version   int16
		timestamp int64
		want      string
	}{
		{8, -2, "0@-1"}, {8, -4, "4@-1"}, {9, -5, "5@-1"}, {11, -6, "6@-1"}, {11, -1, "10@-1"}, {11, 1003, "3@1003"},
		{7, -4, "UNSUPPORTED_VERSION"}, {8, -5, "UNSUPPORTED_VERSION"}, {10, -6, "UNSUPPORTED_VERSION"},
	} {
		req := listOffsetsOf("t", c.timestamp)
		req.TimeoutMillis = 60_000
		if got := placeText(do[*kmsg.ListOffsetsResponse](b, req, c.version).Topics[0].Partitions[0]); got != c.want {
			t.Errorf("version %d timestamp %d: %s, want %s", c.version, c.timestamp, got, c.want)
		}
	}
	b.placesOf("t", 4, 10) // as Kafka has it, where nothing waits there is no offset
	if got := placeText(do[*kmsg.ListOffsetsResponse](b, listOffsetsOf("t", -6), 11).Topics[0].Partitions[0]); got != "-1@-1" {
		t.Errorf("with everything copied: %s", got)
	}
}

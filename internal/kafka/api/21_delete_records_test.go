package api

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func (b *broker) deleteRecords(topic string, offset int64) kmsg.DeleteRecordsResponseTopicPartition {
	b.t.Helper()
	req := kmsg.NewPtrDeleteRecordsRequest()
	rt := kmsg.NewDeleteRecordsRequestTopic()
	rt.Topic = topic
	rt.Partitions = []kmsg.DeleteRecordsRequestTopicPartition{{Offset: offset}}
	req.Topics = append(req.Topics, rt)
	return do[*kmsg.DeleteRecordsResponse](b, req, 2).Topics[0].Partitions[0]
}

func TestDeleteRecords(t *testing.T) {
	b := newBroker(t, nil)
	b.create("compacted", 1, map[string]string{"cleanup.policy": "compact"})
	b.create("both", 1, map[string]string{"cleanup.policy": "compact,delete"})
	b.mustProduce("t", valuesOf("a", "b", "c"))
	for _, c := range []struct {
		topic  string
		offset int64
		code   string
		low    int64
	}{
		{"t", 0, "OK", 0}, {"t", 2, "OK", 2}, {"t", 1, "OK", 2}, {"t", 4, "OFFSET_OUT_OF_RANGE", -1},
		{"t", -2, "OFFSET_OUT_OF_RANGE", -1}, {"t", -1, "OK", 3}, {"t", 3, "OK", 3},
		{"nope", 0, "UNKNOWN_TOPIC_OR_PARTITION", -1}, {"compacted", 0, "POLICY_VIOLATION", -1}, {"both", 0, "OK", 0},
	} {
		p := b.deleteRecords(c.topic, c.offset)
		if codeName(p.ErrorCode) != c.code || p.LowWatermark != c.low {
			t.Errorf("%s to %d: %s, low watermark %d; want %s, %d", c.topic, c.offset, codeName(p.ErrorCode), p.LowWatermark, c.code, c.low)
		}
	}
	if p := do[*kmsg.ListOffsetsResponse](b, listOffsetsOf("t", -2), 9).Topics[0].Partitions[0]; p.Offset != 3 {
		t.Errorf("earliest is %d", p.Offset)
	}
}

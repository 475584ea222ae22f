package api

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestOffsetForLeaderEpoch(t *testing.T) {
	b := newBroker(t, nil)
	b.mustProduce("t", valuesOf("a", "b", "c"))
	for name, c := range map[string]struct {
		topic          string
		epoch, current int32
		code           string
		wantEpoch      int32
		wantEnd        int64
	}{
		"the epoch":       {"t", 0, -1, "OK", 0, 3},
		"current epoch":   {"t", 0, 0, "OK", 0, 3},
		"later epoch":     {"t", 5, -1, "OK", -1, -1},
		"no epoch":        {"t", -1, -1, "OK", -1, -1},
		"current too new": {"t", 0, 1, "UNKNOWN_LEADER_EPOCH", -1, -1},
		"unknown topic":   {"nope", 0, -1, "UNKNOWN_TOPIC_OR_PARTITION", -1, -1},
	} {
		for version := int16(2); version <= 4; version++ {
			req := kmsg.NewPtrOffsetForLeaderEpochRequest()
			rt := kmsg.NewOffsetForLeaderEpochRequestTopic()
			rp := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
			rt.Topic, rp.LeaderEpoch, rp.CurrentLeaderEpoch = c.topic, c.epoch, c.current
			rt.Partitions = append(rt.Partitions, rp)
			req.Topics = append(req.Topics, rt)
			p := do[*kmsg.OffsetForLeaderEpochResponse](b, req, version).Topics[0].Partitions[0]
			if codeName(p.ErrorCode) != c.code || p.LeaderEpoch != c.wantEpoch || p.EndOffset != c.wantEnd {
				t.Errorf("%s, version %d: %+v", name, version, p)
			}
		}
	}
}

package app

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/korvet-io/korvet/internal/redistest"
)

// fill makes a Redis full: no broker can make room.
func fill(t *testing.T, redis *redistest.Server) {
	t.Helper()
	redis.Do("SETRANGE", "filler", "20000000", "x")
	setMemory(t, redis, used(t, redis)-10<<20)
}

func empty(redis *redistest.Server) { redis.Do("DEL", "filler") }

// ask sends a request once, as an old client that repeats nothing: no member id is required first, no topic ids are used.
func ask[T kmsg.Response](t *testing.T, b *Broker, req kmsg.Request) T {
	t.Helper()
	c, err := kgo.NewClient(kgo.SeedBrokers(b.KafkaAddr()), kgo.MaxVersions(kversion.V2_0_0()))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	answer, err := c.SeedBrokers()[0].Request(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return answer.(T)
}

// joinOnce sends one JoinGroup.
func joinOnce(t *testing.T, b *Broker, group string) error {
	t.Helper()
	req := kmsg.NewPtrJoinGroupRequest()
	req.Group, req.ProtocolType, req.SessionTimeoutMillis, req.RebalanceTimeoutMillis = group, "consumer", 10_000, 10_000
	req.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "range", Metadata: []byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 0}}}
	return kerr.ErrorForCode(ask[*kmsg.JoinGroupResponse](t, b, req).ErrorCode)
}

// commitOnce sends one OffsetCommit of somebody who is no member.
func commitOnce(t *testing.T, b *Broker, group string, offset int64) error {
	t.Helper()
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group, req.Generation = group, -1
	topic := kmsg.NewOffsetCommitRequestTopic()
	topic.Topic, topic.Partitions = "t", []kmsg.OffsetCommitRequestTopicPartition{{Offset: offset, LeaderEpoch: -1}}
	req.Topics = append(req.Topics, topic)
	return kerr.ErrorForCode(ask[*kmsg.OffsetCommitResponse](t, b, req).Topics[0].Partitions[0].ErrorCode)
}

func committedOffset(t *testing.T, c *kgo.Client, group string) int64 {
	t.Helper()
	offsets, err := kadm.NewClient(c).FetchOffsets(t.Context(), group)
	if err != nil {
		t.Fatal(err)
	}
	o, ok := offsets.Lookup("t", 0)
	if !ok {
		return -1
	}
	return o.At
}

// A rebalance that cannot be stored must not begin: who joins is told at once, although a group waits ten minutes for its first
// members, and joins by itself when there is room.
func TestGroupsOfAFullRedisAreRefusedAtOnceAndGoOnByThemselves(t *testing.T) {
	redis, b, n := fullWorld(t, map[string]string{"segment.bytes": "-1"}, "--korvet.broker.rebalance-delay=10m")
	if err := commitOnce(t, b, "old", 7); err != nil {
		t.Fatal(err)
	}
	fill(t, redis)
	for _, group := range []string{"new", "old"} {
		if err := joinOnce(t, b, group); !errors.Is(err, kerr.CoordinatorNotAvailable) {
			t.Errorf("join of group %s: %v", group, err)
		}
		if err := commitOnce(t, b, group, 9); !errors.Is(err, kerr.CoordinatorNotAvailable) {
			t.Errorf("commit of group %s: %v", group, err)
		}
	}
	heartbeat := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	heartbeat.Group, heartbeat.MemberID, heartbeat.RebalanceTimeoutMillis = "newer", "m", 10_000
	heartbeat.SubscribedTopicNames, heartbeat.Topics = []string{"t"}, []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	if r, err := n.client.SeedBrokers()[0].Request(t.Context(), heartbeat); err != nil {
		t.Error(err)
	} else if r := r.(*kmsg.ConsumerGroupHeartbeatResponse); kerr.ErrorForCode(r.ErrorCode) != kerr.CoordinatorNotAvailable ||
		r.ErrorMessage == nil || !strings.Contains(*r.ErrorMessage, "redis is full (maxmemory)") {
		t.Errorf("a member of the consumer protocol: %+v", r)
	}
	if got := committedOffset(t, n.client, "old"); got != 7 {
		t.Errorf("the group's offset is %d, want the one from before", got)
	}
	empty(redis)
	for _, group := range []string{"new", "old"} {
		if err := commitOnce(t, b, group, 9); err != nil || committedOffset(t, n.client, group) != 9 {
			t.Errorf("commit of group %s to a Redis with room: %v, %d", group, err, committedOffset(t, n.client, group))
		}
	}
	keys := redis.Do("EXISTS", "korvet:broker:group:new:room", "korvet:broker:group:old:room")
	if there, err := keys.AsInt64(); err != nil || there != 0 {
		t.Errorf("asking for room left %d keys, %v", there, err)
	}
}

func TestAMemberThatCannotBeStoredDisturbsNoOthersAndJoinsWhenThereIsRoom(t *testing.T) {
	redis, b, n := fullWorld(t, map[string]string{"segment.bytes": "-1"}, "--korvet.broker.rebalance-delay=0")
	member := func() *kgo.Client {
		c, err := kgo.NewClient(kgo.SeedBrokers(b.KafkaAddr()), kgo.ConsumerGroup("g"), kgo.ConsumeTopics("t"), kgo.DisableAutoCommit(),
			kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		return c
	}
	first := member()
	if got := first.PollFetches(t.Context()); got.Err() != nil || got.NumRecords() == 0 {
		t.Fatalf("%d records, %v", got.NumRecords(), got.Err())
	}
	_, generation := first.GroupMetadata()
	fill(t, redis)
	second := member()
	polled, stop := context.WithCancel(t.Context())
	defer stop()
	go func() {
		for polled.Err() == nil {
			second.PollFetches(polled) // it joins by itself, whatever it is told meanwhile
		}
	}()
	for range 3 {
		if err := joinOnce(t, b, "g"); !errors.Is(err, kerr.CoordinatorNotAvailable) {
			t.Errorf("join: %v", err)
		}
	}
	described, err := kadm.NewClient(n.client).DescribeGroups(t.Context(), "g")
	if g := described["g"]; err != nil || g.State != "Stable" || len(g.Members) != 1 {
		t.Errorf("%+v, %v: want the one member, stable", g, err)
	}
	if _, now := first.GroupMetadata(); now != generation {
		t.Errorf("generation %d after %d: a rebalance had begun", now, generation)
	}
	empty(redis)
	redistest.Eventually(t, "both members", func() bool {
		described, err := kadm.NewClient(n.client).DescribeGroups(t.Context(), "g")
		return err == nil && len(described["g"].Members) == 2
	})
}

func TestAFullRedisIsNamedToWhoeverCreatesATopicAndRetentionMayBeLowered(t *testing.T) {
	redis, _, n := fullWorld(t, map[string]string{"segment.bytes": "-1"})
	admin := kadm.NewClient(n.client)
	fill(t, redis)
	created, err := admin.CreateTopics(t.Context(), 1, 1, nil, "other")
	if r := created["other"]; err != nil || !errors.Is(r.Err, kerr.KafkaStorageError) || !strings.Contains(r.ErrMessage, "redis is full (maxmemory)") {
		t.Errorf("create: %v, %q, %v", r.Err, r.ErrMessage, err)
	}
	altered, err := admin.AlterTopicConfigs(t.Context(), []kadm.AlterConfig{{Name: "retention.ms", Value: kadm.StringPtr("60000")}}, "t")
	if err != nil || altered[0].Err != nil {
		t.Errorf("lower retention.ms: %+v, %v", altered, err)
	}
	empty(redis)
	if _, err := admin.CreateTopic(t.Context(), 1, 1, nil, "other"); err != nil {
		t.Errorf("create in a Redis with room: %v", err)
	}
}

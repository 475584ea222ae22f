package conformance

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func commitRows() []row {
	rows := []row{
		{name: "no member, new group", do: committedAnonymously, want: "OK, 7"},
		{name: "no member, empty group", do: committedToEmptied, want: "OK"},
		{name: "no member, group with members", do: committedAside, want: "UNKNOWN_MEMBER_ID"},
		{name: "generation 1, unknown group", do: committedChanged(func(r *kmsg.OffsetCommitRequest) { r.Generation = 1 }), want: "ILLEGAL_GENERATION"},
		{name: "generation 1, unknown group in v9", do: committedChanged(func(r *kmsg.OffsetCommitRequest) { r.Version, r.Generation = 9, 1 }), want: "GROUP_ID_NOT_FOUND"},
		{name: "generation 1, empty group", do: committedLate, want: "UNKNOWN_MEMBER_ID"},
		{name: "a member, unknown group", do: committedChanged(func(r *kmsg.OffsetCommitRequest) { r.MemberID, r.Generation = "nobody", 1 }), want: "ILLEGAL_GENERATION"},
		{name: "member", do: committedBy(nil), want: "OK"},
		{name: "unknown member", do: committedBy(func(r *kmsg.OffsetCommitRequest) { r.MemberID = "nobody" }), want: "UNKNOWN_MEMBER_ID"},
		{name: "other generation", do: committedBy(func(r *kmsg.OffsetCommitRequest) { r.Generation = 9 }), want: "ILLEGAL_GENERATION"},
		{name: "before SyncGroup", do: committedEarly, want: "REBALANCE_IN_PROGRESS"},
		{name: "while others join", do: committedWhileOthersJoin, want: "OK"},
		{name: "empty group id", do: committedToNone, want: "OK, 7"},
		{name: "unknown topic", do: committedUnknown(8), want: "UNKNOWN_TOPIC_OR_PARTITION"},
		{name: "unknown partition", do: committedPartition(1), want: "UNKNOWN_TOPIC_OR_PARTITION"},
		{name: "partition -1", do: committedPartition(-1), want: "UNKNOWN_TOPIC_OR_PARTITION"},
		{name: "unknown topic id", do: committedUnknown(10), want: "UNKNOWN_TOPIC_ID"},
		{name: "one good, one unknown partition", do: committedMixed, want: "OK UNKNOWN_TOPIC_OR_PARTITION"},
		{name: "no topics", do: committedNothing, want: "0 topics, Dead"},
		{name: "a partition twice", do: committedTwice, want: "OK OK, 2"},
		{name: "commit and fetch without waiting between", do: committedPipelined, want: "OK, 1; OK, 2; OK, 3"},
		{name: "retention time of its own", do: committedRetention, want: "OK, 7"},
		{name: "metadata null", do: committedMetadata(nil), want: "OK ''"},
		{name: "metadata of 4096 bytes", do: committedMetadata(kmsg.StringPtr(strings.Repeat("x", 4096))), want: "OK " + "'" + strings.Repeat("x", 4096) + "'"},
		{name: "metadata of 4097 bytes", do: committedMetadata(kmsg.StringPtr(strings.Repeat("x", 4097))), want: "OFFSET_METADATA_TOO_LARGE"},
		{name: "metadata with blanks", do: committedMetadata(kmsg.StringPtr(" a\nb ")), want: "OK ' a\nb '"},
		{name: "leader epoch", do: committedEpoch, want: "0, none -1"},
		{name: "the topic is deleted", do: committedThenDeleted, want: "no topics"},
		{name: "the topic is deleted and created again", do: committedThenCreatedAgain, want: "-1, no topics"},
		{name: "fetch, unknown group", do: fetchedOffset((*conn).newGroup), want: "OK -1 epoch -1 ''"},
		{name: "fetch, empty group id", do: fetchedOffset(func(c *conn) string { return c.coordinated("") }), want: "OK -1 epoch -1 ''"},
		{name: "fetch, topic without commit", do: fetchedOffset((*conn).newCommitted), want: "OK -1 epoch -1 ''"},
		{name: "fetch, unknown topic", do: fetchedUnknown(8), want: "OK -1"},
		{name: "fetch, unknown topic id", do: fetchedUnknown(10), want: "UNKNOWN_TOPIC_ID -1"},
		{name: "fetch all topics of an unknown group", do: fetchedAll((*conn).newGroup), want: "no topics"},
		{name: "fetch with an unknown member id (v9) from a classic group", do: fetchedAsNobody, want: "OK"},
		{name: "fetch, require_stable", do: fetchedStable, want: "OK 7"},
		{name: "fetch of several groups", do: fetchedGroups, want: "7 8"},
		{name: "delete, unknown group", do: deletedOffset((*conn).newGroup, (*conn).newTopic), want: "GROUP_ID_NOT_FOUND"},
		{name: "delete, empty group id", do: deletedOffset(func(c *conn) string { return c.coordinated("") }, (*conn).newTopic), want: "INVALID_GROUP_ID"},
		{name: "delete, topic subscribed by a member", do: deletedSubscribed(true), want: "GROUP_SUBSCRIBED_TO_TOPIC"},
		{name: "delete, other topic", do: deletedSubscribed(false), want: "OK"},
		{name: "delete, unknown topic", do: deletedOffset((*conn).newCommitted, func(*conn, ...string) topic { return topic{name: newName()} }), want: "UNKNOWN_TOPIC_OR_PARTITION"},
		{name: "delete, topic without commit", do: deletedOffset((*conn).newCommitted, (*conn).newTopic), want: "OK"},
		{name: "delete, members of another protocol type than consumer", do: deletedOfOthers, want: "NON_EMPTY_GROUP"},
		{name: "delete", do: deletedOffsets, want: "OK, -1"},
	}
	for _, offset := range []int64{-1, -5, 1000, 0} {
		rows = append(rows, row{name: fmt.Sprintf("offset %d", offset), do: committedOffsets(9, offset), want: fmt.Sprintf("OK OK, %d", offset)})
	}
	for version := int16(2); version <= 10; version++ {
		rows = append(rows, row{name: fmt.Sprintf("commit v%d", version), do: committedIn(version), want: "OK, 7"})
	}
	for version := int16(1); version <= 10; version++ {
		rows = append(rows, row{name: fmt.Sprintf("fetch v%d", version), do: fetchedIn(version), want: "OK 7 'said'"})
	}
	for version := int16(2); version <= 10; version++ {
		rows = append(rows, row{name: fmt.Sprintf("fetch all in v%d", version), do: fetchedAllIn(version), want: "1 topics, OK 7 'said'"})
	}
	return rows
}

func commitTo(version int16, group string, t topic, offsets ...int64) *kmsg.OffsetCommitRequest {
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Version, req.Group = version, group
	in := kmsg.NewOffsetCommitRequestTopic()
	in.Topic, in.TopicID = t.name, t.id
	for _, offset := range offsets {
		p := kmsg.NewOffsetCommitRequestTopicPartition()
		p.Offset, p.LeaderEpoch, p.Metadata = offset, -1, kmsg.StringPtr("said")
		in.Partitions = append(in.Partitions, p)
	}
	req.Topics = []kmsg.OffsetCommitRequestTopic{in}
	return req
}

// committed tells the error of each partition, in the order of their numbers.
func (c *conn) committed(req *kmsg.OffsetCommitRequest) string {
	c.t.Helper()
	var codes []string
	for _, t := range ask[*kmsg.OffsetCommitResponse](c, req).Topics {
		slices.SortStableFunc(t.Partitions, func(a, b kmsg.OffsetCommitResponseTopicPartition) int { return cmp.Compare(a.Partition, b.Partition) })
		for _, p := range t.Partitions {
			codes = append(codes, code(p.ErrorCode))
		}
	}
	return strings.Join(codes, " ")
}

func (m *member) commit(t topic) *kmsg.OffsetCommitRequest {
	req := commitTo(8, m.group, t, 7)
	req.MemberID, req.InstanceID, req.Generation = m.id, m.instance, m.generation
	return req
}

func (m *member) commits(t topic) string { return m.committed(m.commit(t)) }

// fetchOffsets asks for partition 0 of a topic, for all topics if its name is empty.
func fetchOffsets(version int16, group string, t topic) *kmsg.OffsetFetchRequest {
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Version, req.Group = version, group
	in := kmsg.NewOffsetFetchRequestGroup()
	in.Group = group
	if t.name != "" {
		req.Topics = []kmsg.OffsetFetchRequestTopic{{Topic: t.name, Partitions: []int32{0}}}
		in.Topics = []kmsg.OffsetFetchRequestGroupTopic{{Topic: t.name, TopicID: t.id, Partitions: []int32{0}}}
	}
	req.Groups = []kmsg.OffsetFetchRequestGroup{in}
	return req
}

// fetchedGroup is the answer about one group, in the form of v8 and later.
func (c *conn) fetchedGroup(req *kmsg.OffsetFetchRequest) kmsg.OffsetFetchResponseGroup {
	c.t.Helper()
	r := ask[*kmsg.OffsetFetchResponse](c, req)
	if req.Version >= 8 {
		return r.Groups[0]
	}
	g := kmsg.OffsetFetchResponseGroup{Group: req.Group, ErrorCode: r.ErrorCode}
	for _, t := range r.Topics {
		in := kmsg.OffsetFetchResponseGroupTopic{Topic: t.Topic}
		for _, p := range t.Partitions {
			in.Partitions = append(in.Partitions, kmsg.OffsetFetchResponseGroupTopicPartition(p))
		}
		g.Topics = append(g.Topics, in)
	}
	return g
}

func (c *conn) fetchedPartition(req *kmsg.OffsetFetchRequest) kmsg.OffsetFetchResponseGroupTopicPartition {
	c.t.Helper()
	g := c.fetchedGroup(req)
	if g.ErrorCode != 0 || len(g.Topics) != 1 || len(g.Topics[0].Partitions) != 1 {
		c.t.Fatalf("fetch offsets: %+v", g)
	}
	return g.Topics[0].Partitions[0]
}

func (c *conn) committedOffset(group string, t topic) int64 {
	c.t.Helper()
	return c.fetchedPartition(fetchOffsets(8, group, t)).Offset
}

func committedAnonymously(c *conn) string {
	g, t := c.newGroup(), c.newTopic()
	return fmt.Sprintf("%s, %d", c.committed(commitTo(8, g, t, 7)), c.committedOffset(g, t))
}

func committedToEmptied(c *conn) string { return c.committed(commitTo(8, emptied(c), c.newTopic(), 7)) }

func committedLate(c *conn) string {
	req := commitTo(8, emptied(c), c.newTopic(), 7)
	req.Generation = 1
	return c.committed(req)
}

func committedAside(c *conn) string {
	return c.committed(commitTo(8, c.newStable().group, c.newTopic(), 7))
}

func committedChanged(change func(*kmsg.OffsetCommitRequest)) func(*conn) string {
	return func(c *conn) string {
		req := commitTo(8, c.newGroup(), c.newTopic(), 7)
		change(req)
		return c.committed(req)
	}
}

// committedBy commits as a member of a stable group.
func committedBy(change func(*kmsg.OffsetCommitRequest)) func(*conn) string {
	return func(c *conn) string {
		req := c.newStable().commit(c.newTopic())
		if change != nil {
			change(req)
		}
		return c.committed(req)
	}
}

func committedEarly(c *conn) string { return c.newJoined().commits(c.newTopic()) }

// committedWhileOthersJoin commits what was read before joining again.
func committedWhileOthersJoin(c *conn) string {
	m, t := c.newStable(), c.newTopic()
	c.newMember(m.group, nil).startJoin()
	m.beatUntil("REBALANCE_IN_PROGRESS")
	return m.commits(t)
}

// committedToNone leaves the empty group id as it was, since other rows use it.
func committedToNone(c *conn) string {
	c.coordinated("")
	t := c.newTopic()
	s := fmt.Sprintf("%s, %d", c.committed(commitTo(8, "", t, 7)), c.committedOffset("", t))
	ask[*kmsg.DeleteGroupsResponse](c, deleteGroups(2, ""))
	return s
}

func committedUnknown(version int16) func(*conn) string {
	return func(c *conn) string { return c.committed(commitTo(version, c.newGroup(), nowhere(), 7)) }
}

func committedPartition(partition int32) func(*conn) string {
	return committedChanged(func(r *kmsg.OffsetCommitRequest) { r.Topics[0].Partitions[0].Partition = partition })
}

func committedMixed(c *conn) string {
	req := commitTo(8, c.newGroup(), c.newTopic(), 7, 7)
	req.Topics[0].Partitions[1].Partition = 5
	return c.committed(req)
}

func committedNothing(c *conn) string {
	g := c.newGroup()
	req := commitTo(8, g, topic{})
	req.Topics = []kmsg.OffsetCommitRequestTopic{}
	n := len(ask[*kmsg.OffsetCommitResponse](c, req).Topics)
	return fmt.Sprintf("%d topics, %s", n, c.describeGroup(5, g).State)
}

func committedTwice(c *conn) string {
	g, t := c.newGroup(), c.newTopic()
	return fmt.Sprintf("%s, %d", c.committed(commitTo(8, g, t, 1, 2)), c.committedOffset(g, t))
}

// committedPipelined sends commits, each with a fetch right behind it, before it reads any answer.
func committedPipelined(c *conn) string {
	g, t := c.newGroup(), c.newTopic()
	fetch := fetchOffsets(8, g, t)
	var commits, fetches []int32
	for offset := int64(1); offset <= 3; offset++ {
		commits = append(commits, c.send(commitTo(8, g, t, offset)))
		fetches = append(fetches, c.send(fetch))
	}
	var s []string
	for i := range commits {
		committed, err := c.receive(commitTo(8, g, t), commits[i])
		if err != nil {
			return outcome(err)
		}
		fetched, err := c.receive(fetch, fetches[i])
		if err != nil {
			return outcome(err)
		}
		s = append(s, fmt.Sprintf("%s, %d", answerCode(c, committed), fetched.(*kmsg.OffsetFetchResponse).Groups[0].Topics[0].Partitions[0].Offset))
	}
	return strings.Join(s, "; ")
}

func committedRetention(c *conn) string {
	g, t := c.newGroup(), c.newTopic()
	req := commitTo(2, g, t, 7)
	req.RetentionTimeMillis = 600_000
	return fmt.Sprintf("%s, %d", c.committed(req), c.committedOffset(g, t))
}

func committedMetadata(metadata *string) func(*conn) string {
	return func(c *conn) string {
		g, t := c.newGroup(), c.newTopic()
		req := commitTo(8, g, t, 7)
		req.Topics[0].Partitions[0].Metadata = metadata
		if got := c.committed(req); got != "OK" {
			return got
		}
		return fmt.Sprintf("OK '%s'", text(c.fetchedPartition(fetchOffsets(8, g, t)).Metadata))
	}
}

func committedEpoch(c *conn) string {
	g, t := c.newGroup(), c.newTopic()
	req := commitTo(8, g, t, 7)
	req.Topics[0].Partitions[0].LeaderEpoch = 0
	c.committed(req)
	with := c.fetchedPartition(fetchOffsets(8, g, t)).LeaderEpoch
	req.Topics[0].Partitions[0].LeaderEpoch = -1
	c.committed(req)
	return fmt.Sprintf("%d, none %d", with, c.fetchedPartition(fetchOffsets(8, g, t)).LeaderEpoch)
}

func committedOffsets(offsets ...int64) func(*conn) string {
	return func(c *conn) string {
		g, t := c.newGroup(), c.newTopic()
		var s []string
		for _, offset := range offsets {
			s = append(s, c.committed(commitTo(8, g, t, offset)))
		}
		return fmt.Sprintf("%s, %d", strings.Join(s, " "), c.committedOffset(g, t))
	}
}

func committedIn(version int16) func(*conn) string {
	return func(c *conn) string {
		g, t := c.newGroup(), c.newTopic()
		return fmt.Sprintf("%s, %d", c.committed(commitTo(version, g, t, 7)), c.committedOffset(g, t))
	}
}

// awaitNoOffsets waits until a group has no offsets, which Kafka removes some time after their topic.
func (c *conn) awaitNoOffsets(group string) string {
	c.t.Helper()
	c.eventually("offsets are gone", func() bool { return len(c.fetchedGroup(fetchOffsets(8, group, topic{})).Topics) == 0 })
	return "no topics"
}

func committedThenDeleted(c *conn) string {
	g, t := c.newGroup(), c.newTopic()
	c.committed(commitTo(8, g, t, 7))
	c.remove(t.name)
	return c.awaitNoOffsets(g)
}

func committedThenCreatedAgain(c *conn) string {
	g, t := c.newGroup(), c.newTopic()
	c.committed(commitTo(8, g, t, 7))
	c.remove(t.name)
	if !c.to.korvet {
		c.awaitNoOffsets(g)
	}
	c.create(t.name, 1)
	c.awaitTopic(t.name, 1)
	return fmt.Sprintf("%d, %s", c.committedOffset(g, t), c.awaitNoOffsets(g))
}

func fetchedOffset(of func(*conn) string) func(*conn) string {
	return func(c *conn) string {
		p := c.fetchedPartition(fetchOffsets(8, of(c), c.newTopic()))
		return fmt.Sprintf("%s %d epoch %d '%s'", code(p.ErrorCode), p.Offset, p.LeaderEpoch, text(p.Metadata))
	}
}

func fetchedUnknown(version int16) func(*conn) string {
	return func(c *conn) string {
		p := c.fetchedPartition(fetchOffsets(version, c.newGroup(), nowhere()))
		return fmt.Sprintf("%s %d", code(p.ErrorCode), p.Offset)
	}
}

func fetchedAll(of func(*conn) string) func(*conn) string {
	return func(c *conn) string {
		g := c.fetchedGroup(fetchOffsets(8, of(c), topic{}))
		if g.ErrorCode != 0 || len(g.Topics) > 0 {
			return fmt.Sprintf("%s %d topics", code(g.ErrorCode), len(g.Topics))
		}
		return "no topics"
	}
}

func fetchedIn(version int16) func(*conn) string {
	return func(c *conn) string {
		g, t := c.newGroup(), c.newTopic()
		c.committed(commitTo(8, g, t, 7))
		p := c.fetchedPartition(fetchOffsets(version, g, t))
		return fmt.Sprintf("%s %d '%s'", code(p.ErrorCode), p.Offset, text(p.Metadata))
	}
}

func fetchedAllIn(version int16) func(*conn) string {
	return func(c *conn) string {
		g, t := c.newGroup(), c.newTopic()
		c.committed(commitTo(8, g, t, 7))
		got := c.fetchedGroup(fetchOffsets(version, g, topic{}))
		if len(got.Topics) == 0 {
			return "no topics"
		}
		in, p := got.Topics[0], got.Topics[0].Partitions[0]
		if version < 10 && in.Topic != t.name || version >= 10 && in.TopicID != t.id {
			return "another topic"
		}
		return fmt.Sprintf("%d topics, %s %d '%s'", len(got.Topics), code(p.ErrorCode), p.Offset, text(p.Metadata))
	}
}

func fetchedAsNobody(c *conn) string {
	req := fetchOffsets(9, c.newStable().group, topic{})
	req.Groups[0].MemberID, req.Groups[0].MemberEpoch = kmsg.StringPtr("nobody"), 3
	return code(c.fetchedGroup(req).ErrorCode)
}

func fetchedStable(c *conn) string {
	g, t := c.newGroup(), c.newTopic()
	c.committed(commitTo(8, g, t, 7))
	req := fetchOffsets(8, g, t)
	req.RequireStable = true
	p := c.fetchedPartition(req)
	return fmt.Sprintf("%s %d", code(p.ErrorCode), p.Offset)
}

func fetchedGroups(c *conn) string {
	one, two, t := c.newGroup(), c.newGroup(), c.newTopic()
	c.committed(commitTo(8, one, t, 7))
	c.committed(commitTo(8, two, t, 8))
	req := fetchOffsets(8, one, t)
	req.Groups = append(req.Groups, fetchOffsets(8, two, t).Groups...)
	var offsets []string
	for _, g := range ask[*kmsg.OffsetFetchResponse](c, req).Groups {
		offsets = append(offsets, fmt.Sprint(g.Topics[0].Partitions[0].Offset))
	}
	return strings.Join(offsets, " ")
}

func deleteOffsets(group string, t topic) *kmsg.OffsetDeleteRequest {
	req := kmsg.NewPtrOffsetDeleteRequest()
	req.Group = group
	req.Topics = []kmsg.OffsetDeleteRequestTopic{{Topic: t.name, Partitions: []kmsg.OffsetDeleteRequestTopicPartition{{}}}}
	return req
}

func (c *conn) deletedOffsetsOf(group string, t topic) string {
	c.t.Helper()
	r := ask[*kmsg.OffsetDeleteResponse](c, deleteOffsets(group, t))
	if r.ErrorCode != 0 {
		return code(r.ErrorCode)
	}
	return code(r.Topics[0].Partitions[0].ErrorCode)
}

func deletedOffset(of func(*conn) string, in func(*conn, ...string) topic) func(*conn) string {
	return func(c *conn) string { return c.deletedOffsetsOf(of(c), in(c)) }
}

func deletedSubscribed(subscribed bool) func(*conn) string {
	return func(c *conn) string {
		t, other := c.newTopic(), c.newTopic()
		m := c.newStable(func(r *kmsg.JoinGroupRequest) { r.Protocols[0].Metadata = subscription(t.name) })
		m.expect(m.commits(t), "OK")
		m.expect(m.commits(other), "OK")
		if !subscribed {
			t = other
		}
		return c.deletedOffsetsOf(m.group, t)
	}
}

func deletedOfOthers(c *conn) string {
	m := c.newMember(c.newGroup(), func(r *kmsg.JoinGroupRequest) { r.ProtocolType = "connect" })
	m.join()
	return c.deletedOffsetsOf(m.group, c.newTopic())
}

func deletedOffsets(c *conn) string {
	g, t := c.newGroup(), c.newTopic()
	c.committed(commitTo(8, g, t, 7))
	return fmt.Sprintf("%s, %d", c.deletedOffsetsOf(g, t), c.committedOffset(g, t))
}

// Package coordinator runs the groups of package group: it lets time pass for each, keeps what must survive in Redis, and
// holds their committed offsets.
//
// # Order and fencing
//
// Each group has one lock and one queue of what is to be stored. What is queued for a group is stored in that order, one
// script at a time; commits that wait are stored together. A group's keys carry a token: the coordinator that claimed the
// group last is the only one whose scripts change anything. After an error or an unknown outcome the group is forgotten
// here, and claimed and loaded anew with the next request.
package coordinator

import (
	"cmp"

	"github.com/google/uuid"

	"github.com/korvet-io/korvet/internal/group"
)

// TopicPartition names a partition.
type TopicPartition struct {
	Topic     string
	Partition int32
}

// Offset is a committed offset.
type Offset struct {
	TopicPartition
	TopicID     uuid.UUID // the life of the topic it was committed for
	Offset      int64
	LeaderEpoch int32 // -1: not given
	Metadata    string
	CommitMs    int64 // when, in ms since 1970
	ExpireMs    int64 // when it expires, if the client asked for a retention of its own (v2 to v4); 0: by the settings
}

// CommitRequest is an OffsetCommit whose topics are known.
type CommitRequest struct {
	Member  group.MemberRef // generation -1 and no member id: not a member's
	Offsets []Offset
	// MemberEpochs tells that the request's version can carry member epochs (v9, KIP-848).
	MemberEpochs bool
}

// CommittedRequest is one group of an OffsetFetch.
type CommittedRequest struct {
	Member     group.MemberRef  // no member id: not a member's
	Partitions []TopicPartition // nil: all
}

func (p TopicPartition) compare(o TopicPartition) int {
	return cmp.Or(cmp.Compare(p.Topic, o.Topic), cmp.Compare(p.Partition, o.Partition))
}

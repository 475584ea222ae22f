package api

import (
	"context"

	"github.com/korvet-io/korvet/internal/coordinator"
	"github.com/korvet-io/korvet/internal/group"
)

// Groups is what the API needs of the group coordinator for members. All methods are safe for concurrent use, return the
// error kinds of package group, and call done exactly once, maybe before they return, never blocking it. A group that
// another broker coordinates is group.ErrNotCoordinator.
type Groups interface {
	// Join answers when the rebalance that it is part of has all its members, or gave up waiting for them.
	Join(name string, req group.JoinRequest, done func(group.JoinResponse))
	// Sync answers when the leader's assignment is stored.
	Sync(name string, req group.SyncRequest, done func(group.SyncResponse))
	// Heartbeat is that of the classic protocol.
	Heartbeat(name string, m group.MemberRef, done func(error))
	// Leave removes members; the error is of the group, the others of each member.
	Leave(name string, members []group.LeavingMember, done func([]group.LeftMember, error))
	// ConsumerHeartbeat is ConsumerGroupHeartbeat (KIP-848). It answers when what it changed is stored.
	ConsumerHeartbeat(name string, req group.HeartbeatRequest, done func(group.HeartbeatResponse))
}

// GroupOffsets is what the API needs of committed offsets; the terms are those of Groups.
type GroupOffsets interface {
	// Commit stores all offsets of a request or none. done is called when Redis has them.
	Commit(name string, req coordinator.CommitRequest, done func(error))
	// Committed returns the offsets of some partitions (nil: of all), as last stored; those without one are left out.
	Committed(ctx context.Context, name string, req coordinator.CommittedRequest) ([]coordinator.Offset, error)
	// DeleteOffsets removes the offsets of partitions; the results are in their order.
	DeleteOffsets(ctx context.Context, name string, partitions []coordinator.TopicPartition) ([]error, error)
}

// GroupAdmin is what the API needs to show and delete groups; the terms are those of Groups.
type GroupAdmin interface {
	// Coordinator is the id of the live broker that coordinates a group.
	Coordinator(name string) (id int32, err error)
	// Describe shows one group. group.ErrNotFound for one without members, state and offsets.
	Describe(ctx context.Context, name string) (group.Description, error)
	// List shows the groups that this broker coordinates, without members. group.ErrLoading until all are known.
	List(ctx context.Context) ([]group.Description, error)
	// Delete removes a group and its offsets. group.ErrNotFound, group.ErrNonEmpty.
	Delete(ctx context.Context, name string) error
}

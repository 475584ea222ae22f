package group

import (
	"time"

	"github.com/google/uuid"
)

// Settings are a broker's settings that concern groups.
type Settings struct {
	MinSession   time.Duration // group.min.session.timeout.ms
	MaxSession   time.Duration // group.max.session.timeout.ms
	InitialDelay time.Duration // group.initial.rebalance.delay.ms: how long the first rebalance of an empty group waits for more members
	MaxSize      int           // group.max.size: members of a classic group

	ConsumerSession   time.Duration // group.consumer.session.timeout.ms
	ConsumerHeartbeat time.Duration // group.consumer.heartbeat.interval.ms
	ConsumerMaxSize   int           // group.consumer.max.size
	Assignors         []string      // group.consumer.assignors; the first is the default
	Migration         Migration     // group.consumer.migration.policy
	// AssignmentInterval is the least time between two target assignments of a consumer group, so that a burst of joins
	// makes few: group.consumer.assignment.interval.ms (KIP-1263). 0: each change is assigned at once.
	AssignmentInterval time.Duration

	// NewID makes a member id's random part, never the same twice.
	NewID func() string
}

// Migration says whether members of the two protocols may share a group while it changes from one to the other.
type Migration string

// The values of group.consumer.migration.policy.
const (
	Bidirectional Migration = "bidirectional"
	Upgrade       Migration = "upgrade"
	Downgrade     Migration = "downgrade"
	NoMigration   Migration = "disabled"
)

// Type is a group's protocol.
type Type string

// The types as ListGroups names them (KIP-848).
const (
	Classic  Type = "classic"
	Consumer Type = "consumer"
)

// State is what a group does, as DescribeGroups and ListGroups name it.
type State string

// The states of classic groups, then those of consumer groups.
const (
	Empty               State = "Empty"
	PreparingRebalance  State = "PreparingRebalance"
	CompletingRebalance State = "CompletingRebalance"
	Stable              State = "Stable"
	Dead                State = "Dead"
	Assigning           State = "Assigning"
	Reconciling         State = "Reconciling"
)

// Ticket stands for a request that is not answered yet.
type Ticket uint64

// Effects collects what must happen after events, in their order. See the package's text.
type Effects struct {
	Joins      []JoinAnswer
	Syncs      []SyncAnswer
	Heartbeats []HeartbeatAnswer // of the consumer protocol
	Save       *Changes          // nil: nothing to store
}

// Client is who a member is, for those who look at the group.
type Client struct {
	ID   string // client.id
	Host string // "/" and the address, as Kafka shows it
}

// Protocol is one of a member's protocols, with the metadata for it: for consumers an assignor and a subscription.
type Protocol struct {
	Name     string
	Metadata []byte
}

// JoinRequest is a JoinGroup.
type JoinRequest struct {
	MemberID   string
	InstanceID string // empty: not static
	Client     Client
	Session    time.Duration
	Rebalance  time.Duration // v0 has none: the session's
	Type       string        // protocol type
	Protocols  []Protocol    // in the order of preference
	Reason     string
	// RequireMemberID tells that a member without id is given one and must join again with it (v4, KIP-394).
	RequireMemberID bool
	// SkipAssignment tells that the answer can say that a leader need not assign (v9, KIP-814).
	SkipAssignment bool
}

// JoinResponse answers it.
type JoinResponse struct {
	Err            error
	Generation     int32 // -1 with an error
	ProtocolType   string
	Protocol       string
	Leader         string
	MemberID       string
	SkipAssignment bool
	Members        []JoinMember // for the leader
}

// JoinMember is what a leader is told of a member.
type JoinMember struct {
	MemberID, InstanceID string
	Metadata             []byte
}

// JoinAnswer answers a ticket of Join.
type JoinAnswer struct {
	To Ticket
	JoinResponse
}

// MemberRef names a member, as Heartbeat, SyncGroup and OffsetCommit do.
type MemberRef struct {
	MemberID   string
	InstanceID string // empty: not given
	Generation int32  // or member epoch
}

// SyncRequest is a SyncGroup.
type SyncRequest struct {
	MemberRef
	Type, Protocol string            // v5; empty: not given
	HasProtocol    bool              // Type and Protocol were given, maybe null
	Assignments    map[string][]byte // by member id
}

// SyncResponse answers it.
type SyncResponse struct {
	Err            error
	Type, Protocol string
	Assignment     []byte
}

// SyncAnswer answers a ticket of Sync.
type SyncAnswer struct {
	To Ticket
	SyncResponse
}

// LeavingMember names a member that leaves.
type LeavingMember struct {
	MemberID, InstanceID string
	Reason               string
}

// LeftMember is the outcome for it.
type LeftMember struct {
	MemberID, InstanceID string
	Err                  error
}

// TopicPartitions are partitions of one topic, in ascending order.
type TopicPartitions struct {
	Topic      uuid.UUID
	Partitions []int32
}

// HeartbeatRequest is a ConsumerGroupHeartbeat. A nil pointer or slice means: not changed since the last one.
type HeartbeatRequest struct {
	MemberID   string
	Epoch      int32 // 0 joins, -1 leaves, -2 is a static member that will be back
	InstanceID string
	Rack       *string
	Rebalance  time.Duration // -1 ms: not changed
	Topics     *[]string
	Regexp     *string // empty: none any more
	Assignor   *string
	Owned      *[]TopicPartitions
	Client     Client
	// MintMemberID tells that a joining member without an id is given one (v0); v1 clients make their own.
	MintMemberID bool
}

// HeartbeatResponse answers it.
type HeartbeatResponse struct {
	Err        error
	MemberID   string
	Epoch      int32
	Interval   time.Duration
	Assignment *[]TopicPartitions // nil: as before
}

// HeartbeatAnswer answers a ticket of ConsumerHeartbeat.
type HeartbeatAnswer struct {
	To Ticket
	HeartbeatResponse
}

// Topic is what assignors need of a topic.
type Topic struct {
	Name       string
	ID         uuid.UUID
	Partitions int32
}

// Image is a view of the cluster's topics that does not change.
type Image interface {
	Topic(name string) (Topic, bool)
	ByID(id uuid.UUID) (Topic, bool)
	// All lists the topics in the order of their names. It must not be changed.
	All() []Topic
	// Version differs between views that differ.
	Version() uint64
}

// Changes are what of a group is to be stored: the group's own line and those of changed members. The encodings are the
// machine's; whoever stores them need not read them.
type Changes struct {
	// Generation is the generation (or group epoch) from which on commits of older ones are refused.
	Generation int32
	Group      []byte            // the group's own line
	Members    map[string][]byte // by member id
	Gone       []string          // member ids
}

// Stored is what was stored of a group.
type Stored struct {
	Generation int32
	Group      []byte // nil: nothing but offsets
	Members    map[string][]byte
}

// Description is what DescribeGroups, ConsumerGroupDescribe and ListGroups show.
type Description struct {
	ID              string
	Type            Type
	State           State
	ProtocolType    string
	Protocol        string // classic: chosen; consumer: the assignor
	Epoch           int32  // generation of a classic group
	AssignmentEpoch int32
	Since           time.Time // when the state began
	Members         []MemberDescription
}

// MemberDescription is one member of it.
type MemberDescription struct {
	MemberID, InstanceID string
	Client               Client
	Rack                 string
	// Of classic groups.
	Metadata, Assignment []byte
	// Of consumer groups.
	Epoch    int32
	Topics   []string
	Regexp   string
	Assigned []TopicPartitions
	Target   []TopicPartitions
	Classic  bool // a member of the classic protocol in a consumer group
}

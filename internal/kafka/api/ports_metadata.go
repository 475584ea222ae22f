package api

import (
	"context"

	"github.com/google/uuid"

	"github.com/korvet-io/korvet/internal/metadata"
	"github.com/korvet-io/korvet/internal/partition"
)

// Topics is what the API needs of the cluster's topics. All methods are safe for concurrent use and return the error
// kinds of package metadata. Topics handed out are immutable.
type Topics interface {
	// Topic finds a topic by name: from memory when it is there, else in the store. ErrUnknownTopic, ErrUnavailable.
	Topic(ctx context.Context, name string) (*metadata.Topic, error)
	// TopicByID is the same by id. ErrUnknownTopicID, ErrUnavailable.
	TopicByID(ctx context.Context, id uuid.UUID) (*metadata.Topic, error)
	// All lists the topics known to this broker in the order of their names, from memory. The list must not be changed.
	All() []*metadata.Topic
	// Create commits a new topic. When it returns every broker finds it. The settings are canonical. ErrTopicExists,
	// ErrUnavailable (then it may have been created, unless it is ErrFull or ErrNotSaved, too).
	Create(ctx context.Context, name string, partitions int32, configs map[string]string) (*metadata.Topic, error)
	// Alter replaces partition count and settings of the version that t is. ErrVersionConflict when there is a newer
	// one, ErrUnknownTopic, ErrUnavailable.
	Alter(ctx context.Context, t *metadata.Topic, partitions int32, configs map[string]string) (*metadata.Topic, error)
	// Delete commits the end of this life of the topic; its records go in the background. ErrUnknownTopic, ErrUnavailable.
	Delete(ctx context.Context, t *metadata.Topic) error
}

// Cluster is what the API needs of the brokers. All methods answer from memory and are safe for concurrent use.
type Cluster interface {
	// ID is the cluster's id: 16 bytes in URL-safe base64 without padding.
	ID() string
	// Self is this broker.
	Self() metadata.Node
	// Nodes lists the live brokers, this one among them, in the order of their ids. It must not be changed.
	Nodes() []metadata.Node
}

// LeaderEpochs tells the leader epochs that Metadata hands to clients.
type LeaderEpochs interface {
	// LeaderEpoch returns the partition's leader epoch as far as this broker knows it, without waiting: -1 when it has
	// not opened the partition yet, which clients take as unknown (KIP-320).
	LeaderEpoch(p partition.Ref) int32
}

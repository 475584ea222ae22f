// Package metadata keeps topics, brokers, settings that change while brokers run and the cluster's identity in Redis:
// korvet:topics, korvet:topics:deleting, korvet:broker:nodes, korvet:configs, korvet:storage:tables, korvet:meta. Scripts are files beside the code that calls them.
package metadata

import (
	"errors"

	"github.com/google/uuid"

	"github.com/korvet-io/korvet/internal/topicconfig"
)

// Topic is one life of a topic. It is immutable: a change makes a new one with a higher Version.
type Topic struct {
	Name       string            `json:"name"`
	ID         uuid.UUID         `json:"id"` // UUIDv7 in Redis time, above any earlier life's
	Partitions int32             `json:"partitions"`
	Configs    map[string]string `json:"configs"` // only what was set
	Version    int64             `json:"version"`
	CreatedMs  int64             `json:"created"`

	// Config holds the settings in force, parsed from Configs, the server's patterns and its defaults.
	Config topicconfig.Effective `json:"-"`
}

// Internal reports whether the topic is one of Kafka's own, which clients may read and not write.
func (t *Topic) Internal() bool { return IsInternal(t.Name) }

// IsInternal reports whether a name is that of one of Kafka's own topics.
func IsInternal(name string) bool { return topicconfig.Internal(name) }

// Node is a live broker.
type Node struct {
	ID     int32     `json:"id"`
	BootID uuid.UUID `json:"boot"` // UUIDv7 in Redis time: of two brokers with one id the newest wins
	Host   string    `json:"host"`
	Port   int32     `json:"port"`
	SeenMs int64     `json:"seen"` // ms in Redis's time
}

// The error kinds a caller acts on.
var (
	ErrTopicExists     = errors.New("topic already exists")
	ErrUnknownTopic    = errors.New("unknown topic")
	ErrUnknownTopicID  = errors.New("unknown topic id")
	ErrVersionConflict = errors.New("topic changed meanwhile") // read again and repeat
	ErrUnavailable     = errors.New("metadata store unavailable")
	ErrSuperseded      = errors.New("a newer broker runs under this id") // stop
)

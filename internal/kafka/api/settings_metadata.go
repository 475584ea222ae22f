package api

import "github.com/korvet-io/korvet/internal/topicconfig"

// TopicSettings are the broker's settings that the topic and cluster APIs depend on.
type TopicSettings struct {
	// AutoCreate lets Metadata create topics that do not exist; a pattern of korvet.topics with an opinion wins.
	AutoCreate bool
	// NumPartitions is the partition count of topics whose creation names none.
	NumPartitions int32
	// MaxPartitions bounds the partitions of one topic, MaxPartitionsTotal those of all: each costs memory.
	MaxPartitions      int32
	MaxPartitionsTotal int64
	// MaxConfigValueBytes bounds one setting's value.
	MaxConfigValueBytes int
	// RedisReplicas is korvet.redis.replicas: min.insync.replicas counts up to 1 + that.
	RedisReplicas int
	// Broker lists the broker's own settings for DescribeConfigs, under Kafka's names, in any order.
	Broker []BrokerSetting
}

// DefaultTopicSettings returns the defaults.
func DefaultTopicSettings() TopicSettings {
	return TopicSettings{
		AutoCreate:          true,
		NumPartitions:       1,
		MaxPartitions:       10_000,
		MaxPartitionsTotal:  100_000,
		MaxConfigValueBytes: 32 << 10,
	}
}

// BrokerSetting is one broker setting as DescribeConfigs shows it.
type BrokerSetting struct {
	Name      string // Kafka's name
	Type      topicconfig.Type
	Value     string
	Set       bool // by file, environment or flag; else Value is the default
	Sensitive bool // shown without its value
	Pool      bool // a number of threads: it changes to half of what it was at least, to twice as many at most
	Doc       string
	// Parse checks a value that a tool gives while the broker runs, and returns its canonical form. Nil: the setting cannot
	// be changed then.
	Parse func(value string) (string, error)
}

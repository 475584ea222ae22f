package worker

import (
	"github.com/korvet-io/korvet/internal/partition"
	"github.com/korvet-io/korvet/internal/redisstream"
	"github.com/korvet-io/korvet/internal/topicconfig"
)

// Target is one partition as a tick finds it: what is due is decided from it alone.
type Target struct {
	Ref     partition.Ref
	Keys    redisstream.Keys
	TopicID string // as Redis knows it, 32 hex digits
	Config  *topicconfig.Effective
	Glance  redisstream.Glance
	Fence   int64 // number of the lease that the tick holds
	// Compared: the remote tier was seen to have the same log as Redis.
	Compared bool
}

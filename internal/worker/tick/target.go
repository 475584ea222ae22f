// Package tick has what all rooms of the worker see of a tick: a partition as it finds it, and which errors end it.
package tick

import (
	"context"
	"errors"

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

// End is the offset after the log's last record.
func (t *Target) End() int64 { return redisstream.EndOffset(t.Glance.LastSeq) }

// Claim is what changes of the target carry.
func (t *Target) Claim() redisstream.Claim {
	return redisstream.Claim{TopicID: t.TopicID, Fence: t.Fence}
}

// Cutoff is the append time, in ms, below which retention.ms lets records go. ok is false where nothing goes by time.
func (t *Target) Cutoff() (ms uint64, ok bool) {
	c := t.Config
	if !c.Delete || c.RetentionMs < 0 || t.Glance.Now < uint64(c.RetentionMs) {
		return 0, false
	}
	return t.Glance.Now - uint64(c.RetentionMs), true
}

// Living is the part of a sealed segment's bytes that is not below the log start.
func (t *Target) Living(seg redisstream.Segment, bytes int64) int64 {
	below := min(max(t.Glance.LogStart-seg.Base, 0), seg.Last-seg.Base+1)
	return bytes - int64(float64(below)/float64(seg.Last-seg.Base+1)*float64(bytes))
}

// Ends tells whether an error ends the tick: nothing more can or may be done in it.
func Ends(err error) bool {
	return errors.Is(err, redisstream.ErrFenced) || errors.Is(err, redisstream.ErrLeaseLost) || errors.Is(err, redisstream.ErrUnavailable) ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

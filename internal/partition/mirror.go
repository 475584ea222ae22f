package partition

import (
	"context"
	"fmt"

	"github.com/korvet-io/korvet/internal/redisstream"
)

// mirror shows Kafka groups to users of Redis, as native groups of the stream. Nothing here depends on them.
type mirror interface {
	Mirror(ctx context.Context, keys redisstream.Keys, topicID, group string, offset int64) error
	Unmirror(ctx context.Context, keys redisstream.Keys, topicID, group string) error
}

// Mirror shows a group's committed offset as native group kafka:<group> of the open segment's stream, if this broker leads
// the partition: else ErrNotLeader. An offset before the open segment shows as 0-0, one beyond the log's end not at all.
// At most 500 groups of a partition are shown.
func (m *Manager) Mirror(ctx context.Context, ref Ref, group string, offset int64) error {
	m.mu.RLock()
	p := m.open[ref]
	m.mu.RUnlock()
	if p == nil {
		return fmt.Errorf("mirror commit of group %q: %w", group, ErrNotLeader)
	}
	end, err := p.ledEnd()
	if err != nil {
		return fmt.Errorf("mirror commit of group %q: %w", group, err)
	}
	if offset < 0 || offset > end {
		return nil
	}
	if err := p.env.shard.Mirror(ctx, p.keys, p.topicID, group, offset); err != nil {
		return kindOf(err)
	}
	return nil
}

// Unmirror removes the native group that shows a group. It need not be there, nor this broker lead the partition.
func (m *Manager) Unmirror(ctx context.Context, ref Ref, group string) error {
	keys := redisstream.NewKeys(m.env.Namespace, ref.Topic, ref.Partition)
	if err := m.env.shard.Unmirror(ctx, keys, ref.TopicID(), group); err != nil {
		return kindOf(err)
	}
	return nil
}

// ledEnd is the log end offset, if this broker leads.
func (p *Partition) ledEnd() (int64, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.phase == gone:
		return 0, p.reason
	case !p.current():
		return 0, ErrNotLeader
	}
	return p.ends.leo, nil
}

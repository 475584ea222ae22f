package inspect

import (
	"context"
	"strings"

	"github.com/google/uuid"

	"github.com/korvet-io/korvet/internal/redisstream"
)

// Log is a partition's log as Redis has it, and how far the table is behind.
type Log struct {
	Start      int64  `json:"start"`       // the first offset that may be read
	LocalStart int64  `json:"local_start"` // the first that Redis has
	TieredEnd  int64  `json:"tiered_end"`  // below it Redis may drop what it has
	End        int64  `json:"end"`
	Lag        int64  `json:"lag"`       // offsets from the table's end to the log's
	LagBytes   int64  `json:"lag_bytes"` // of Redis's memory that these take, about
	LagMs      int64  `json:"lag_ms"`    // age of the oldest of them
	Sealed     int    `json:"sealed"`    // segments that wait to be copied
	Problem    string `json:"problem,omitempty"`
}

// logs looks at the logs of tables' topics.
func (s *Source) logs(ctx context.Context, list []*Table) error {
	if s.Messages == nil {
		return nil
	}
	var keys []redisstream.Keys
	var parts []*Part
	var ids []string
	for _, t := range list {
		if t.topic == nil {
			continue
		}
		for i := range t.Partitions {
			keys = append(keys, redisstream.NewKeys(s.Namespace, t.Topic, t.Partitions[i].Partition))
			parts, ids = append(parts, &t.Partitions[i]), append(ids, hexID(t.TopicID))
		}
	}
	if len(keys) == 0 {
		return nil
	}
	glances, err := s.Messages.Glances(ctx, keys)
	if err != nil {
		return err
	}
	open := make([]string, len(keys))
	for i := range keys {
		open[i] = keys[i].Stream
	}
	weights, err := s.Messages.Weigh(ctx, open, openNodes)
	if err != nil {
		return err
	}
	for i := range parts {
		parts[i].Log = logOf(&glances[i], parts[i].End, weights[i], ids[i])
	}
	return nil
}

// openNodes is how many nodes of an open segment are measured: the others are taken to be like them.
const openNodes = 1000

func logOf(g *redisstream.Glance, tableEnd, openBytes int64, topicID string) *Log {
	if g.Err != nil {
		return &Log{Problem: g.Err.Error()}
	}
	if g.TopicID != topicID { // nothing was written in this life of the topic, or nothing is left in Redis
		l := &Log{}
		if tableEnd > 0 {
			l.Problem = "Redis has nothing of this partition: korvet recover puts it back"
		}
		return l
	}
	l := &Log{Start: g.LogStart, LocalStart: g.LocalStart, TieredEnd: g.TieredEnd, End: redisstream.EndOffset(g.LastSeq)}
	if l.Lag = l.End - max(tableEnd, l.Start); l.Lag < 0 {
		l.Problem = "the table is ahead of the log: Redis lost the end of it"
	}
	l.Lag = max(l.Lag, 0)
	oldest := uint64(0)
	age := func(ms uint64) {
		if oldest == 0 || ms < oldest {
			oldest = ms
		}
	}
	for _, seg := range g.Segments {
		if seg.Last < max(tableEnd, l.Start) {
			continue
		}
		l.Sealed++
		l.LagBytes += max(seg.Bytes, 0)
		age(seg.FirstMs)
	}
	if g.Length > 0 && l.Lag > 0 {
		l.LagBytes += openBytes
		age(g.First.Ms)
	}
	if oldest > 0 && l.Lag > 0 {
		l.LagMs = max(int64(g.Now)-int64(oldest), 0)
	}
	return l
}

// hexID is a topic's id as partitions have it.
func hexID(id uuid.UUID) string { return strings.ReplaceAll(id.String(), "-", "") }

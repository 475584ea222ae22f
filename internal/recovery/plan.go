// Package recovery rebuilds in Redis what the tables of the remote tier know of a cluster whose Redis was lost: its topics, which
// table is whose, and where each partition's log begins and goes on.
package recovery

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/korvet-io/korvet/internal/epoch"
	"github.com/korvet-io/korvet/internal/iceberg/tables"
	"github.com/korvet-io/korvet/internal/metadata"
	"github.com/korvet-io/korvet/internal/remote"
)

// What is to be done.
const (
	Restore = "restore" // Redis has nothing of it
	Keep    = "keep"    // it is there
	Refuse  = "refuse"  // Redis has something else there
)

// Plan is what a recovery does.
type Plan struct {
	Topics []Topic `json:"topics"`
	Left   []Left  `json:"left"` // tables that are nobody's
	// Cluster is the id of the cluster that Redis belongs to; empty: it is to get one.
	Cluster string `json:"cluster,omitempty"`
}

// Topic is one life of a topic as its table has it.
type Topic struct {
	Name       string            `json:"topic"`
	ID         uuid.UUID         `json:"id"`
	Partitions int32             `json:"partitions"`
	Configs    map[string]string `json:"configs"`
	Table      metadata.Table    `json:"table"`
	Fence      int64             `json:"-"`
	UpdatedMs  int64             `json:"updated"` // when the table was changed last
	Action     string            `json:"action"`
	Why        string            `json:"why,omitempty"`
	Logs       []Log             `json:"logs"`
}

// Log is a partition as the table has it.
type Log struct {
	Partition int32  `json:"partition"`
	Start     int64  `json:"start"` // the first offset in the table
	End       int64  `json:"end"`   // the offset that the next record gets
	Records   int64  `json:"records"`
	Action    string `json:"action"`
	Why       string `json:"why,omitempty"`
	lastMs    uint64
	epochs    epoch.History
}

// Left is a table that is not restored.
type Left struct {
	Location string `json:"location"`
	Topic    string `json:"topic,omitempty"`
	Why      string `json:"why"`
}

// read finds the tables and which of them is which topic's: of several of one name the newest life's.
func read(ctx context.Context, s Source) (*Plan, error) {
	p := &Plan{Topics: []Topic{}, Left: []Left{}}
	newest := map[string]*remote.Found{}
	leave := func(f *remote.Found, why string) {
		p.Left = append(p.Left, Left{Location: f.Location, Topic: f.Topic, Why: why})
	}
	err := remote.Discover(ctx, s.Settings, s.Store, func(f *remote.Found) error {
		if f.Err != nil {
			return fmt.Errorf("read the table at %s: %w", f.Location, f.Err) // whoever goes on without it loses a topic
		}
		other := newest[f.Topic]
		switch {
		case f.About.Deleting:
			leave(f, "it was being deleted")
		case other == nil:
			newest[f.Topic] = f
		case later(f, other):
			leave(other, "a later one has the topic")
			newest[f.Topic] = f
		default:
			leave(f, "a later one has the topic")
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, f := range newest {
		t, err := topicOf(ctx, f)
		if err != nil {
			return nil, err
		}
		p.Topics = append(p.Topics, t)
	}
	slices.SortFunc(p.Topics, func(a, b Topic) int { return cmp.Compare(a.Name, b.Name) })
	return p, nil
}

// later tells which of two tables of one topic is of the later life, or was changed later.
func later(a, b *remote.Found) bool {
	if a.TopicID != b.TopicID {
		return a.TopicID.String() > b.TopicID.String()
	}
	return a.About.UpdatedMs > b.About.UpdatedMs
}

// topicOf reads which files the table has: they tell where logs begin.
func topicOf(ctx context.Context, f *remote.Found) (Topic, error) {
	files, err := f.Open.Files(ctx, f.State)
	if err != nil {
		return Topic{}, fmt.Errorf("read the table at %s: %w", f.Location, err)
	}
	t := Topic{
		Name: f.Topic, ID: f.TopicID, Partitions: f.About.Partitions, Configs: f.About.Configs, Table: f.Table,
		Fence: f.State.Fence, UpdatedMs: f.About.UpdatedMs, Action: Restore,
	}
	for partition := range t.Partitions {
		t.Logs = append(t.Logs, logOf(partition, f.State, files.Data[partition]))
	}
	return t, nil
}

func logOf(partition int32, s *tables.State, files []tables.File) Log {
	end := s.Ends[partition]
	l := Log{Partition: partition, Start: end, End: end, Action: Restore, epochs: s.Epochs[partition]}
	for _, f := range files {
		l.Start = min(l.Start, f.First)
		l.Records += f.Rows
		l.lastMs = max(l.lastMs, uint64(max(f.MaxAppendMs, 0)))
	}
	return l
}

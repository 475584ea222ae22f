// Package lifecycle has the steps in the life of a remote segment: what whoever copies or deletes one tells of it.
package lifecycle

import (
	"context"

	"github.com/google/uuid"

	"github.com/korvet-io/korvet/internal/iceberg/tables"
	"github.com/korvet-io/korvet/internal/metadata"
)

// States of remote segments, with Kafka's names (KIP-405).
const (
	CopySegmentStarted    = "COPY_SEGMENT_STARTED"
	CopySegmentFinished   = "COPY_SEGMENT_FINISHED"
	DeleteSegmentStarted  = "DELETE_SEGMENT_STARTED"
	DeleteSegmentFinished = "DELETE_SEGMENT_FINISHED"
)

// CopiesEnded is no step of a segment's: all copies that the worker has begun for the topic are over, whatever came of them.
const CopiesEnded = "COPIES_ENDED"

// Event is a step in the life of a data file. Of one whose copy was only begun, Last is the most that it may come to
// hold. DeleteSegmentFinished stands for all of a topic's that are not on the store any more, CopiesEnded for all that were begun:
// they have none of their fields.
type Event struct {
	State       string
	Topic       string
	TopicID     uuid.UUID
	Partition   int32
	First, Last int64 // offsets
	Location    string
	Table       string // location of the table; of CopySegmentStarted alone
	Bytes       int64  // of the data file; 0 where it is not known yet
}

// TakenOut tells that data files are no longer of a topic's table. Their objects stay for those who read them.
func TakenOut(topic *metadata.Topic, files []tables.File) []Event {
	events := make([]Event, 0, len(files))
	for _, f := range files {
		events = append(events, Event{
			State: DeleteSegmentStarted, Topic: topic.Name, TopicID: topic.ID, Partition: f.Partition,
			First: f.First, Last: f.Last, Location: f.Location, Bytes: f.Bytes,
		})
	}
	return events
}

// Events takes what happens to remote segments, in order for each partition. It must not block for long: what it cannot take
// is lost.
type Events interface {
	RemoteSegments(ctx context.Context, fence int64, events []Event)
}

package remotelog

import (
	"context"
	"encoding/json"

	"github.com/google/uuid"

	"github.com/korvet-io/korvet/internal/iceberg/tables"
	"github.com/korvet-io/korvet/internal/metadata"
	"github.com/korvet-io/korvet/internal/redisstream"
	"github.com/korvet-io/korvet/internal/worker/lifecycle"
)

// A copy that was begun is noted in Redis, until it is told to have ended: its data file is in the table, or it is told to be going, as
// those are that leave a table, and to be gone once there is no object. So its end is told whoever began it, and whatever became of
// its worker, its partition and its topic.

// Ticked is Wake, after a tick of the worker that has the lease of a number.
func (a *Announcer) Ticked(fence int64) {
	a.leads(fence)
	a.Wake()
}

func (a *Announcer) leads(fence int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.fence = max(a.fence, fence)
}

// copies notes whether the worker of this process copies of a topic.
func (a *Announcer) copies(topic uuid.UUID, begins bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !begins {
		delete(a.copying, topic)
		return
	}
	if a.copying == nil {
		a.copying = map[uuid.UUID]struct{}{}
	}
	a.copying[topic] = struct{}{}
}

// RemoteSegments implements lifecycle.Events. What was only begun is queued at once, or lost; the rest is found in the tables and on
// the store.
func (a *Announcer) RemoteSegments(ctx context.Context, fence int64, events []lifecycle.Event) {
	a.leads(fence)
	for i := range events {
		e := &events[i]
		switch e.State {
		case lifecycle.CopySegmentStarted:
			a.copies(e.TopicID, true) // before it is noted
			if topic, err := a.topic(ctx); err == nil {
				_ = a.queue(ctx, topic, Key(e.TopicID, e.Partition), redisstream.Told{}, []*Event{startedEvent(e, fence)})
			}
			continue
		case lifecycle.CopiesEnded:
			a.copies(e.TopicID, false)
		case lifecycle.DeleteSegmentFinished:
			a.look.Store(true)
		}
		a.Wake()
	}
}

// begun lists, by location of their tables, copies that were begun and are over, whatever came of them: those of a worker that had the
// lease before, and those of this process's, of topics of which it copies nothing now.
func (a *Announcer) begun(ctx context.Context, keys []redisstream.OutboxKeys) (map[string][]*Event, error) {
	list, err := a.Outbox.Going(ctx, keys)
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	begun := map[string][]*Event{}
	for _, going := range list {
		for _, text := range going {
			e := &Event{}
			if json.Unmarshal([]byte(text), e) != nil || e.State != lifecycle.CopySegmentStarted {
				continue
			}
			if _, copying := a.copying[e.TopicID]; copying || e.Fence > a.fence {
				continue
			}
			begun[e.Table] = append(begun[e.Table], e)
		}
	}
	return begun, nil
}

// ended tells what came of copies that are over. there are the data files of their table, as it was read since; none where no topic
// has it any more.
func (a *Announcer) ended(ctx context.Context, topic *metadata.Topic, begun []*Event, there *tables.Files) error {
	for _, e := range begun {
		of := Key(e.TopicID, e.Partition)
		if f := fileAt(there, e.Partition, e.Location); f != nil { // which was told before the copy was noted, if at all
			done := fileEvent(lifecycle.CopySegmentFinished, f)
			done.Topic, done.TopicID, done.Partition, done.Table, done.kind = e.Topic, e.TopicID, e.Partition, e.Table, redisstream.EventEnds
			if err := a.queue(ctx, topic, of, redisstream.Told{}, []*Event{done}); err != nil {
				return err
			}
			continue
		}
		e.State, e.kind = lifecycle.DeleteSegmentStarted, redisstream.EventTurns
		if err := a.queue(ctx, topic, of, redisstream.Told{}, []*Event{e}); err != nil {
			return err
		}
		e.kind = ""
		if _, err := a.tellIfGone(ctx, topic, e); err != nil {
			return err
		}
	}
	return nil
}

// fileAt finds a partition's data file by its location; nil: it is not there.
func fileAt(files *tables.Files, partition int32, location string) *tables.File {
	if files == nil {
		return nil
	}
	for i := range files.Data[partition] {
		if f := &files.Data[partition][i]; f.Location == location {
			return f
		}
	}
	return nil
}

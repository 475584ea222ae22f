package remotelog

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/korvet-io/korvet/internal/iceberg/store"
	"github.com/korvet-io/korvet/internal/metadata"
	"github.com/korvet-io/korvet/internal/redisstream"
	"github.com/korvet-io/korvet/internal/worker/lifecycle"
)

const (
	// lookEvery is how often the store is asked for segments that are going when the worker has not told that it deleted something: engines
	// delete objects, too, and a worker may end before it tells.
	lookEvery = time.Hour
	// mostLooked bounds the requests of one look.
	mostLooked = 1000
)

// tellGone tells of segments and partitions that were going and are not on the store any more.
func (a *Announcer) tellGone(ctx context.Context, topic *metadata.Topic, keys []redisstream.OutboxKeys) error {
	list, err := a.Outbox.Going(ctx, keys)
	if err != nil {
		return err
	}
	due := a.look.Swap(false) || a.Now().Sub(a.looked) >= lookEvery
	left, filled := mostLooked, map[string]bool{}
	for _, going := range list {
		for _, text := range going {
			var e Event
			if json.Unmarshal([]byte(text), &e) != nil || e.State != DeletePartition && (!due || e.State != lifecycle.DeleteSegmentStarted) {
				continue
			}
			if left--; left < 0 {
				return nil // the rest at the next tick
			}
			if filled[e.Table] && e.State == DeletePartition { // another partition of it was looked for
				continue
			}
			there, err := a.tellIfGone(ctx, topic, &e)
			if err != nil {
				return err
			}
			filled[e.Table] = filled[e.Table] || there && e.State == PartitionDeleted
		}
	}
	if due {
		a.looked = a.Now()
	}
	return nil
}

// tellIfGone looks for what an event told to be going.
func (a *Announcer) tellIfGone(ctx context.Context, topic *metadata.Topic, e *Event) (there bool, err error) {
	if e.State == DeletePartition {
		e.State = PartitionDeleted
		there, err = a.hasAny(ctx, e.Table+"/")
	} else {
		e.State = lifecycle.DeleteSegmentFinished
		there, err = a.hasObject(ctx, e.Location)
	}
	if err != nil || there {
		return there, err
	}
	if e.State == PartitionDeleted { // and with it its segments
		a.look.Store(true)
	}
	return false, a.queue(ctx, topic, Key(e.TopicID, e.Partition), redisstream.Told{}, []*Event{e})
}

func (a *Announcer) hasObject(ctx context.Context, location string) (bool, error) {
	_, err := a.Objects.Size(ctx, location)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return true, err
}

// hasAny tells whether there are objects below a folder.
func (a *Announcer) hasAny(ctx context.Context, folder string) (bool, error) {
	found := errors.New("there is one")
	err := a.Objects.List(ctx, folder, func(store.Object) error { return found })
	if errors.Is(err, found) {
		return true, nil
	}
	return false, err
}

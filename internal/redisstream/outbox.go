package redisstream

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/korvet-io/korvet/internal/redisstream/resp"
)

// OutboxKeys are those of the events that wait to become records of one partition of __remote_log_metadata.
type OutboxKeys struct {
	Queue string // stream: field event
	Marks string // hash: what was told of -> how far
	Going string // hash: what was begun or is going -> the event that told so
}

// NewOutboxKeys names the keys of a partition's outbox.
func NewOutboxKeys(namespace string, partition int32) OutboxKeys {
	queue := namespace + ":storage:remote-log:{" + strconv.Itoa(int(partition)) + "}"
	return OutboxKeys{Queue: queue, Marks: queue + ":marks", Going: queue + ":going"}
}

// Errors of outboxes. Nothing was queued.
var (
	ErrMoved = errors.New("somebody told of it meanwhile")
	ErrFull  = errors.New("too many events wait")
)

// Told is the mark that goes with events: whose it is, what it was and what it is with them. The zero one marks nothing.
type Told struct{ Of, Before, After string }

// EventKind says what an event does to the note of what it is about: what was begun or is going, and is told to have ended by a later
// event. Notes are limited in number.
type EventKind string

// Kinds of events. The zero one does nothing.
const (
	// EventStarts is noted, and not queued when there is no room for the note.
	EventStarts EventKind = "start"
	// EventBegins is noted if there is room. Half of it is for those that start.
	EventBegins EventKind = "begin"
	// EventTurns takes the place of a note, and is not queued when there is none.
	EventTurns EventKind = "turn"
	// EventEnds removes a note, and is not queued when there is none.
	EventEnds EventKind = "end"
	// EventDone removes a note if there is one.
	EventDone EventKind = "done"
)

// NewEvent is one to be queued.
type NewEvent struct {
	Text string
	Kind EventKind
	Of   string // what is noted; "" where nothing is
}

// QueuedEvent is one that waits.
type QueuedEvent struct{ ID, Event string }

// Queue puts events into an outbox, all or none, in which at most so many may wait. ErrMoved, ErrFull.
func (s *Shard) Queue(ctx context.Context, keys OutboxKeys, t Told, most int, events []NewEvent) error {
	args := append(make([]string, 0, 4+3*len(events)), t.Of, t.Before, t.After, strconv.Itoa(most))
	for _, e := range events {
		args = append(args, e.Text, string(e.Kind), e.Of)
	}
	v, err := s.script(ctx, outboxScript, []string{keys.Queue, keys.Marks, keys.Going}, args)
	if err == nil {
		err = v.Err()
	}
	if err == nil && len(v.Elems) == 0 {
		err = resp.ErrProtocol
	}
	if err != nil {
		return scriptError("queue events", err)
	}
	switch v.Elems[0].Str {
	case "MOVED":
		return fmt.Errorf("queue events: %w", ErrMoved)
	case "FULL":
		return fmt.Errorf("queue events: %w", ErrFull)
	}
	return nil
}

// Marks reads the marks of outboxes, in their order, in one round trip.
func (s *Shard) Marks(ctx context.Context, keys []OutboxKeys) ([]map[string]string, error) {
	hashes := make([]string, len(keys))
	for i, k := range keys {
		hashes[i] = k.Marks
	}
	return s.hashes(ctx, hashes, "read marks")
}

// Going reads what is noted as begun or going, with the events that told so, in one round trip.
func (s *Shard) Going(ctx context.Context, keys []OutboxKeys) ([]map[string]string, error) {
	hashes := make([]string, len(keys))
	for i, k := range keys {
		hashes[i] = k.Going
	}
	return s.hashes(ctx, hashes, "read what is going")
}

// hashes reads hashes whole.
func (s *Shard) hashes(ctx context.Context, keys []string, doing string) ([]map[string]string, error) {
	var request []byte
	for _, k := range keys {
		request = resp.AppendCommand(request, "HGETALL", k)
	}
	replies := make([]resp.Value, len(keys))
	if err := s.readAll(ctx, request, replies); err != nil {
		return nil, err
	}
	list := make([]map[string]string, len(keys))
	for i, v := range replies {
		if err := v.Err(); err != nil {
			return nil, scriptError(doing, err)
		}
		list[i] = map[string]string{}
		v.Pairs(func(field string, value resp.Value) { list[i][field] = value.Str })
	}
	return list, nil
}

// Queued reads the oldest events that wait in outboxes, at most so many of each, in one round trip.
func (s *Shard) Queued(ctx context.Context, keys []OutboxKeys, count int) ([][]QueuedEvent, error) {
	var request []byte
	for _, k := range keys {
		request = resp.AppendCommand(request, "XRANGE", k.Queue, "-", "+", "COUNT", strconv.Itoa(count))
	}
	replies := make([]resp.Value, len(keys))
	if err := s.readAll(ctx, request, replies); err != nil {
		return nil, err
	}
	list := make([][]QueuedEvent, len(keys))
	for i, v := range replies {
		if err := v.Err(); err != nil {
			return nil, scriptError("read events", err)
		}
		for _, e := range v.Elems {
			if len(e.Elems) != 2 || len(e.Elems[1].Elems) != 2 {
				continue // a stranger's
			}
			list[i] = append(list[i], QueuedEvent{ID: e.Elems[0].Str, Event: e.Elems[1].Elems[1].Str})
		}
	}
	return list, nil
}

// Unqueue removes events that have become records. It may be repeated.
func (s *Shard) Unqueue(ctx context.Context, keys OutboxKeys, events []QueuedEvent) error {
	command := []string{"XDEL", keys.Queue}
	for _, e := range events {
		command = append(command, e.ID)
	}
	v, err := s.reads.value(ctx, resp.AppendCommand(nil, command...))
	if err == nil {
		err = v.Err()
	}
	if err != nil {
		return scriptError("remove events", err)
	}
	return nil
}

package remotelog

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/korvet-io/korvet/internal/iceberg/chain"
	"github.com/korvet-io/korvet/internal/iceberg/store"
	"github.com/korvet-io/korvet/internal/iceberg/tables"
	"github.com/korvet-io/korvet/internal/metadata"
	"github.com/korvet-io/korvet/internal/redisstream"
)

// Topics is what is known of topics and tables, and makes the internal topic: metadata.Store. It is safe for concurrent use.
type Topics interface {
	Topic(ctx context.Context, name string) (*metadata.Topic, error)
	Create(ctx context.Context, name string, partitions int32, configs map[string]string) (*metadata.Topic, error)
	Tables() []metadata.Table
	// DroppedTables are those that no topic has any more and whose objects are being deleted.
	DroppedTables() []metadata.Table
}

// Outbox is where events wait: redisstream.Shard. It is safe for concurrent use.
type Outbox interface {
	Queue(ctx context.Context, keys redisstream.OutboxKeys, t redisstream.Told, most int, events []redisstream.NewEvent) error
	Marks(ctx context.Context, keys []redisstream.OutboxKeys) ([]map[string]string, error)
	Going(ctx context.Context, keys []redisstream.OutboxKeys) ([]map[string]string, error)
}

// Table is a topic's table: tables.Table. It is safe for concurrent use.
type Table interface {
	State(ctx context.Context) (*tables.State, error)
	Recent(ctx context.Context) (*tables.State, error)
	At(ctx context.Context, version int64) (*tables.State, error)
	Files(ctx context.Context, s *tables.State) (*tables.Files, error)
}

// Objects are those of the store: store.Store. It is safe for concurrent use.
type Objects interface {
	Size(ctx context.Context, location string) (int64, error)
	List(ctx context.Context, folder string, each func(store.Object) error) error
}

// Observer is told what is queued, for metrics. It must not block.
type Observer interface{ EventsQueued(n int) }

// Announcer queues events: what the storage worker of its process tells, and what the tables show by themselves. Several may work
// at a time: of two that tell of the same the second does nothing.
type Announcer struct {
	Namespace  string
	Partitions int32             // of the topic, when it is made
	Configs    map[string]string // likewise
	Topics     Topics
	Outbox     Outbox
	Open       func(metadata.Table) Table
	Objects    Objects
	Observer   Observer
	Log        *slog.Logger
	Now        func() time.Time

	once   sync.Once
	wake   chan struct{}
	failed string      // what was logged last
	looked time.Time   // when objects that are going were looked at last
	look   atomic.Bool // whether to look at the next round, whenever that was

	mu      sync.Mutex
	fence   int64                  // the highest that this process's worker had
	copying map[uuid.UUID]struct{} // topics of which this process's worker copies
}

const (
	// mostWaiting bounds the events that wait for one partition of the topic.
	mostWaiting = 10_000
	// mostAtOnce bounds those of one script.
	mostAtOnce = 100
	// behind is how many versions of a table a mark may be behind while nothing changes that it tells of.
	behind = 20
)

func (a *Announcer) init() { a.once.Do(func() { a.wake = make(chan struct{}, 1) }) }

// Wake asks for a look at the tables. It does not block.
func (a *Announcer) Wake() {
	a.init()
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// Run looks at the tables whenever it is woken, until ctx ends.
func (a *Announcer) Run(ctx context.Context) {
	a.init()
	for {
		select {
		case <-ctx.Done():
			return
		case <-a.wake:
		}
		a.note(ctx, a.Sync(ctx))
	}
}

// note logs what fails, once until something else does or it works again.
func (a *Announcer) note(ctx context.Context, err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text != a.failed && text != "" && ctx.Err() == nil {
		a.Log.Warn("changes of remote segments are not told in "+Topic+": tried again at the next tick", "error", err)
	}
	a.failed = text
}

// topic finds the internal topic, or makes it.
func (a *Announcer) topic(ctx context.Context) (*metadata.Topic, error) {
	t, err := a.Topics.Topic(ctx, Topic)
	if errors.Is(err, metadata.ErrUnknownTopic) {
		if t, err = a.Topics.Create(ctx, Topic, a.Partitions, a.Configs); errors.Is(err, metadata.ErrTopicExists) {
			t, err = a.Topics.Topic(ctx, Topic)
		}
	}
	return t, err
}

// queue puts events of one partition into the outbox of the topic's partition that is theirs. The mark changes with the last.
func (a *Announcer) queue(ctx context.Context, topic *metadata.Topic, key string, t redisstream.Told, events []*Event) error {
	keys := redisstream.NewOutboxKeys(a.Namespace, PartitionOf(key, topic.Partitions))
	for first := true; first || len(events) > 0; first = false {
		n := min(len(events), mostAtOnce)
		news := make([]redisstream.NewEvent, n)
		for i, e := range events[:n] {
			e.TimeMs = a.Now().UnixMilli()
			var err error
			if news[i], err = e.toQueue(); err != nil {
				return err
			}
		}
		events = events[n:]
		step := t
		if len(events) > 0 {
			step.After = step.Before
		}
		if err := a.Outbox.Queue(ctx, keys, step, mostWaiting, news); err != nil {
			return err
		}
		a.Observer.EventsQueued(n)
	}
	return nil
}

// Sync queues what the tables show and was not told yet. What fails at one table does not hold up the others.
func (a *Announcer) Sync(ctx context.Context) error {
	all := a.Topics.Tables()
	topic, err := a.Topics.Topic(ctx, Topic)
	if errors.Is(err, metadata.ErrUnknownTopic) {
		if len(all) == 0 {
			return nil
		}
		topic, err = a.topic(ctx)
	}
	if err != nil {
		return fmt.Errorf("find topic %s: %w", Topic, err)
	}
	keys := make([]redisstream.OutboxKeys, topic.Partitions)
	for p := range keys {
		keys[p] = redisstream.NewOutboxKeys(a.Namespace, int32(p))
	}
	begun, err := a.begun(ctx, keys) // before the tables: what of these is in none then never comes to be in one
	if err != nil {
		return err
	}
	marks, err := a.marks(ctx, keys)
	if err != nil {
		return err
	}
	var problems []error
	for _, entry := range all {
		s := &round{a: a, topic: topic, entry: entry, table: a.Open(entry), marks: marks, begun: begun[entry.Location], files: map[int64]*tables.Files{}}
		delete(begun, entry.Location)
		if err := s.run(ctx); err != nil && !errors.Is(err, chain.ErrNoTable) {
			problems = append(problems, fmt.Errorf("table %s: %w", entry.Name, err))
		}
	}
	problems = append(problems, a.forget(ctx, topic, all, marks))
	for _, list := range begun { // of tables that no topic has any more
		problems = append(problems, a.ended(ctx, topic, list, nil))
	}
	return errors.Join(append(problems, a.tellGone(ctx, topic, keys))...)
}

// marks reads all of them.
func (a *Announcer) marks(ctx context.Context, keys []redisstream.OutboxKeys) (map[string]string, error) {
	list, err := a.Outbox.Marks(ctx, keys)
	if err != nil {
		return nil, err
	}
	marks := map[string]string{}
	for _, m := range list {
		maps.Copy(marks, m)
	}
	return marks, nil
}

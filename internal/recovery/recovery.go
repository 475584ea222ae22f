package recovery

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/korvet-io/korvet/internal/epoch"
	"github.com/korvet-io/korvet/internal/iceberg/chain"
	"github.com/korvet-io/korvet/internal/iceberg/store"
	"github.com/korvet-io/korvet/internal/metadata"
	"github.com/korvet-io/korvet/internal/redisstream"
	"github.com/korvet-io/korvet/internal/remote"
)

// Source is where the tables are.
type Source struct {
	remote.Settings
	Store store.Store
}

// Target is what is rebuilt: the Redis of the metadata and that of the messages.
type Target struct {
	Metadata *metadata.Restorer
	Messages *redisstream.Shard
	// Claim makes the messages' Redis that of a cluster, where it is another one than the metadata's; nil: it is the same.
	Claim func(ctx context.Context, cluster string) error
}

// ErrRefused is a plan that something in Redis is in the way of. Nothing was changed.
var ErrRefused = errors.New("nothing was changed")

// Make reads the tables and looks what Redis still has. It writes nothing. The plan is complete also with ErrRefused.
func Make(ctx context.Context, s Source, t Target) (*Plan, error) {
	plan, err := read(ctx, s)
	if err != nil {
		return nil, err
	}
	found, err := t.Metadata.Look(ctx)
	if err != nil {
		return nil, err
	}
	plan.Cluster = found.ClusterID
	var problems []string
	for _, n := range found.Live {
		problems = append(problems, fmt.Sprintf("broker %d runs on %s:%d: stop it first", n.ID, n.Host, n.Port))
	}
	kept := plan.Topics[:0]
	for i := range plan.Topics {
		topic := &plan.Topics[i]
		if found.Deleting[topic.ID] {
			plan.Left = append(plan.Left, Left{Location: topic.Table.Location, Topic: topic.Name, Why: "the topic is being deleted"})
			continue
		}
		if found.Dropped[topic.Table.Location] {
			plan.Left = append(plan.Left, Left{Location: topic.Table.Location, Topic: topic.Name, Why: "the table is being deleted"})
			continue
		}
		if err := topic.compare(ctx, s.Namespace, t.Messages, found); err != nil {
			return nil, err
		}
		problems = append(problems, topic.problems()...)
		kept = append(kept, *topic)
	}
	plan.Topics = kept
	if len(problems) > 0 {
		return plan, fmt.Errorf("%w: %s", ErrRefused, strings.Join(problems, "; "))
	}
	return plan, nil
}

// compare decides what is to be done about a topic by what Redis has of it.
func (t *Topic) compare(ctx context.Context, namespace string, messages *redisstream.Shard, found *metadata.Remains) error {
	if have := found.Topics[t.Name]; have != nil {
		t.Action = Keep
		if have.ID != t.ID {
			t.Action, t.Why = Refuse, "Redis has a topic of this name with id "+have.ID.String()
		}
	}
	for _, other := range found.Tables {
		if other.TopicID == t.ID && other.Location != t.Table.Location {
			t.Action, t.Why = Refuse, "Redis has its table at "+other.Location
		}
	}
	for i := range t.Logs {
		if err := t.Logs[i].compare(ctx, redisstream.NewKeys(namespace, t.Name, t.Logs[i].Partition), hexID(t.ID), messages); err != nil {
			return err
		}
	}
	return nil
}

func (l *Log) compare(ctx context.Context, keys redisstream.Keys, topicID string, messages *redisstream.Shard) error {
	v, err := messages.Look(ctx, keys)
	if err != nil {
		return err
	}
	end := redisstream.EndOffset(v.LastSeq)
	switch {
	case v.TopicID == topicID:
		l.Action, l.Why = Keep, l.rewound(&v, end)
	case v.TopicID != "":
		l.Action, l.Why = Refuse, "Redis has the partition of topic id "+v.TopicID
	case v.Exists || v.LogStart > 0 || len(v.Segments) > 0 || len(v.Epochs) > 0:
		l.Action, l.Why = Refuse, "Redis has keys of the partition: "+keys.Stream
	}
	return nil
}

// rewound says what becomes of a log in Redis that is not the table's up to where that ends.
func (l *Log) rewound(v *redisstream.View, end int64) string {
	table := redisstream.Remote{End: l.End, Epochs: l.epochs}
	fork := epoch.Fork(v.Epochs, end, l.epochs, l.End)
	switch {
	case table.Extends(v.Epochs, end):
		return fmt.Sprintf("its log in Redis ends at %d, below the table's end %d: the broker that leads it next goes on behind the table", end, l.End)
	case fork < l.End:
		return fmt.Sprintf("its log in Redis is another one than the table's from offset %d on: the storage worker takes what the table has from there to %d out of it", fork, l.End)
	}
	return ""
}

// problems are what stands in the way of the topic.
func (t *Topic) problems() []string {
	var list []string
	if t.Action == Refuse {
		list = append(list, fmt.Sprintf("topic %s: %s", t.Name, t.Why))
	}
	for _, l := range t.Logs {
		if l.Action == Refuse {
			list = append(list, fmt.Sprintf("topic %s, partition %d: %s", t.Name, l.Partition, l.Why))
		}
	}
	return list
}

// Apply carries a plan out.
func (p *Plan) Apply(ctx context.Context, namespace string, t Target) error {
	for _, step := range p.steps(namespace, t) {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// steps are what a plan does, each one change of Redis. Brokers do not start before all have been taken, and they may be ended
// and repeated anywhere: partitions come before the topics whose they are, so that no topic is there whose log would begin anew.
func (p *Plan) steps(namespace string, t Target) []func(context.Context) error {
	list := []func(context.Context) error{
		func(ctx context.Context) (err error) {
			p.Cluster, err = t.Metadata.Begin(ctx)
			return err
		},
		func(ctx context.Context) error {
			if t.Claim == nil {
				return nil
			}
			return t.Claim(ctx, p.Cluster)
		},
		func(ctx context.Context) error {
			return t.Messages.RestoreLease(ctx, namespace+":storage:worker", p.fence())
		},
	}
	for i := range p.Topics {
		list = append(list, p.Topics[i].steps(namespace, t)...)
	}
	return append(list, t.Metadata.End)
}

// fence is the highest number of a worker's lease that any table has seen.
func (p *Plan) fence() int64 {
	highest := int64(0)
	for i := range p.Topics {
		highest = max(highest, p.Topics[i].Fence)
	}
	return highest
}

func (t *Topic) steps(namespace string, to Target) []func(context.Context) error {
	var list []func(context.Context) error
	for _, l := range t.Logs {
		r := redisstream.Restored{
			TopicID: hexID(t.ID), Start: l.Start, End: l.End, LastMs: l.lastMs, Fence: t.Fence, Epoch: max(epochAt(t.UpdatedMs), l.epochs.Newest()), Epochs: l.epochs,
		}
		list = append(list, func(ctx context.Context) error {
			_, err := to.Messages.Restore(ctx, redisstream.NewKeys(namespace, t.Name, l.Partition), r)
			return err
		})
	}
	table := func(ctx context.Context) error {
		_, err := to.Metadata.Table(ctx, t.Table)
		return err
	}
	topic := func(ctx context.Context) error {
		_, err := to.Metadata.Topic(ctx, &metadata.Topic{
			Name: t.Name, ID: t.ID, Partitions: t.Partitions, Configs: t.Configs, Version: 1, CreatedMs: metadata.CreatedMs(t.ID),
		})
		return err
	}
	return append(list, table, topic)
}

// epochAt is the leader epoch of a takeover at a time: seconds since 2024, as fences count. The table was changed while some
// epoch was the newest, and each epoch is at least its own time's: so a restored partition's is above unless there were more
// takeovers than seconds since.
func epochAt(ms int64) int32 {
	began := time.Date(2024, time.January, 1, 0, 0, 0, 0, time.UTC).Unix()
	return int32(min(max(ms/1000-began, 0), 1<<31-2))
}

// hexID is a topic's id as partitions have it.
func hexID(id uuid.UUID) string { return strings.ReplaceAll(id.String(), "-", "") }

// Lost tells, of a Redis whose namespace is empty, which topic's table is there all the same; "": there is none. Tables that are
// being deleted do not count, damaged ones do.
func Lost(ctx context.Context, s Source) (topic string, err error) {
	err = remote.Discover(ctx, s.Settings, s.Store, func(f *remote.Found) error {
		switch {
		case errors.Is(f.Err, chain.ErrCorrupt):
			topic = f.Name
		case f.Err != nil:
			return f.Err
		case f.About.Deleting:
			return nil
		default:
			topic = f.Topic
		}
		return errFound
	})
	if errors.Is(err, errFound) {
		err = nil
	}
	return topic, err
}

// errFound ends a search.
var errFound = errors.New("found")

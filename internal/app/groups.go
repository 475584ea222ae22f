package app

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/korvet-io/korvet/internal/coordinator"
	"github.com/korvet-io/korvet/internal/group"
	"github.com/korvet-io/korvet/internal/metadata"
	"github.com/korvet-io/korvet/internal/metrics"
	"github.com/korvet-io/korvet/internal/partition"
)

// loadParallel is how many groups are read from Redis at a time when the broker starts.
const loadParallel = 64

func (b *Broker) coordinatorSettings() coordinator.Settings {
	c := &b.cfg.Groups
	return coordinator.Settings{
		Group: group.Settings{
			MinSession:         c.MinSession,
			MaxSession:         c.MaxSession,
			InitialDelay:       c.RebalanceDelay,
			MaxSize:            c.MaxSize,
			ConsumerSession:    c.ConsumerSession,
			ConsumerHeartbeat:  c.ConsumerHeartbeat,
			AssignmentInterval: c.AssignmentInterval,
			ConsumerMaxSize:    c.ConsumerMaxSize,
			Assignors:          strings.Split(strings.ReplaceAll(c.Assignors, " ", ""), ","),
			Migration:          group.Migration(c.Migration),
			NewID:              func() string { return uuid.Must(uuid.NewRandomFromReader(rand.Reader)).String() },
		},
		Retention:     time.Duration(c.OffsetsRetentionMinutes) * time.Minute,
		CheckInterval: c.OffsetsCheckInterval,
		CommitTimeout: c.OffsetsCommitTimeout,
		MirrorEvery:   c.NativeInterval,
		LoadParallel:  loadParallel,
	}
}

// openGroups opens the coordinator of groups. It asks Redis nothing yet.
func (b *Broker) openGroups(p *parts) {
	self := p.store.Self()
	log := b.log.With(componentKey, "coordinator")
	store := coordinator.NewRedisStore(p.redis, b.cfg.Namespace, fmt.Sprintf("%d/%s", self.ID, self.BootID), b.cfg.Redis.Timeout)
	store.Log = log
	p.groups = coordinator.New(b.coordinatorSettings(), coordinator.Dependencies{
		Store:    store,
		Cluster:  &groupCluster{store: p.store},
		Own:      ownGroupSettings(p.store),
		Mirror:   nativeGroups{p.logs},
		Observer: groupObserver{b.metrics, p.refusals},
		Log:      log,
		Now:      time.Now,
	})
}

// groupCluster shows a coordinator the brokers and topics.
type groupCluster struct {
	store  *metadata.Store
	images coordinator.Images
}

func (g *groupCluster) Coordinator(name string) (int32, bool) {
	return metadata.GroupCoordinator(g.store.Nodes(), name)
}

func (g *groupCluster) Self() int32 { return g.store.Self().ID }

func (g *groupCluster) Brokers() []int32 {
	nodes := g.store.Nodes()
	ids := make([]int32, len(nodes))
	for i := range nodes {
		ids[i] = nodes[i].ID
	}
	return ids
}

func (g *groupCluster) Image() group.Image { return g.images.Of(g.store.All()) }

// groupObserver tells metrics what the coordinator does.
type groupObserver struct {
	*metrics.Metrics
	refusals *refusals
}

func (o groupObserver) Stored(err error) { o.refusals.note(err) }

// boundsWait is how long a scrape waits for the log ends of partitions that this broker has not used yet.
const boundsWait = time.Second

// knownGroups lists the groups with their lag, for metrics.
func (b *Broker) knownGroups() []metrics.Group {
	p := b.current()
	if p == nil || p.groups == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), boundsWait)
	defer cancel()
	ends := p.logEnds(ctx)
	var list []metrics.Group
	p.groups.Known(func(name string, state group.State, members int, offsets []coordinator.Offset) {
		g := metrics.Group{Name: name, State: string(state), Members: members}
		for _, o := range offsets {
			g.Offsets = append(g.Offsets, metrics.GroupOffset{Topic: o.Topic, Partition: o.Partition, Offset: o.Offset, LogEnd: ends(o)})
		}
		list = append(list, g)
	})
	return list
}

// logEnds returns a function that tells the log end offset of the partition of a committed offset, or -1.
func (p *parts) logEnds(ctx context.Context) func(coordinator.Offset) int64 {
	known := map[partition.Ref]int64{}
	p.logs.Known(func(ref partition.Ref, ends partition.Bounds) { known[ref] = ends.LogEnd })
	return func(o coordinator.Offset) int64 {
		ref := refOf(o)
		if end, ok := known[ref]; ok {
			return end
		}
		known[ref] = -1
		if bounds, err := p.logs.Bounds(ctx, ref); err == nil {
			known[ref] = bounds.LogEnd
		}
		return known[ref]
	}
}

// nativeGroups shows commits in the partitions' streams.
type nativeGroups struct{ logs *partition.Manager }

func (n nativeGroups) Show(ctx context.Context, name string, o coordinator.Offset) error {
	return n.logs.Mirror(ctx, refOf(o), name, o.Offset)
}

func (n nativeGroups) Hide(ctx context.Context, name string, o coordinator.Offset) error {
	return n.logs.Unmirror(ctx, refOf(o), name)
}

func refOf(o coordinator.Offset) partition.Ref {
	return partition.Ref{Topic: o.Topic, ID: o.TopicID, Partition: o.Partition}
}

package members

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/korvet-io/korvet/test/faults/checker"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// member reads and commits what it read.
type member struct {
	group   *Group
	name    string
	client  *kgo.Client
	settled atomic.Bool
	acked   atomic.Int64 // commits, each of all its partitions

	mu   sync.Mutex
	mine map[int32]bool
}

func (g *Group) join(name string) (*member, error) {
	m := &member{group: g, name: name, mine: map[int32]bool{}}
	opts := append(patient(g.cfg.Brokers), kgo.ClientID(g.cfg.Group+"-"+name),
		kgo.ConsumerGroup(g.cfg.Group), kgo.ConsumeTopics(g.cfg.Topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.DisableAutoCommit(),
		kgo.HeartbeatInterval(500*time.Millisecond), // so often that there is one between most faults
		kgo.RequestRetries(1000),                    // until the session is over
		kgo.OnPartitionsAssigned(m.told("got", true)), kgo.OnPartitionsRevoked(m.told("gave back", false)), kgo.OnPartitionsLost(m.told("lost", false)))
	if g.cfg.Log != nil {
		opts = append(opts, kgo.WithLogger(kgo.BasicLogger(g.cfg.Log, kgo.LogLevelInfo, func() string { return time.Now().Format(time.RFC3339Nano) + " " + name + " " })))
	}
	if g.cfg.Consumer {
		opts = append(opts, kgo.ServerSideBalancer())
	}
	var err error
	if m.client, err = kgo.NewClient(opts...); err != nil {
		return nil, fmt.Errorf("create %s of group %s: %w", name, g.cfg.Group, err)
	}
	return m, nil
}

// told returns a function that notes partitions that the member was given or that were taken from it.
func (m *member) told(what string, given bool) func(context.Context, *kgo.Client, map[string][]int32) {
	return func(_ context.Context, _ *kgo.Client, topics map[string][]int32) {
		for topic, partitions := range topics {
			m.mu.Lock()
			for _, p := range partitions {
				if given {
					m.mine[p] = true
				} else {
					delete(m.mine, p)
				}
			}
			m.mu.Unlock()
			if m.settled.Load() && len(partitions) > 0 {
				m.group.note(fmt.Sprintf("%s %s %s %v", m.name, what, topic, partitions))
			}
		}
	}
}

func (g *Group) note(text string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.run.Assigned = append(g.run.Assigned, text)
}

func (m *member) partitions() []int32 {
	m.mu.Lock()
	defer m.mu.Unlock()
	var partitions []int32
	for p := range m.mine {
		partitions = append(partitions, p)
	}
	return partitions
}

func (m *member) membership() checker.Membership {
	id, generation := m.client.GroupMetadata()
	return checker.Membership{Who: m.name, MemberID: id, Generation: generation}
}

// work reads, and commits after each reading, until ctx ends.
func (m *member) work(ctx context.Context) {
	at := map[int32]kgo.EpochOffset{}
	for ctx.Err() == nil {
		m.client.PollFetches(ctx).EachRecord(func(r *kgo.Record) {
			at[r.Partition] = kgo.EpochOffset{Epoch: r.LeaderEpoch, Offset: r.Offset + 1}
		})
		mine := m.partitions()
		maps.DeleteFunc(at, func(p int32, _ kgo.EpochOffset) bool { return !slices.Contains(mine, p) })
		if len(at) > 0 {
			m.commit(ctx, at)
		}
	}
}

// commit commits the offsets and notes the outcome. The client tries again for itself where that can help.
func (m *member) commit(ctx context.Context, at map[int32]kgo.EpochOffset) {
	m.group.committing.RLock()
	defer m.group.committing.RUnlock()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(m.group.loud, cancel)()
	sent := m.group.tick()
	m.client.CommitOffsetsSync(ctx, map[string]map[int32]kgo.EpochOffset{m.group.cfg.Topic: at}, func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, resp *kmsg.OffsetCommitResponse, err error) {
		heard := m.group.tick()
		acked := map[int32]bool{}
		if err == nil {
			for _, t := range resp.Topics {
				for _, p := range t.Partitions {
					acked[p.Partition] = p.ErrorCode == 0
				}
			}
		}
		m.group.committed(m.membership(), at, sent, heard, acked)
		if len(acked) == len(at) {
			m.acked.Add(1)
		}
	})
}

func (g *Group) committed(by checker.Membership, at map[int32]kgo.EpochOffset, sent, heard int64, acked map[int32]bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.run.Known = append(g.run.Known, by)
	for p, o := range at {
		c := checker.Commit{Who: by.Who, Partition: p, Offset: o.Offset, Sent: sent}
		if acked[p] {
			c.Outcome, c.Heard = checker.Acked, heard
		}
		g.run.Commits = append(g.run.Commits, c)
	}
}

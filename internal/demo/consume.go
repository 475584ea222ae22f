package demo

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Group is who reads the events back.
const Group = "demo-consumers"

const (
	members     = 2
	instances   = "demo-consumer-" // with the member's number, from 1 on
	commitEvery = 500 * time.Millisecond
	// A member that was killed keeps its partitions for so long; a demo started meanwhile takes them over, for its members
	// have the same instance ids.
	session    = 10 * time.Second
	leaveLimit = 5 * time.Second // for the last commit and the leaving
)

// reading counts what the members of a group read. It is safe for concurrent use.
type reading struct {
	mu   sync.Mutex
	from [Partitions]int64 // where this run's own records begin
	next [Partitions]int64 // read to here
	all  int64             // records, those of earlier runs and any read twice included
}

// add notes records and returns how many of this run's own, or later ones, have been read.
func (r *reading) add(fetches kgo.Fetches) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	fetches.EachRecord(func(record *kgo.Record) {
		r.all++
		if p := int(record.Partition); p < Partitions {
			r.next[p] = max(r.next[p], record.Offset+1)
		}
	})
	own := int64(0)
	for p, next := range r.next {
		own += max(0, next-r.from[p])
	}
	return own
}

func (r *reading) total() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all
}

// openMembers makes the group's members. They go on from what is committed, or begin with the log's first record.
func (r *run) openMembers() error {
	for i := range members {
		name := instances + strconv.Itoa(i+1)
		client, err := kgo.NewClient(kgo.SeedBrokers(r.opt.Places.Kafka), kgo.ClientID(name), kgo.InstanceID(name),
			kgo.ConsumerGroup(Group), kgo.ConsumeTopics(Topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
			kgo.AutoCommitInterval(commitEvery), kgo.SessionTimeout(session), kgo.HeartbeatInterval(session/5))
		if err != nil {
			return fmt.Errorf("open member %s: %w", name, err)
		}
		r.members = append(r.members, client)
	}
	return nil
}

// consume counts what comes back to one member.
func (r *run) consume(ctx context.Context, member *kgo.Client) {
	for ctx.Err() == nil {
		fetches := member.PollFetches(ctx)
		fetches.EachError(func(_ string, _ int32, err error) {
			if ctx.Err() == nil {
				r.problem(err)
			}
		})
		if own := r.read.add(fetches); r.opt.Records > 0 && own >= r.opt.Records {
			r.enough.Do(func() {
				go func() { // the answer to the producer may still be on its way
					select {
					case <-r.allAcked:
						close(r.allRead)
					case <-ctx.Done():
					}
				}()
			})
		}
	}
}

// leave commits what was read and takes the members out of the group: they are static, so that they do not leave by
// themselves. It is no matter if some of that fails: sessions end, and the next run reads a few records again.
func (r *run) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), leaveLimit)
	defer cancel()
	leaving := kadm.LeaveGroup(Group).Reason("the demo ends")
	for i, member := range r.members {
		_ = member.CommitUncommittedOffsets(ctx)
		member.Close()
		leaving.InstanceIDs(instances + strconv.Itoa(i+1))
	}
	_, _ = r.admin.LeaveGroup(ctx, leaving)
}

// group fills in what the group has committed and which member reads what; where it cannot be had, the values of the
// sample before stay.
func (r *run) group(ctx context.Context, s *Sample) {
	committed, err := r.admin.FetchOffsets(ctx, Group)
	if err == nil {
		for i := range s.Partitions {
			if o, ok := committed.Lookup(Topic, int32(i)); ok && o.Err == nil {
				s.Partitions[i].Committed = max(0, o.At)
			}
		}
	}
	described, err := r.admin.DescribeGroups(ctx, Group)
	if err != nil || described[Group].Err != nil {
		return
	}
	s.GroupState = described[Group].State
	for i := range s.Partitions {
		s.Partitions[i].Reader = 0
	}
	for _, m := range described[Group].Members {
		number, err := strconv.Atoi(strings.TrimPrefix(m.ClientID, instances))
		assigned, ok := m.Assigned.AsConsumer()
		if err != nil || !ok {
			continue
		}
		for _, t := range assigned.Topics {
			for _, p := range t.Partitions {
				if t.Topic == Topic && int(p) < len(s.Partitions) {
					s.Partitions[p].Reader = number
				}
			}
		}
	}
}

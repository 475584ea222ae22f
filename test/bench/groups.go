package main

import (
	"context"
	"fmt"
	"time"

	"github.com/korvet-io/korvet/test/bench/groups"
	"github.com/korvet-io/korvet/test/bench/proc"
	"github.com/korvet-io/korvet/test/bench/system"
)

const (
	// heartbeatEvery is how often an idle member says that it lives: the default of clients.
	heartbeatEvery = 3 * time.Second
	// committedPartitions are enough for the groups that commit not to be shown in the same ones all, in Redis.
	committedPartitions = 100
)

// groupScenarios are those of the measures of groups.
func (r *runner) groupScenarios() []scenario {
	all := []scenario{{Members: r.GroupMembers}, {Groups: r.IdleGroups}}
	for _, n := range r.Groups {
		for _, partitions := range r.CommitPartitions {
			all = append(all, scenario{Groups: n, Partitions: partitions})
		}
	}
	return all
}

// runGroups measures what groups of consumers cost.
func (r *runner) runGroups(ctx context.Context) error {
	for round := -r.Warmup; round < r.Rounds; round++ {
		for _, measure := range []struct {
			name string
			do   func(*measurement, context.Context) error
		}{{"idle", (*measurement).idle}, {"joins", (*measurement).joins}, {"commits", (*measurement).commits}} {
			if !r.wanted[measure.name] {
				continue
			}
			for _, s := range rotated(r.systems, round+r.Warmup) {
				if err := r.visitGroups(ctx, s, round >= 0, measure.do); err != nil {
					return fmt.Errorf("round %d, %s, %s: %w", round, s.Name(), measure.name, err)
				}
			}
		}
	}
	return nil
}

func (r *runner) visitGroups(ctx context.Context, s system.System, counted bool, do func(*measurement, context.Context) error) (err error) {
	if err := s.Open(ctx); err != nil {
		return err
	}
	defer func() {
		if closeErr := s.Close(); err == nil {
			err = closeErr
		}
	}()
	return do(&measurement{runner: r, system: s, name: s.Name(), processes: s.Processes, counted: counted}, ctx)
}

// withGroupTopic calls do with a new topic and deletes it afterwards.
func (m *measurement) withGroupTopic(ctx context.Context, partitions int, do func(topic groups.Topic) error) error {
	shape := m.shape
	defer func() { m.shape = shape }()
	m.shape.Partitions = partitions
	return m.withTopic(ctx, func(name string) error {
		m.shape = shape
		return do(groups.Topic{Name: name, Partitions: int32(partitions)})
	})
}

// joins has many members come into one group at once, under each protocol.
func (m *measurement) joins(ctx context.Context) error {
	m.shape = scenario{Members: m.GroupMembers}
	return m.withGroupTopic(ctx, m.GroupMembers, func(topic groups.Topic) error {
		for _, protocol := range []struct {
			name string
			join func(context.Context, string, string, groups.Topic, int) (groups.Joined, error)
		}{{"classic", groups.JoinAtOnce}, {"consumer", groups.ConsumersAtOnce}} {
			name := "joins." + protocol.name
			var joined groups.Joined
			err := m.observeGroups(ctx, "joins", name, func() (err error) {
				joined, err = protocol.join(ctx, m.system.Address(), topic.Name+"-"+protocol.name, topic, m.GroupMembers)
				return err
			})
			if err != nil {
				return err
			}
			m.add(name+".time", joined.Took.Seconds())
			m.add(name+".generations", float64(joined.Generations))
			m.add(name+".heartbeats", float64(joined.Heartbeats))
		}
		return nil
	})
}

// idle measures a broker without groups, then the same with many that do nothing at all, then with all that do nothing but
// heartbeat, and then its restart.
func (m *measurement) idle(ctx context.Context) error {
	m.shape = scenario{Groups: m.IdleGroups}
	err := m.observeGroups(ctx, "", "idle.none", func() error { return wait(ctx, m.GroupsFor) })
	if err != nil {
		return err
	}
	return m.withGroupTopic(ctx, 1, func(topic groups.Topic) error {
		fleet, err := groups.Gather(ctx, m.system.Address(), topic.Name+"-", topic, m.IdleGroups)
		if err != nil {
			return err
		}
		defer fleet.Close()
		if err := wait(ctx, 2*time.Second); err != nil { // what gathering left to do is not what idle groups cost
			return err
		}
		err = m.observeGroups(ctx, "", "idle.silent", func() error { return wait(ctx, m.GroupsFor) })
		if err != nil {
			return err
		}
		var load groups.Load
		err = m.observeGroups(ctx, "idle", "idle.groups", func() (err error) {
			load, err = fleet.Heartbeat(ctx, heartbeatEvery, m.GroupsFor)
			return err
		})
		if err != nil {
			return err
		}
		m.addLoad("idle.groups", load)
		resident, err := proc.Resident(m.processes()["broker"])
		if err != nil {
			return err
		}
		m.add("idle.groups.resident", float64(resident))
		return m.restartWith(ctx, fleet)
	})
}

// restartWith takes the time from the broker's start until it lists the groups.
func (m *measurement) restartWith(ctx context.Context, fleet *groups.Fleet) error {
	fleet.Close()
	var began time.Time
	listed := make(chan error, 1)
	err := m.system.Restart(ctx, func() {
		began = time.Now()
		go func() {
			err := groups.AwaitList(ctx, m.system.Address(), m.IdleGroups)
			m.add("idle.list", time.Since(began).Seconds())
			listed <- err
		}()
	})
	if err != nil {
		return err
	}
	if err := <-listed; err != nil {
		return err
	}
	return fleet.Leave(ctx, m.system.Address())
}

// commits has many groups commit, first at a rate, then as fast as they can.
func (m *measurement) commits(ctx context.Context) error {
	return m.withGroupTopic(ctx, committedPartitions, func(topic groups.Topic) error {
		if err := groups.Fill(ctx, m.system.Address(), topic); err != nil {
			return err
		}
		for _, n := range m.Groups {
			fleet, err := groups.Gather(ctx, m.system.Address(), fmt.Sprintf("%s-%d-", topic.Name, n), topic, n)
			if err != nil {
				return err
			}
			for _, partitions := range m.CommitPartitions {
				m.shape = scenario{Groups: n, Partitions: partitions}
				if err := m.commit(ctx, fleet); err != nil {
					fleet.Close()
					return err
				}
			}
			fleet.Close()
			if err := fleet.Leave(ctx, m.system.Address()); err != nil {
				return err
			}
		}
		return nil
	})
}

func (m *measurement) commit(ctx context.Context, fleet *groups.Fleet) error {
	for _, kind := range []struct {
		name string
		rate float64
	}{{"paced", float64(m.CommitRate)}, {"flatout", 0}} {
		name := "commits." + kind.name
		var load groups.Load
		before := m.allocations(ctx)
		err := m.observeGroups(ctx, "commits", name, func() (err error) {
			load, err = fleet.Commit(ctx, m.shape.Partitions, kind.rate, m.GroupsFor)
			return err
		})
		if err != nil {
			return err
		}
		m.addLoad(name, load)
		if after := m.allocations(ctx); after > before {
			m.add(name+".allocs", (after-before)/(load.PerSecond*m.GroupsFor.Seconds()))
		}
		if err := wait(ctx, 2*time.Second); err != nil { // the native groups of Redis are behind
			return err
		}
	}
	return nil
}

func (m *measurement) addLoad(name string, load groups.Load) {
	m.add(name+".rate", load.PerSecond)
	m.add(name+".p50", load.Latency.P50)
	m.add(name+".p99", load.Latency.P99)
	m.add(name+".p99.9", load.Latency.P999)
}

// observeGroups runs a load from this process and records which part of a core each process used, and how many commands
// Redis ran a second.
func (m *measurement) observeGroups(ctx context.Context, measure, name string, do func() error) error {
	m.progress("%-7s %-8s %s", m.name, name, m.shape)
	commands, err := m.redisCommands(ctx)
	if err != nil {
		return err
	}
	before, err := ownCPU()
	if err != nil {
		return err
	}
	cost, err := watch(m.processes())
	if err != nil {
		return err
	}
	profiled := m.startProfile(ctx, measure, name)
	began := time.Now()
	err = do()
	took := time.Since(began).Seconds()
	if profileErr := profiled(); err == nil {
		err = profileErr
	}
	if err != nil {
		cost.forget()
		return err
	}
	err = cost.stop(func(part string, cpu float64, _ int64) { m.add(name+".cpu."+part, cpu/took) })
	if err != nil {
		return err
	}
	after, err := ownCPU()
	if err != nil {
		return err
	}
	m.add(name+".cpu.client", (after-before)/took)
	return m.addCommands(ctx, name, commands, took)
}

// wait lets time pass.
func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

package clients_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Rows of groups. Each is tried with the classic protocol and, where the client has it, with the consumer protocol.
const (
	rowJoin        = "rebalance by join"
	rowLeave       = "rebalance by leave"
	rowCrash       = "rebalance by crash"
	rowCooperative = "cooperative rebalance"
	rowStatic      = "static member"
	rowResume      = "commit and resume"
	rowPause       = "pause and resume"

	consumerProtocol = "consumer protocol: "
)

const (
	groupPartitions = 6
	// shortSession is the smallest session timeout that brokers allow by default.
	shortSession = 6 * time.Second
	// longSession leaves a static member time to come back.
	longSession = 2 * time.Minute
	// groupTimeout bounds a scenario. Reaching it is a failure.
	groupTimeout = 5 * time.Minute
	// scenariosAtOnce bounds how many scenarios run at the same time. They wait for timeouts more than they work.
	scenariosAtOnce = 12
)

// scenario is something that members of one group do, and the rows that it fills.
type scenario struct {
	name string
	rows []string
	run  func(context.Context, *testing.T, *groupRun) error
}

func scenarios() []scenario {
	return []scenario{
		{"members come and go", []string{rowJoin, rowLeave, rowCrash}, comeAndGo},
		{rowCooperative, []string{rowCooperative}, cooperate},
		{rowStatic, []string{rowStatic}, comeBack},
		{rowResume, []string{rowResume}, commitAndResume},
		{rowPause, []string{rowPause}, pauseAndResume},
	}
}

// groupRows are all rows of groups in the order of the table.
func groupRows() []string {
	var rows []string
	for _, prefix := range []string{"", consumerProtocol} {
		for _, sc := range scenarios() {
			if prefix != "" && sc.name == rowCooperative {
				continue // the consumer protocol is nothing else
			}
			for _, row := range sc.rows {
				rows = append(rows, prefix+row)
			}
		}
	}
	return rows
}

// groupRun is one client in one scenario.
type groupRun struct {
	suite  *suite
	client *client
	// prefix is consumerProtocol or empty.
	prefix string
	feed   *feed
	crowd  *crowd
	group  string
}

// groups runs all scenarios of all clients, many at once. t.Parallel would bind them to the number of cores.
func (s *suite) groups(t *testing.T) {
	slots := make(chan struct{}, scenariosAtOnce)
	var wg sync.WaitGroup
	for _, prefix := range []string{consumerProtocol, ""} { // what takes longest begins first
		for _, sc := range scenarios() {
			if prefix != "" && sc.name == rowCooperative {
				continue
			}
			for _, c := range s.clients {
				slots <- struct{}{}
				wg.Go(func() {
					defer func() { <-slots }()
					t.Run(prefix+sc.name+"/"+c.name, func(t *testing.T) { s.runScenario(t, sc, c, prefix) })
				})
			}
		}
	}
	wg.Wait()
}

// runScenario fills the scenario's rows for one client.
func (s *suite) runScenario(t *testing.T, sc scenario, c *client, prefix string) {
	tried := false
	for _, row := range sc.rows {
		why := c.lacks[prefix+row]
		if prefix != "" && c.lacksConsumerProtocol != "" {
			why = c.lacksConsumerProtocol
		}
		if why != "" {
			s.table.set(prefix+row, c.name, unsupported(why))
			continue
		}
		tried = true
	}
	if !tried {
		return
	}
	ctx, cancel := context.WithTimeout(t.Context(), groupTimeout)
	defer cancel()
	name := strings.NewReplacer(" ", "-", ":", "").Replace(strings.ToLower(prefix + sc.name + "-" + c.name))
	f, err := s.newFeed(ctx, fmt.Sprintf("clients-%d-%s", s.started.UnixMilli(), name), groupPartitions)
	if err == nil {
		r := &groupRun{suite: s, client: c, prefix: prefix, feed: f, crowd: newCrowd(t, f), group: f.topic}
		err = sc.run(ctx, t, r)
	}
	for _, row := range sc.rows {
		// A scenario of several rows sets those that it has reached.
		if err != nil && !s.table.has(prefix+row, c.name) || err == nil {
			s.table.set(prefix+row, c.name, result(err))
		}
	}
	if err != nil {
		t.Error(err)
	}
}

// start starts a member of the run's group.
func (r *groupRun) start(name string, change func(*memberOptions)) (*member, error) {
	o := memberOptions{group: r.group, topic: r.feed.topic, session: shortSession, consumerProtocol: r.prefix != ""}
	if change != nil {
		change(&o)
	}
	return r.crowd.startMember(name, r.client.member, o)
}

// step runs a part of a scenario and fills its row.
func (r *groupRun) step(row string, err error) error {
	r.suite.table.set(r.prefix+row, r.client.name, result(err))
	if err != nil {
		return fmt.Errorf("%s: %w", row, err)
	}
	return nil
}

// startSettled starts members one after the other and waits until the group is settled with each.
func (r *groupRun) startSettled(ctx context.Context, change func(name string, o *memberOptions), names ...string) ([]*member, error) {
	var members []*member
	for _, name := range names {
		m, err := r.start(name, func(o *memberOptions) {
			if change != nil {
				change(name, o)
			}
		})
		if err != nil {
			return nil, err
		}
		if err := r.crowd.settle(ctx); err != nil {
			return nil, fmt.Errorf("with %s: %w", name, err)
		}
		members = append(members, m)
	}
	return members, nil
}

// comeAndGo: three members join, one leaves, one is killed, and no record is lost.
func comeAndGo(ctx context.Context, t *testing.T, r *groupRun) error {
	r.feed.run(t)
	members, err := r.startSettled(ctx, nil, "a", "b", "c")
	if err := r.step(rowJoin, err); err != nil {
		return err
	}
	err = members[2].close(ctx)
	if err == nil {
		err = r.crowd.settle(ctx)
	}
	if err := r.step(rowLeave, err); err != nil {
		return err
	}
	members[1].kill9()
	err = r.crowd.settle(ctx)
	return r.step(rowCrash, errors.Join(err, r.crowd.checkNothingLost()))
}

// cooperate: who has partitions loses only those that go to the newcomer, and reads the others without a break.
func cooperate(ctx context.Context, t *testing.T, r *groupRun) error {
	r.feed.run(t)
	members, err := r.startSettled(ctx, func(_ string, o *memberOptions) { o.cooperative = true }, "a", "b")
	if err != nil {
		return err
	}
	var revoked []int32
	for _, change := range r.crowd.changesOf(members[0]) {
		if change.revoked {
			revoked = append(revoked, change.partitions...)
		}
	}
	if len(revoked) != groupPartitions/2 {
		return fmt.Errorf("the first member lost partitions %v when the second joined, want %d partitions", revoked, groupPartitions/2)
	}
	for at, n := range r.crowd.reads() {
		if n > 1 && !slices.Contains(revoked, at.partition) {
			return fmt.Errorf("record %d of partition %d, which stayed where it was, was read %d times", at.offset, at.partition, n)
		}
	}
	return r.crowd.checkNothingLost()
}

// comeBack: a static member that is gone for less than its session finds its partitions again, and the other is not disturbed.
func comeBack(ctx context.Context, t *testing.T, r *groupRun) error {
	r.feed.run(t)
	static := func(name string, o *memberOptions) { o.instance, o.session = "instance-"+name, longSession }
	members, err := r.startSettled(ctx, static, "a", "b")
	if err != nil {
		return err
	}
	before, err := r.crowd.ownership()
	if err != nil {
		return err
	}
	told := len(r.crowd.changesOf(members[0]))
	if r.prefix == "" {
		members[1].kill9()
	} else if err := members[1].close(ctx); err != nil { // the consumer protocol lets nobody in who has not seen the other go
		return err
	}
	if _, err := r.startSettled(ctx, static, "b"); err != nil {
		return err
	}
	after, err := r.crowd.ownership()
	if err != nil {
		return err
	}
	if !maps.Equal(before, after) {
		return fmt.Errorf("partitions were read by %v, and by %v when b was back", before, after)
	}
	if changes := r.crowd.changesOf(members[0])[told:]; len(changes) > 0 {
		return fmt.Errorf("the member that stayed saw %v", changes)
	}
	return r.crowd.checkNothingLost()
}

// commitAndResume: a member commits in the middle and leaves; the next one goes on exactly there.
func commitAndResume(ctx context.Context, _ *testing.T, r *groupRun) error {
	const ticks, first = 20, 50
	for range ticks {
		if err := r.feed.tick(ctx); err != nil {
			return err
		}
	}
	for i, n := range []int{first, ticks*groupPartitions - first} {
		m, err := r.start(fmt.Sprintf("%c", 'a'+i), func(o *memberOptions) { o.max = n })
		if err != nil {
			return err
		}
		if err := m.awaitEnd(ctx); err != nil {
			return err
		}
		if len(m.read) != n {
			return fmt.Errorf("member %s was to read %d records and has read %d", m.name, n, len(m.read))
		}
		if err := r.checkCommitted(ctx, m.highest); err != nil {
			return fmt.Errorf("after member %s: %w", m.name, err)
		}
	}
	reads := r.crowd.reads()
	for at, n := range reads {
		if n != 1 {
			return fmt.Errorf("record %d of partition %d was read %d times", at.offset, at.partition, n)
		}
	}
	if len(reads) != ticks*groupPartitions {
		return fmt.Errorf("%d records were read, want %d", len(reads), ticks*groupPartitions)
	}
	return nil
}

// checkCommitted compares the group's offsets with the highest records that were read.
func (r *groupRun) checkCommitted(ctx context.Context, highest map[int32]int64) error {
	committed, err := r.suite.admin.FetchOffsets(ctx, r.group)
	if err != nil {
		return fmt.Errorf("fetch offsets: %w", err)
	}
	for p, h := range highest {
		at, _ := committed.Lookup(r.feed.topic, p)
		if at.Err != nil || at.At != h+1 {
			return fmt.Errorf("committed offset of partition %d is %d (%w), the last record read has %d", p, at.At, at.Err, h)
		}
	}
	described, err := r.suite.admin.ListGroups(ctx)
	if err != nil {
		return fmt.Errorf("list groups: %w", err)
	}
	if g, found := described[r.group]; !found || g.State != "Empty" {
		return fmt.Errorf("group is listed as %+v (%t), want it empty", g, found)
	}
	return nil
}

// pauseAndResume: a member that pauses a partition reads the others, and all of it once it resumes.
func pauseAndResume(ctx context.Context, t *testing.T, r *groupRun) error {
	r.feed.run(t)
	members, err := r.startSettled(ctx, nil, "a")
	if err != nil {
		return err
	}
	m := members[0]
	if err := m.do(ctx, "pause", "paused", 0); err != nil {
		return err
	}
	if err := r.awaitSilence(ctx, m, 0); err != nil {
		return err
	}
	if err := m.do(ctx, "resume", "resumed", 0); err != nil {
		return err
	}
	if err := r.crowd.settle(ctx); err != nil {
		return err
	}
	for at, n := range r.crowd.reads() {
		if n != 1 {
			return fmt.Errorf("record %d of partition %d was read %d times", at.offset, at.partition, n)
		}
	}
	return r.crowd.checkNothingLost()
}

// awaitSilence waits until the member has read a stretch of all other partitions and nothing of this one meanwhile. Records that were under way when the
// partition was paused may still come before.
func (r *groupRun) awaitSilence(ctx context.Context, m *member, partition int32) error {
	const stretch = 20
	since := map[int32]int64{}
	return r.crowd.await(ctx, func() error {
		if h := m.highest[partition]; len(since) == 0 || since[partition] != h {
			since = maps.Clone(m.highest)
		}
		for p := range r.feed.partitions {
			if p != partition && m.highest[p] < since[p]+stretch {
				return fmt.Errorf("partition %d is read although it is paused, or others are not: %v since %v", partition, m.highest, since)
			}
		}
		return nil
	})
}

package coordinator

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/korvet-io/korvet/internal/group"
)

// slowStore is a Store whose calls for one group do not return until they are let go.
type slowStore struct {
	Store
	name    string
	call    string        // which call; "" none
	waiting chan struct{} // gets one when a call begins to wait
	letGo   chan struct{}
}

func (s *slowStore) wait(call, name string) {
	if name == s.name && call == s.call {
		s.waiting <- struct{}{}
		<-s.letGo
	}
}

func (s *slowStore) Exists(ctx context.Context, name string) (bool, error) {
	s.wait("exists", name)
	return s.Store.Exists(ctx, name)
}

func (s *slowStore) Claim(ctx context.Context, name string) (Token, Loaded, error) {
	s.wait("claim", name)
	return s.Store.Claim(ctx, name)
}

func (s *slowStore) Holds(ctx context.Context, name string, t Token) error {
	s.wait("holds", name)
	return s.Store.Holds(ctx, name, t)
}

func (s *slowStore) Room(ctx context.Context, name string) error {
	s.wait("room", name)
	return s.Store.Room(ctx, name)
}

func (s *slowStore) Commit(ctx context.Context, name string, t Token, set []Offset, gone []TopicPartition) error {
	s.wait("commit", name)
	return s.Store.Commit(ctx, name, t, set, gone)
}

func (s *slowStore) Save(ctx context.Context, name string, t Token, c *group.Changes) error {
	s.wait("save", name)
	return s.Store.Save(ctx, name, t, c)
}

func (s *slowStore) Delete(ctx context.Context, name string, t Token) error {
	s.wait("delete", name)
	return s.Store.Delete(ctx, name, t)
}

// Whatever call of the store hangs for one group, every other group does all that groups do.
func TestNoGroupWaitsForAnothersStore(t *testing.T) {
	for _, c := range []struct {
		call string
		do   func(c *Coordinator) error // of the slow group
	}{
		{"exists", func(c *Coordinator) error { return commit(c, "slow", nobody, offset(0, 1)) }},
		{"claim", func(c *Coordinator) error { return commit(c, "slow", nobody, offset(0, 1)) }},
		{"commit", func(c *Coordinator) error { return commit(c, "slow", nobody, offset(0, 1)) }},
		{"save", func(c *Coordinator) error { return consumerJoin(c, "slow") }},
		{"room", func(c *Coordinator) error { return (<-join(c, "slow", "")).Err }},
		{"holds", func(c *Coordinator) error {
			if err := commit(c, "slow", nobody, offset(0, 1)); err != nil {
				return err
			}
			_, err := committed(c, "slow", 0)
			return err
		}},
		{"delete", func(c *Coordinator) error {
			if err := commit(c, "slow", nobody, offset(0, 1)); err != nil {
				return err
			}
			return c.Delete(context.Background(), "slow")
		}},
	} {
		t.Run(c.call, func(t *testing.T) {
			w := newWorld(t, 1)
			slow := &slowStore{Store: w.store, name: "slow", call: c.call, waiting: make(chan struct{}, 1), letGo: make(chan struct{})}
			w.now().Store = slow
			m := stableMember(t, w.now(), "quick")
			outcome := make(chan error, 1)
			go func() { outcome <- c.do(w.now()) }()
			<-slow.waiting
			liveOn(t, w.now(), m)
			close(slow.letGo)
			if err := <-outcome; err != nil {
				t.Errorf("the slow group, in the end: %v", err)
			}
		})
	}
}

// liveOn has group quick and a new one do everything.
func liveOn(t *testing.T, c *Coordinator, m group.MemberRef) {
	t.Helper()
	if err := beat(c, "quick", m); err != nil {
		t.Errorf("heartbeat: %v", err)
	}
	if err := commit(c, "quick", m, offset(0, 5)); err != nil {
		t.Errorf("commit: %v", err)
	}
	if got, err := committed(c, "quick", 0); got != 5 || err != nil {
		t.Errorf("committed %d, %v", got, err)
	}
	if r := <-join(c, "quick", m.MemberID); r.Err != nil {
		t.Errorf("join: %v", r.Err)
	}
	stableMember(t, c, "new")
	if _, err := c.Describe(context.Background(), "quick"); err != nil {
		t.Errorf("describe: %v", err)
	}
	c.Known(func(string, group.State, int, []Offset) {})
	c.Expire()
}

// A member whose group waits for the store may go on saying that it lives.
func TestHeartbeatsDoNotWaitForTheirOwnGroupsCommits(t *testing.T) {
	w := newWorld(t, 1)
	slow := &slowStore{Store: w.store, name: "g", call: "commit", waiting: make(chan struct{}, 1), letGo: make(chan struct{})}
	w.now().Store = slow
	m := stableMember(t, w.now(), "g")
	outcome := make(chan error, 1)
	go func() { outcome <- commit(w.now(), "g", m, offset(0, 1)) }()
	<-slow.waiting
	if err := beat(w.now(), "g", m); err != nil {
		t.Errorf("heartbeat: %v", err)
	}
	close(slow.letGo)
	if err := <-outcome; err != nil {
		t.Errorf("commit: %v", err)
	}
}

// Answers on one connection are in order: a commit that waits for Redis keeps back those to the heartbeats after it.
func TestACommitThatTheStoreTakesTooLongForIsAnsweredAndNoOthersPileUp(t *testing.T) {
	w := newWorld(t, 1)
	c := w.now()
	m := stableMember(t, c, "g")
	c.set.CommitTimeout = time.Millisecond
	slow := &slowStore{Store: w.store, name: "g", call: "commit", waiting: make(chan struct{}, 1), letGo: make(chan struct{})}
	c.Store = slow
	if err := commit(c, "g", m, offset(0, 1)); !errors.Is(err, group.ErrCoordinatorUnavailable) {
		t.Errorf("commit: %v", err)
	}
	if err := commit(c, "g", m, offset(0, 2)); !errors.Is(err, group.ErrCoordinatorUnavailable) {
		t.Errorf("the next one: %v", err)
	}
	if _, err := committed(c, "g", 0); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("committed: %v", err)
	}
	if err := beat(c, "g", m); err != nil {
		t.Errorf("heartbeat: %v", err)
	}
	<-slow.waiting
	close(slow.letGo)
	c.wg.Wait()
	c.set.CommitTimeout = 0
	if got, err := committed(c, "g", 0); got != 1 || err != nil {
		t.Errorf("committed %d, %v, want what was stored late, and no more", got, err)
	}
	if err := commit(c, "g", m, offset(0, 3)); err != nil {
		t.Errorf("commit once the store answers: %v", err)
	}
}

// Members whose answers wait for the store cannot say that they live.
func TestNobodyIsPutOutWhileAnswersWaitForTheStore(t *testing.T) {
	for what, join := range map[string]func(t *testing.T, c *Coordinator, wait func()) (alive func() error){
		"classic": func(t *testing.T, c *Coordinator, wait func()) func() error {
			joined := <-join(c, "g", "")
			m := group.MemberRef{MemberID: joined.MemberID, Generation: joined.Generation}
			answer := syncGroup(c, "g", m, map[string][]byte{m.MemberID: {1}})
			wait()
			if r := <-answer; r.Err != nil {
				t.Errorf("sync: %v", r.Err)
			}
			return func() error { return beat(c, "g", m) }
		},
		"consumer": func(t *testing.T, c *Coordinator, wait func()) func() error {
			answer := make(chan error, 1)
			go func() { answer <- consumerJoin(c, "g") }()
			wait()
			if err := <-answer; err != nil {
				t.Errorf("join: %v", err)
			}
			return func() error { return consumerBeat(c, "g", 2) }
		},
	} {
		t.Run(what, func(t *testing.T) {
			w := newWorld(t, 1)
			c := w.now()
			slow := &slowStore{Store: w.store, name: "g", call: "save", waiting: make(chan struct{}, 1), letGo: make(chan struct{})}
			c.Store = slow
			tick := func() {
				for _, l := range c.all() {
					l.tick() // as its timer does
				}
			}
			alive := join(t, c, func() {
				<-slow.waiting
				w.clock.forward(50 * time.Second)
				tick()
				close(slow.letGo)
			})
			c.wg.Wait()
			slow.call = ""
			tick()
			if err := alive(); err != nil {
				t.Errorf("heartbeat: %v", err)
			}
			w.clock.forward(50 * time.Second)
			tick()
			c.wg.Wait()
			if err := alive(); !errors.Is(err, group.ErrUnknownMember) {
				t.Errorf("heartbeat of one that was silent: %v", err)
			}
		})
	}
}

func consumerBeat(c *Coordinator, name string, epoch int32) error {
	_, err := await(context.Background(), func(done func(struct{}, error)) {
		c.ConsumerHeartbeat(name, group.HeartbeatRequest{MemberID: "m", Epoch: epoch, Rebalance: -1}, func(r group.HeartbeatResponse) {
			done(struct{}{}, r.Err)
		})
	})
	return err
}

// consumerJoin is the first heartbeat of a member of the consumer protocol.
func consumerJoin(c *Coordinator, name string) error {
	topics := []string{"t"}
	_, err := await(context.Background(), func(done func(struct{}, error)) {
		c.ConsumerHeartbeat(name, group.HeartbeatRequest{
			MemberID: "m", Rebalance: 1, Topics: &topics, Owned: &[]group.TopicPartitions{},
		}, func(r group.HeartbeatResponse) { done(struct{}{}, r.Err) })
	})
	return err
}

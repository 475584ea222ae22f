package api

import (
	"context"
	"sync"

	"github.com/korvet-io/korvet/internal/coordinator"
	"github.com/korvet-io/korvet/internal/group"
)

// fakeGroups is a coordinator that notes what it is asked and answers what the test says: at once, or when released.
type fakeGroups struct {
	mu     sync.Mutex
	hold   bool
	held   []func()
	asked  any // the last request of a member
	names  []string
	joined group.JoinResponse
	synced group.SyncResponse
	beaten group.HeartbeatResponse
	left   []group.LeftMember
	err    error // of the group, whatever is asked

	committed map[string][]coordinator.Offset
	deleted   []coordinator.TopicPartition
	results   []error // of DeleteOffsets
	described map[string]group.Description
	node      int32
}

func newFakeGroups() *fakeGroups {
	return &fakeGroups{node: 1, committed: map[string][]coordinator.Offset{}, described: map[string]group.Description{}}
}

// take notes a request and answers it.
func (g *fakeGroups) take(name string, req any, answer func(err error)) {
	g.mu.Lock()
	g.names, g.asked = append(g.names, name), req
	err := g.err
	if g.hold {
		g.held = append(g.held, func() { answer(err) })
		g.mu.Unlock()
		return
	}
	g.mu.Unlock()
	answer(err)
}

// release answers what is held.
func (g *fakeGroups) release() {
	g.mu.Lock()
	held := g.held
	g.held = nil
	g.mu.Unlock()
	for _, answer := range held {
		answer()
	}
}

func (g *fakeGroups) waiting() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.held)
}

func (g *fakeGroups) Join(name string, req group.JoinRequest, done func(group.JoinResponse)) {
	g.take(name, req, func(err error) {
		if r := g.joined; err == nil {
			done(r)
			return
		}
		done(group.JoinResponse{Err: err, Generation: -1, MemberID: req.MemberID})
	})
}

func (g *fakeGroups) Sync(name string, req group.SyncRequest, done func(group.SyncResponse)) {
	g.take(name, req, func(err error) {
		if err == nil {
			done(g.synced)
			return
		}
		done(group.SyncResponse{Err: err})
	})
}

func (g *fakeGroups) Heartbeat(name string, m group.MemberRef, done func(error)) {
	g.take(name, m, done)
}

func (g *fakeGroups) Leave(name string, members []group.LeavingMember, done func([]group.LeftMember, error)) {
	g.take(name, members, func(err error) { done(g.left, err) })
}

func (g *fakeGroups) ConsumerHeartbeat(name string, req group.HeartbeatRequest, done func(group.HeartbeatResponse)) {
	g.take(name, req, func(err error) {
		if err == nil {
			done(g.beaten)
			return
		}
		done(group.HeartbeatResponse{Err: err})
	})
}

// fakeOffsets is a fakeGroups as a GroupOffsets.
type fakeOffsets struct{ *fakeGroups }

func (g fakeOffsets) Commit(name string, req coordinator.CommitRequest, done func(error)) {
	g.take(name, req, func(err error) {
		if err == nil {
			g.mu.Lock()
			g.committed[name] = append(g.committed[name], req.Offsets...)
			g.mu.Unlock()
		}
		done(err)
	})
}

func (g fakeOffsets) Committed(_ context.Context, name string, req coordinator.CommittedRequest) ([]coordinator.Offset, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.asked = req
	if g.err != nil {
		return nil, g.err
	}
	last := map[coordinator.TopicPartition]coordinator.Offset{}
	for _, o := range g.committed[name] {
		last[o.TopicPartition] = o
	}
	var found []coordinator.Offset
	for p, o := range last {
		if req.Partitions == nil {
			found = append(found, o)
		}
		for _, asked := range req.Partitions {
			if asked == p {
				found = append(found, o)
			}
		}
	}
	return found, nil
}

func (g fakeOffsets) DeleteOffsets(_ context.Context, _ string, partitions []coordinator.TopicPartition) ([]error, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.deleted = append(g.deleted, partitions...)
	if g.results == nil {
		return make([]error, len(partitions)), g.err
	}
	return g.results, g.err
}

// fakeGroupAdmin is a fakeGroups as a GroupAdmin.
type fakeGroupAdmin struct{ *fakeGroups }

func (g fakeGroupAdmin) Coordinator(string) (int32, error) { return g.node, g.err }

func (g fakeGroupAdmin) Describe(_ context.Context, name string) (group.Description, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if d, ok := g.described[name]; ok || g.err != nil {
		return d, g.err
	}
	return group.Description{}, group.ErrNotFound
}

func (g fakeGroupAdmin) List(context.Context) ([]group.Description, error) {
	var list []group.Description
	for _, d := range g.described {
		list = append(list, d)
	}
	return list, g.err
}

func (g fakeGroupAdmin) Delete(_ context.Context, name string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch d, ok := g.described[name]; {
	case g.err != nil:
		return g.err
	case !ok:
		return group.ErrNotFound
	case d.State != group.Empty:
		return group.ErrNonEmpty
	}
	delete(g.described, name)
	return nil
}

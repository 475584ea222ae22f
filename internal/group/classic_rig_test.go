package group

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// rig drives a group as the coordinator does: it ticks when something is due, stores what is saved, and sees that each
// ticket is answered once.
type rig struct {
	t     *testing.T
	set   Settings
	g     *Group
	now   time.Time
	last  Ticket
	ids   int
	open  map[Ticket]bool
	joins map[Ticket]JoinResponse
	syncs map[Ticket]SyncResponse
	st    Stored
	saves int
}

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func newRig(t *testing.T) *rig {
	r := &rig{
		t: t, now: epoch, open: map[Ticket]bool{}, joins: map[Ticket]JoinResponse{}, syncs: map[Ticket]SyncResponse{},
	}
	r.set = Settings{
		MinSession: 6 * time.Second, MaxSession: 30 * time.Minute, MaxSize: 100,
		NewID: func() string { r.ids++; return fmt.Sprint("id", r.ids) },
	}
	r.g = New("g", &r.set, r.now)
	return r
}

func (r *rig) classic() *classicGroup { return r.g.m.(*classicGroup) }

func (r *rig) ticket() Ticket {
	r.last++
	r.open[r.last] = true
	return r.last
}

func (r *rig) answered(to Ticket) {
	r.t.Helper()
	if !r.open[to] {
		r.t.Fatalf("ticket %d was answered twice, or never given", to)
	}
	delete(r.open, to)
}

// apply takes effects: it stores, then lets clients have their answers.
func (r *rig) apply(out *Effects) {
	r.t.Helper()
	if c := out.Save; c != nil {
		r.saves++
		r.st = storeChanges(r.st, c)
	}
	for _, a := range out.Joins {
		r.answered(a.To)
		r.joins[a.To] = a.JoinResponse
	}
	for _, a := range out.Syncs {
		r.answered(a.To)
		r.syncs[a.To] = a.SyncResponse
	}
}

// storeChanges returns what is stored after a save.
func storeChanges(st Stored, c *Changes) Stored {
	members := maps.Clone(st.Members)
	if members == nil {
		members = map[string][]byte{}
	}
	for _, id := range c.Gone {
		delete(members, id)
	}
	maps.Copy(members, c.Members)
	return Stored{Generation: c.Generation, Group: c.Group, Members: members}
}

// pass lets time pass, ticking when something is due.
func (r *rig) pass(d time.Duration) {
	r.t.Helper()
	end := r.now.Add(d)
	for {
		at := r.g.Deadline()
		if at.IsZero() || at.After(end) {
			r.now = end
			return
		}
		if at.After(r.now) {
			r.now = at
		}
		var out Effects
		r.g.Tick(r.now, nil, &out)
		r.apply(&out)
	}
}

// restart loses the group and restores it from what is stored.
func (r *rig) restart() {
	r.t.Helper()
	g, err := Restore("g", &r.set, r.st, r.now)
	if err != nil {
		r.t.Fatal(err)
	}
	r.g = g
	r.open = map[Ticket]bool{}
}

func (r *rig) join(req JoinRequest) Ticket {
	r.t.Helper()
	to := r.ticket()
	var out Effects
	r.g.Join(r.now, req, to, &out)
	r.apply(&out)
	return to
}

// joined is the answer to a JoinGroup, which must be there.
func (r *rig) joined(to Ticket) JoinResponse {
	r.t.Helper()
	if r.open[to] {
		r.t.Fatalf("JoinGroup %d waits", to)
	}
	return r.joins[to]
}

func (r *rig) mustJoin(req JoinRequest) JoinResponse {
	r.t.Helper()
	a := r.joined(r.join(req))
	if a.Err != nil {
		r.t.Fatalf("JoinGroup: %v", a.Err)
	}
	return a
}

func (r *rig) sync(req SyncRequest) Ticket {
	r.t.Helper()
	to := r.ticket()
	var out Effects
	r.g.Sync(r.now, req, to, &out)
	r.apply(&out)
	return to
}

func (r *rig) synced(to Ticket) SyncResponse {
	r.t.Helper()
	if r.open[to] {
		r.t.Fatalf("SyncGroup %d waits", to)
	}
	return r.syncs[to]
}

func (r *rig) heartbeat(id string, generation int32) error {
	return r.g.Heartbeat(r.now, MemberRef{MemberID: id, Generation: generation})
}

func (r *rig) commit(id string, generation int32) error {
	return r.g.CheckCommit(r.now, MemberRef{MemberID: id, Generation: generation}, false)
}

func (r *rig) leave(ms ...LeavingMember) []LeftMember {
	r.t.Helper()
	var out Effects
	left := r.g.Leave(r.now, ms, &out)
	r.apply(&out)
	return left
}

func (r *rig) state() State { return r.g.Describe().State }

func (r *rig) want(s State) {
	r.t.Helper()
	if got := r.state(); got != s {
		r.t.Fatalf("the group is %s, want %s", got, s)
	}
}

// aJoin is the JoinGroup of a consumer of topic t.
func aJoin(member string) JoinRequest {
	return JoinRequest{
		MemberID: member, Client: Client{ID: "client", Host: "/127.0.0.1"}, Session: 10 * time.Second,
		Rebalance: 60 * time.Second, Type: "consumer", Protocols: []Protocol{{Name: "range", Metadata: subscription("t")}},
	}
}

func subscription(topics ...string) []byte {
	m := kmsg.NewConsumerMemberMetadata()
	m.Version, m.Topics = 1, topics
	return m.AppendTo(nil)
}

func aSync(id string, generation int32, assignments map[string]string) SyncRequest {
	req := SyncRequest{
		MemberRef: MemberRef{MemberID: id, Generation: generation}, HasProtocol: true, Type: "consumer", Protocol: "range",
		Assignments: map[string][]byte{},
	}
	for m, a := range assignments {
		req.Assignments[m] = []byte(a)
	}
	return req
}

// stable brings n members into a stable group, each with "part <its id>" assigned, and returns their ids, the leader's first.
func (r *rig) stable(n int) []string { return r.stableOf(make([]JoinRequest, n)...) }

// stableOf is stable for these members; those without a type are those of aJoin.
func (r *rig) stableOf(reqs ...JoinRequest) []string {
	r.t.Helper()
	r.set.InitialDelay = time.Second
	var tickets []Ticket
	for _, req := range reqs {
		if req.Type == "" {
			req = aJoin("")
		}
		tickets = append(tickets, r.join(req))
	}
	for r.open[tickets[0]] {
		r.pass(r.g.Deadline().Sub(r.now))
	}
	var ids []string
	assignments := map[string]string{}
	for _, to := range tickets {
		a := r.joined(to)
		ids = append(ids, a.MemberID)
		assignments[a.MemberID] = "part " + a.MemberID
	}
	r.syncAll(ids, assignments)
	r.want(Stable)
	return ids
}

// syncAll has the members sync in the current generation, the leader, who is the first, last.
func (r *rig) syncAll(ids []string, assignments map[string]string) {
	r.t.Helper()
	gen := r.g.Describe().Epoch
	var tickets []Ticket
	for _, id := range slices.Backward(ids) {
		req := aSync(id, gen, assignments)
		if id != ids[0] {
			req.Assignments = nil
		}
		tickets = append(tickets, r.sync(req))
	}
	for i, to := range tickets {
		if a := r.synced(to); a.Err != nil {
			r.t.Fatalf("SyncGroup %d: %v", i, a.Err)
		}
	}
}

func wantErr(t *testing.T, what string, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

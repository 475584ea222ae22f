package group

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
)

// testImage is an Image of some topics in the order of their names.
type testImage struct {
	topics  []Topic
	version uint64
	stays   bool // the simulation is not to change it
}

func (i *testImage) Topic(name string) (Topic, bool) {
	n := slices.IndexFunc(i.topics, func(t Topic) bool { return t.Name == name })
	if n < 0 {
		return Topic{}, false
	}
	return i.topics[n], true
}

func (i *testImage) ByID(id uuid.UUID) (Topic, bool) {
	n := slices.IndexFunc(i.topics, func(t Topic) bool { return t.ID == id })
	if n < 0 {
		return Topic{}, false
	}
	return i.topics[n], true
}

func (i *testImage) All() []Topic    { return i.topics }
func (i *testImage) Version() uint64 { return i.version }

// with returns the view in which one more topic is there, or one has another id or other partitions.
func (i *testImage) with(t Topic) *testImage {
	next := i.without(t.Name)
	next.topics = append(next.topics, t)
	slices.SortFunc(next.topics, func(a, b Topic) int { return compareIDs(a.ID, b.ID) })
	return next
}

func (i *testImage) without(name string) *testImage {
	topics := slices.DeleteFunc(slices.Clone(i.topics), func(t Topic) bool { return t.Name == name })
	return &testImage{topics: topics, version: i.version + 1}
}

// consumerRig is a rig with topics t000 (6 partitions), t001 (3) and t002 (1), in which members of the consumer protocol
// heartbeat.
type consumerRig struct {
	*rig
	img *testImage
}

func newConsumerRig(t *testing.T) *consumerRig {
	r := &consumerRig{rig: newRig(t), img: &testImage{topics: topicsOf(6, 3, 1)}}
	r.set.ConsumerSession = 45 * time.Second
	r.set.ConsumerHeartbeat = 5 * time.Second
	r.set.ConsumerMaxSize = 10
	r.set.Assignors = []string{UniformAssignor, RangeAssignor}
	r.set.Migration = Bidirectional
	return r
}

func (r *consumerRig) consumer() *consumerGroup {
	r.t.Helper()
	c, ok := r.g.m.(*consumerGroup)
	if !ok {
		r.t.Fatalf("the group is %s", r.g.Type())
	}
	return c
}

// beat sends a heartbeat and returns the answer to it.
func (r *consumerRig) beat(req HeartbeatRequest) HeartbeatResponse {
	r.t.Helper()
	to := r.ticket()
	var out Effects
	r.g.ConsumerHeartbeat(r.now, r.img, req, to, &out)
	r.apply(&out)
	if len(out.Heartbeats) != 1 || out.Heartbeats[0].To != to {
		r.t.Fatalf("answers: %v", out.Heartbeats)
	}
	r.answered(to)
	return out.Heartbeats[0].HeartbeatResponse
}

func (r *consumerRig) mustBeat(req HeartbeatRequest) HeartbeatResponse {
	r.t.Helper()
	resp := r.beat(req)
	if resp.Err != nil {
		r.t.Fatalf("heartbeat of %q in epoch %d: %v", req.MemberID, req.Epoch, resp.Err)
	}
	return resp
}

func (r *consumerRig) tick() {
	r.t.Helper()
	var out Effects
	r.g.Tick(r.now, r.img, &out)
	r.apply(&out)
}

// wait lets time pass in which only Tick happens.
func (r *consumerRig) wait(d time.Duration) {
	r.t.Helper()
	end := r.now.Add(d)
	for at := r.g.Deadline(); !at.IsZero() && !at.After(end); at = r.g.Deadline() {
		if at.After(r.now) {
			r.now = at
		}
		r.tick()
		if r.g.Deadline().Equal(at) {
			r.t.Fatalf("nothing comes of the deadline %v", at)
		}
	}
	r.now = end
}

// joining is the first heartbeat of a member that is subscribed to topics.
func joining(id string, topics ...string) HeartbeatRequest {
	if topics == nil {
		topics = []string{}
	}
	return HeartbeatRequest{
		MemberID: id, Rebalance: 60 * time.Second, Topics: &topics, Owned: &[]TopicPartitions{},
		Client: Client{ID: "client", Host: "/127.0.0.1"},
	}
}

// plain is a heartbeat that says nothing but that the member is there.
func plain(id string, epoch int32) HeartbeatRequest {
	return HeartbeatRequest{MemberID: id, Epoch: epoch, Rebalance: -time.Millisecond, Client: Client{ID: "client", Host: "/127.0.0.1"}}
}

// has is a heartbeat that says what the member has.
func has(id string, epoch int32, owned ...TopicPartitions) HeartbeatRequest {
	req := plain(id, epoch)
	if owned == nil {
		owned = []TopicPartitions{}
	}
	req.Owned = &owned
	return req
}

func (req HeartbeatRequest) static(instance string) HeartbeatRequest {
	req.InstanceID = instance
	return req
}

func (req HeartbeatRequest) matching(re string) HeartbeatRequest {
	req.Topics, req.Regexp = nil, &re
	return req
}

func (req HeartbeatRequest) preferring(assignor string) HeartbeatRequest {
	req.Assignor = &assignor
	return req
}

// parts are partitions of topic number n, from 1 on.
func parts(n int, partitions ...int32) TopicPartitions {
	return TopicPartitions{Topic: topicID(n), Partitions: partitions}
}

// wantBeat checks an answer's epoch and the assignment in it. No assignment wanted: none may be there.
func (r *consumerRig) wantBeat(resp HeartbeatResponse, epoch int32, assigned ...TopicPartitions) {
	r.t.Helper()
	if resp.Err != nil || resp.Epoch != epoch {
		r.t.Fatalf("epoch %d (%v), want %d", resp.Epoch, resp.Err, epoch)
	}
	switch {
	case assigned == nil && resp.Assignment != nil:
		r.t.Fatalf("an assignment again: %v", *resp.Assignment)
	case assigned != nil && resp.Assignment == nil:
		r.t.Fatalf("no assignment, want %v", assigned)
	case assigned != nil && !partitionSet(*resp.Assignment).equal(partitionSet(assigned)):
		r.t.Fatalf("assigned %v, want %v", *resp.Assignment, assigned)
	}
}

var nothing = []TopicPartitions{}

// two brings members a and b into a stable group of topic t000, and returns their epoch. a has partitions 0 to 2.
func (r *consumerRig) two() int32 {
	r.t.Helper()
	r.mustBeat(joining("a", "t000"))
	b := r.mustBeat(joining("b", "t000"))
	r.wantBeat(r.mustBeat(plain("a", 2)), 2, parts(1, 0, 1, 2))
	r.mustBeat(has("a", 2, parts(1, 0, 1, 2)))
	r.wantBeat(r.mustBeat(plain("b", b.Epoch)), 3, parts(1, 3, 4, 5))
	r.want(Stable)
	return 3
}

func (r *consumerRig) member(id string) MemberDescription {
	r.t.Helper()
	for _, m := range r.g.Describe().Members {
		if m.MemberID == id {
			return m
		}
	}
	r.t.Fatalf("no member %q", id)
	return MemberDescription{}
}

func (r *consumerRig) String() string { return fmt.Sprintf("%+v", r.g.Describe()) }

package api

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// openSession fetches into a new session and returns its id.
func (b *broker) openSession(topic string, offsets ...int64) int32 {
	b.t.Helper()
	req := fetchOf(topic, offsets...)
	req.SessionEpoch = 0
	resp := b.fetch(req, 12)
	if resp.ErrorCode != 0 || resp.SessionID <= 0 {
		b.t.Fatalf("no session: %+v", resp)
	}
	return resp.SessionID
}

// next fetches on in a session.
func (b *broker) next(id, epoch int32, change func(*kmsg.FetchRequest)) *kmsg.FetchResponse {
	b.t.Helper()
	req := fetchOf("")
	req.Topics, req.SessionID, req.SessionEpoch = nil, id, epoch
	if change != nil {
		change(req)
	}
	return b.fetch(req, 12)
}

func TestSessionAnswersOnlyWhatChanged(t *testing.T) {
	b := newBroker(t, nil)
	b.mustProduce("t3", valuesOf("a"), valuesOf("b"))
	id := b.openSession("t3", 1, 1, 0)
	if resp := b.next(id, 1, nil); resp.SessionID != id || summary(resp) != "" {
		t.Fatalf("nothing new: %+v", resp)
	}
	b.mustProduce("t3", valuesOf("c"))
	if s := summary(b.next(id, 2, nil)); s != "0:[1-1]" {
		t.Fatal(s)
	}
	advance := func(r *kmsg.FetchRequest) { r.Topics = fetchOf("t3", 2).Topics }
	if s := summary(b.next(id, 3, advance)); s != "" {
		t.Fatal(s)
	}
	if s := summary(b.next(id, 4, nil)); s != "" {
		t.Fatalf("the new offset was forgotten: %s", s)
	}
}

func TestSessionHearsOfErrorsUntilTheyEnd(t *testing.T) {
	b := newBroker(t, nil)
	id := b.openSession("t", 0)
	topic, _ := b.topics.Topic(t.Context(), "t")
	if err := b.topics.Delete(t.Context(), topic); err != nil {
		t.Fatal(err)
	}
	for epoch := int32(1); epoch <= 2; epoch++ {
		if s := summary(b.next(id, epoch, nil)); s != "0:UNKNOWN_TOPIC_OR_PARTITION" {
			t.Fatal(s)
		}
	}
	b.create("t", 1, nil)
	if s := summary(b.next(id, 3, nil)); s != "0:" {
		t.Fatalf("after the error: %q", s)
	}
	if s := summary(b.next(id, 4, nil)); s != "" {
		t.Fatal(s)
	}
}

func TestSessionErrors(t *testing.T) {
	b := newBroker(t, nil)
	id := b.openSession("t", 0)
	for name, c := range map[string]struct {
		id, epoch int32
		want      string
	}{
		"unknown id":      {id + 1, 1, "FETCH_SESSION_ID_NOT_FOUND"},
		"epoch too high":  {id, 2, "INVALID_FETCH_SESSION_EPOCH"},
		"negative epoch":  {id, -7, "INVALID_FETCH_SESSION_EPOCH"},
		"no id but epoch": {0, 1, "FETCH_SESSION_ID_NOT_FOUND"},
	} {
		if resp := b.next(c.id, c.epoch, nil); codeName(resp.ErrorCode) != c.want || resp.SessionID != 0 || len(resp.Topics) != 0 {
			t.Errorf("%s: %+v, want %s", name, resp, c.want)
		}
	}
	if resp := b.next(id, 1, nil); resp.ErrorCode != 0 {
		t.Errorf("the session suffered: %+v", resp)
	}
	req := fetchOf("")
	req.Topics, req.SessionID, req.SessionEpoch = nil, id, 2
	if resp := b.fetch(req, 13); codeName(resp.ErrorCode) != "FETCH_SESSION_TOPIC_ID_ERROR" {
		t.Errorf("topic ids in a session of names: %+v", resp)
	}
}

func TestSessionEndsWithItsLastPartition(t *testing.T) {
	b := newBroker(t, nil)
	id := b.openSession("t3", 0, 0)
	forget := func(partitions ...int32) func(*kmsg.FetchRequest) {
		return func(r *kmsg.FetchRequest) {
			r.ForgottenTopics = []kmsg.FetchRequestForgottenTopic{{Topic: "t3", Partitions: partitions}}
		}
	}
	if resp := b.next(id, 1, forget(1)); resp.SessionID != id {
		t.Fatalf("%+v", resp)
	}
	if resp := b.next(id, 2, forget(0)); resp.SessionID != 0 || resp.ErrorCode != 0 {
		t.Fatalf("%+v", resp)
	}
	if resp := b.next(id, 3, nil); codeName(resp.ErrorCode) != "FETCH_SESSION_ID_NOT_FOUND" {
		t.Fatalf("%+v", resp)
	}
	if n := b.api.sessions.partitions; n != 0 {
		t.Fatalf("%d partitions are still counted", n)
	}
}

func TestFinalEpochClosesTheSession(t *testing.T) {
	b := newBroker(t, nil)
	id := b.openSession("t", 0)
	req := fetchOf("t", 0)
	req.SessionID = id
	if resp := b.fetch(req, 12); resp.SessionID != 0 || summary(resp) != "0:" {
		t.Fatalf("%+v", resp)
	}
	if resp := b.next(id, 1, nil); codeName(resp.ErrorCode) != "FETCH_SESSION_ID_NOT_FOUND" {
		t.Fatalf("%+v", resp)
	}
}

func TestSessionsAreBounded(t *testing.T) {
	b := newBroker(t, func(s *Settings) { s.MaxFetchSessions = 3 })
	ids := []int32{b.openSession("t", 0), b.openSession("t", 0), b.openSession("t", 0)}
	req := fetchOf("t", 0)
	req.SessionEpoch = 0
	for range 50 {
		if resp := b.fetch(req, 12); resp.SessionID != 0 || summary(resp) != "0:" {
			t.Fatalf("a full cache must answer all without a session: %+v", resp)
		}
	}
	b.now.Add(b.api.settings.FetchSessionEvictAfter.Milliseconds() + 1)
	b.next(ids[0], 1, nil)
	b.openSession("t", 0)
	if resp := b.next(ids[0], 2, nil); resp.ErrorCode != 0 {
		t.Fatalf("a session in use was evicted: %+v", resp)
	}
	if resp := b.next(ids[1], 1, nil); codeName(resp.ErrorCode) != "FETCH_SESSION_ID_NOT_FOUND" {
		t.Fatalf("the least recently used one was not evicted: %+v", resp)
	}
}

func TestPartitionsOfAllSessionsAreBounded(t *testing.T) {
	s := newFetchSessions(10, time.Minute, &lockedRandom{r: nil})
	s.partitions = maxSessionPartitions
	if fs := s.open(time.Now(), false, make([]*sessionPartition, 1)); fs != nil {
		t.Fatal("a session beyond the bound")
	}
}

func TestNoPartitionOfASessionStarves(t *testing.T) {
	b := newBroker(t, nil)
	for range 4 {
		b.mustProduce("t3", valuesOf("a"), valuesOf("b"), valuesOf("c"))
	}
	small := func(r *kmsg.FetchRequest) { r.MaxBytes = 1 }
	req := fetchOf("t3", 0, 0, 0)
	req.SessionEpoch, req.MaxBytes = 0, 1
	resp := b.fetch(req, 12)
	if s := summary(resp); s != "0:[0-0] 1: 2:" {
		t.Fatal(s)
	}
	id := resp.SessionID
	if s := summary(b.next(id, 1, small)); s != "1:[0-0]" {
		t.Fatal(s)
	}
	if s := summary(b.next(id, 2, small)); s != "2:[0-0]" {
		t.Fatal(s)
	}
	if s := summary(b.next(id, 3, small)); s != "0:[0-0]" {
		t.Fatal(s)
	}
}

func TestFetchesOfOneSessionMayOverlap(t *testing.T) {
	b := newBroker(t, nil)
	b.mustProduce("t3", valuesOf("a"), valuesOf("b"), valuesOf("c"))
	id := b.openSession("t3", 0, 0, 0)
	const n = 50
	var answers []<-chan answer
	var req *kmsg.FetchRequest
	for epoch := int32(1); epoch <= n; epoch++ {
		req = fetchOf("t3", int64(epoch)%2, int64(epoch/2)%2, 0)
		req.SessionID, req.SessionEpoch, req.MaxWaitMillis = id, epoch, 1
		answers = append(answers, b.startRequest(req, 12))
	}
	for _, got := range answers {
		if resp := b.decode(req, b.await(got)).(*kmsg.FetchResponse); resp.ErrorCode != 0 || resp.SessionID != id {
			t.Fatalf("%+v", resp)
		}
	}
}

package conformance

import (
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func fetchSessionRows() []row {
	return []row{
		{name: "epoch -1", do: sessionless, want: "session 0: OK"},
		{name: "new session (id 0, epoch 0)", do: sessionNew, want: "new session: OK; OK"},
		{name: "next in session, nothing new", do: sessionNext, want: "same session, 0 topics"},
		{name: "next in session, a new record in one of two partitions", do: sessionNews, want: "same session, partitions 1: OK [0-0]"},
		{name: "next in session, two changes in turn", do: sessionTurns, want: "OK [0-0], OK [1-1], nothing"},
		{name: "a partition added", do: sessionAdded, want: "same session, partitions 1: OK [0-0]"},
		{name: "a partition forgotten", do: sessionForgotten, want: "same session, partitions 1: OK [0-0]"},
		{name: "unknown session id", do: sessionUnknown, want: "FETCH_SESSION_ID_NOT_FOUND"},
		{name: "closed session", do: sessionClosed, want: "FETCH_SESSION_ID_NOT_FOUND"},
		{name: "wrong epoch", do: sessionWrongEpoch, want: "INVALID_FETCH_SESSION_EPOCH"},
		{name: "session id 0 with a later epoch", do: sessionNone, want: "FETCH_SESSION_ID_NOT_FOUND"},
		{name: "epoch 0 within a session starts a new one", do: sessionReplaced, want: "OK, another session; the former FETCH_SESSION_ID_NOT_FOUND"},
		{name: "an error is told again", do: sessionError, want: "OFFSET_OUT_OF_RANGE, then OFFSET_OUT_OF_RANGE"},
		{name: "data not taken is sent again", do: sessionAgain, want: "OK [0-0]"},
		{name: "a log start that moved is told", do: sessionLogStart, want: "log start 1"},
		{name: "last partition forgotten", do: sessionEmptied, want: "OK, session 0"},
		{name: "topic deleted", do: sessionDeleted(12), want: "UNKNOWN_TOPIC_OR_PARTITION"},
		{name: "topic deleted (v13)", do: sessionDeleted(13), want: "UNKNOWN_TOPIC_OR_PARTITION", korvet: differs("UNKNOWN_TOPIC_ID", "Deleted topics")},
		{name: "a produce while the session waits", do: sessionWoken, want: "same session, partitions 0: OK [0-0]"},
	}
}

// session is an incremental fetch session (KIP-227) as a client sees it.
type session struct {
	*conn
	id, epoch int32
	options   fetchOptions
}

// open starts a session over partitions of a topic.
func (c *conn) open(t topic, partitions ...int32) *session {
	c.t.Helper()
	s := &session{conn: c, options: fetchAt(0)}
	resp := s.full(t, partitions...)
	if resp.ErrorCode != 0 || resp.SessionID == 0 {
		c.t.Fatalf("open session: %s, id %d", code(resp.ErrorCode), resp.SessionID)
	}
	s.id, s.epoch = resp.SessionID, 1
	return s
}

func (s *session) full(t topic, partitions ...int32) *kmsg.FetchResponse {
	s.t.Helper()
	req := s.options.request(t, partitions...)
	req.SessionID, req.SessionEpoch = 0, 0
	return ask[*kmsg.FetchResponse](s.conn, req)
}

// incremental asks within the session; change may add or forget partitions.
func (s *session) incremental(change func(*kmsg.FetchRequest)) *kmsg.FetchResponse {
	s.t.Helper()
	return ask[*kmsg.FetchResponse](s.conn, s.incrementalRequest(change))
}

func (s *session) incrementalRequest(change func(*kmsg.FetchRequest)) *kmsg.FetchRequest {
	req := s.options.request(topic{})
	req.Topics = []kmsg.FetchRequestTopic{}
	req.SessionID, req.SessionEpoch = s.id, s.epoch
	if change != nil {
		change(req)
	}
	s.epoch++
	return req
}

// describe tells what an incremental answer holds.
func (s *session) describe(resp *kmsg.FetchResponse) string {
	s.t.Helper()
	if resp.ErrorCode != 0 {
		return code(resp.ErrorCode)
	}
	out := "another session"
	if resp.SessionID == s.id {
		out = "same session"
	}
	if len(resp.Topics) == 0 {
		return out + ", 0 topics"
	}
	var numbers []string
	for _, p := range resp.Topics[0].Partitions {
		numbers = append(numbers, fmt.Sprint(p.Partition))
	}
	return fmt.Sprintf("%s, partitions %s: %s", out, strings.Join(numbers, ","), s.describeFetched(resp))
}

// at sets the position of one partition in a request of the session.
func (s *session) at(t topic, partition int32, offset int64) func(*kmsg.FetchRequest) {
	o := s.options
	o.offset = offset
	return func(req *kmsg.FetchRequest) { req.Topics = o.request(t, partition).Topics }
}

func sessionless(c *conn) string {
	resp := ask[*kmsg.FetchResponse](c, fetchAt(0).request(c.newTopic()))
	return fmt.Sprintf("session %d: %s", resp.SessionID, c.describeFetched(resp))
}

func sessionNew(c *conn) string {
	s := &session{conn: c, options: fetchAt(0)}
	resp := s.full(c.newTopicOf(2), 0, 1)
	if resp.SessionID <= 0 {
		return fmt.Sprintf("session %d", resp.SessionID)
	}
	return "new session: " + c.describeFetched(resp)
}

func sessionNext(c *conn) string {
	s := c.open(c.newTopicOf(2), 0, 1)
	return s.describe(s.incremental(nil))
}

func (c *conn) mustTo(t topic, partition int32, b *recordBatch) {
	c.t.Helper()
	req := produceTo(9, t, -1, b.bytes())
	req.Topics[0].Partitions[0].Partition = partition
	if got := c.produced(req); !strings.HasPrefix(got, "OK") {
		c.t.Fatalf("produce to partition %d: %s", partition, got)
	}
}

func sessionNews(c *conn) string {
	t := c.newTopicOf(2)
	s := c.open(t, 0, 1)
	c.mustTo(t, 1, values("v"))
	return s.describe(s.incremental(nil))
}

func sessionTurns(c *conn) string {
	t := c.newTopicOf(2)
	s := c.open(t, 0, 1)
	c.mustTo(t, 1, values("a"))
	first := c.describeFetched(s.incremental(nil))
	c.mustTo(t, 1, values("b"))
	second := c.describeFetched(s.incremental(s.at(t, 1, 1)))
	third := c.describeFetched(s.incremental(s.at(t, 1, 2)))
	if third == "" {
		third = "nothing"
	}
	return strings.Join([]string{first, second, third}, ", ")
}

func sessionAdded(c *conn) string {
	t := c.newTopicOf(2)
	s := c.open(t, 0)
	c.mustTo(t, 1, values("v"))
	return s.describe(s.incremental(s.at(t, 1, 0)))
}

func sessionForgotten(c *conn) string {
	t := c.newTopicOf(2)
	s := c.open(t, 0, 1)
	c.mustTo(t, 0, values("v"))
	c.mustTo(t, 1, values("v"))
	return s.describe(s.incremental(forget(t, 0)))
}

func forget(t topic, partition int32) func(*kmsg.FetchRequest) {
	return func(req *kmsg.FetchRequest) {
		f := kmsg.NewFetchRequestForgottenTopic()
		f.Topic, f.TopicID = t.name, t.id
		f.Partitions = []int32{partition}
		req.ForgottenTopics = append(req.ForgottenTopics, f)
	}
}

func sessionUnknown(c *conn) string {
	s := &session{conn: c, id: 123456789, epoch: 1, options: fetchAt(0)}
	return s.describe(s.incremental(nil))
}

func sessionClosed(c *conn) string {
	s := c.open(c.newTopic())
	s.incremental(func(req *kmsg.FetchRequest) { req.SessionEpoch = -1 })
	return s.describe(s.incremental(func(req *kmsg.FetchRequest) { req.SessionEpoch = 1 }))
}

func sessionWrongEpoch(c *conn) string {
	s := c.open(c.newTopic())
	return s.describe(s.incremental(func(req *kmsg.FetchRequest) { req.SessionEpoch = 5 }))
}

func sessionNone(c *conn) string {
	s := &session{conn: c, epoch: 3, options: fetchAt(0)}
	return s.describe(s.incremental(nil))
}

func sessionReplaced(c *conn) string {
	t := c.newTopic()
	s := c.open(t)
	req := s.options.request(t)
	req.SessionID, req.SessionEpoch = s.id, 0
	resp := ask[*kmsg.FetchResponse](c, req)
	which := "the same session"
	if resp.SessionID > 0 && resp.SessionID != s.id {
		which = "another session"
	}
	return fmt.Sprintf("%s, %s; the former %s", code(resp.ErrorCode), which, s.describe(s.incremental(nil)))
}

func sessionError(c *conn) string {
	s := &session{conn: c, options: fetchAt(9)}
	first := s.full(c.newTopic())
	s.id, s.epoch = first.SessionID, 1
	return c.describeFetched(first) + ", then " + c.describeFetched(s.incremental(nil))
}

func sessionAgain(c *conn) string {
	t := c.newTopic()
	c.must(t, values("v"))
	s := c.open(t)
	return c.describeFetched(s.incremental(nil))
}

func sessionLogStart(c *conn) string {
	t := c.newTopic()
	c.must(t, values("0"), values("1"))
	s := &session{conn: c, options: fetchAt(2)}
	s.id, s.epoch = s.full(t).SessionID, 1
	c.deleted(t, 1)
	resp := s.incremental(nil)
	if len(resp.Topics) == 0 {
		return "nothing"
	}
	return fmt.Sprintf("log start %d", resp.Topics[0].Partitions[0].LogStartOffset)
}

func sessionEmptied(c *conn) string {
	t := c.newTopic()
	s := c.open(t, 0)
	resp := s.incremental(forget(t, 0))
	return fmt.Sprintf("%s, session %d", code(resp.ErrorCode), resp.SessionID)
}

func sessionDeleted(version int16) func(*conn) string {
	return func(c *conn) string {
		t := c.newTopic()
		s := &session{conn: c, options: fetchAt(0)}
		s.options.version = version
		s.id, s.epoch = s.full(t, 0).SessionID, 1
		c.remove(t.name)
		return c.describeFetched(s.incremental(nil))
	}
}

func sessionWoken(c *conn) string {
	t := c.newTopic()
	s := c.open(t, 0)
	s.options.waitMs = long
	req := s.incrementalRequest(nil)
	id := c.send(req)
	c.another().must(t, values("v"))
	resp, err := c.receive(req, id)
	if err != nil {
		return outcome(err)
	}
	return s.describe(resp.(*kmsg.FetchResponse))
}

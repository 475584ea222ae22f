package api

import (
	"errors"
	"net"
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/korvet-io/korvet/internal/partition"
)

// fetchBuffers keeps the memory that records are read into.
var fetchBuffers = sync.Pool{New: func() any { return new([]byte) }}

// shortFetchBuffer is up to how many bytes a buffer has when the next partition's records are read to it, too. What is
// large has one of its own: a buffer that grows is copied.
const shortFetchBuffer = 64 << 10

// keepFetchBuffer is the largest buffer that is kept for the next fetch.
const keepFetchBuffer = 4 << 20

func takeFetchBuffer() []byte {
	b := *fetchBuffers.Get().(*[]byte)
	if b == nil {
		b = make([]byte, 0, 4<<10)
	}
	return b[:0]
}

func giveFetchBuffers(data [][]byte) {
	for _, b := range data {
		if cap(b) <= keepFetchBuffer {
			fetchBuffers.Put(&b)
		}
	}
}

// fetchResponse is a Fetch's answer: what is not records is encoded here, the records go out from where they were read
// to.
type fetchResponse struct {
	buffers net.Buffers
	data    [][]byte
	failed  bool
}

// Buffers implements server.Encoded.
func (r *fetchResponse) Buffers() net.Buffers { return r.buffers }

// Release implements server.Encoded.
func (r *fetchResponse) Release() {
	giveFetchBuffers(r.data)
	r.data, r.buffers = nil, nil
}

// Failed implements server.Failed.
func (r *fetchResponse) Failed() bool { return r.failed }

// AppendTo implements server.Response.
func (r *fetchResponse) AppendTo(dst []byte) []byte {
	for _, b := range r.buffers {
		dst = append(dst, b...)
	}
	return dst
}

// fetchEncoder writes a Fetch answer.
type fetchEncoder struct {
	fetch    *fetch
	version  int16
	flexible bool
	out      []byte // all but the records
	cuts     []cut  // where records belong
	leaders  leaderHints
}

// cut is where in fetchEncoder.out a chunk of records belongs.
type cut struct {
	at    int
	chunk chunk
}

func newFetchResponse(f *fetch, partitions []*fetchPartition) *fetchResponse {
	e := fetchEncoder{fetch: f, version: f.call.version(), out: make([]byte, 0, 64+64*len(partitions))}
	e.flexible = e.version >= 12
	e.out = noTags(e.out, e.flexible) // the response header's
	e.out = appendInt32(e.out, 0)     // throttle time in ms
	if e.version >= 7 {
		e.out = appendInt16(e.out, 0)
		session := int32(0)
		if f.plan.session != nil {
			session = f.plan.session.id
		}
		e.out = appendInt32(e.out, session)
	}
	e.appendTopics(partitions)
	if e.flexible {
		e.out = e.leaders.appendEndpoints(e.out)
	}
	r := &fetchResponse{buffers: e.join(), data: f.data, failed: f.failed}
	f.data = nil
	return r
}

// join puts the records in their places.
func (e *fetchEncoder) join() net.Buffers {
	buffers := make(net.Buffers, 0, 2*len(e.cuts)+1)
	from := 0
	for _, c := range e.cuts {
		if c.at > from {
			buffers = append(buffers, e.out[from:c.at])
			from = c.at
		}
		buffers = append(buffers, e.fetch.data[c.chunk.buffer][c.chunk.from:c.chunk.to])
	}
	if from < len(e.out) {
		buffers = append(buffers, e.out[from:])
	}
	return buffers
}

// appendTopics groups neighbours of one topic.
func (e *fetchEncoder) appendTopics(partitions []*fetchPartition) {
	sameTopic := func(a, b *fetchPartition) bool { return a.topic == b.topic && a.id == b.id }
	topics := 0
	for i := range partitions {
		if i == 0 || !sameTopic(partitions[i-1], partitions[i]) {
			topics++
		}
	}
	e.out = appendArrayLen(e.out, topics, e.flexible)
	for len(partitions) > 0 {
		n := 1
		for n < len(partitions) && sameTopic(partitions[0], partitions[n]) {
			n++
		}
		e.appendTopic(partitions[:n])
		partitions = partitions[n:]
	}
}

func (e *fetchEncoder) appendTopic(partitions []*fetchPartition) {
	if e.version >= 13 {
		e.out = append(e.out, partitions[0].id[:]...)
	} else {
		e.out = appendString(e.out, partitions[0].topic, e.flexible)
	}
	e.out = appendArrayLen(e.out, len(partitions), e.flexible)
	for _, p := range partitions {
		e.appendPartition(p)
	}
	e.out = noTags(e.out, e.flexible)
}

func (e *fetchEncoder) appendPartition(p *fetchPartition) {
	bounds := p.bounds
	if p.err != nil {
		bounds.HighWatermark, bounds.LogStart = -1, -1
	}
	e.out = appendInt32(e.out, p.partition)
	e.out = appendInt16(e.out, fetchErrorCode(p.err))
	e.out = appendInt64(e.out, bounds.HighWatermark)
	e.out = appendInt64(e.out, bounds.HighWatermark) // the last stable offset: there are no transactions
	if e.version >= 5 {
		e.out = appendInt64(e.out, bounds.LogStart)
	}
	e.appendAborted()
	if e.version >= 11 {
		e.out = appendInt32(e.out, -1) // no preferred read replica
	}
	e.out = appendBytesLen(e.out, p.bytes, e.flexible)
	for _, c := range p.chunks {
		e.cuts = append(e.cuts, cut{at: len(e.out), chunk: c})
	}
	if e.flexible {
		e.appendTags(p)
	}
}

// appendAborted appends the aborted transactions: none for read committed, null otherwise, as Kafka does.
func (e *fetchEncoder) appendAborted() {
	switch {
	case e.fetch.committed:
		e.out = appendArrayLen(e.out, 0, e.flexible)
	case e.flexible:
		e.out = append(e.out, 0)
	default:
		e.out = appendInt32(e.out, -1)
	}
}

// appendTags appends the diverging epoch (tag 0) and the current leader (tag 1).
func (e *fetchEncoder) appendTags(p *fetchPartition) {
	var hint leaderHint
	hinted := false
	if e.version >= 16 && p.view != nil && (errors.Is(p.err, partition.ErrNotLeader) || errors.Is(p.err, partition.ErrFencedLeaderEpoch)) {
		hint, hinted = e.fetch.api.leaderHint(p.view, p.partition)
	}
	tags := 0
	if p.diverged != nil {
		tags++
	}
	if hinted {
		tags++
	}
	e.out = appendUvarint(e.out, tags)
	if p.diverged != nil {
		e.out = appendUvarint(e.out, 0)
		e.out = appendUvarint(e.out, 4+8+1)
		e.out = appendInt32(e.out, p.diverged.epoch)
		e.out = appendInt64(e.out, p.diverged.endOffset)
		e.out = append(e.out, 0)
	}
	if hinted {
		e.out = e.leaders.append(e.out, 1, hint)
	}
}

// fetchRefusal answers a Fetch that is refused as a whole: with the answer's own error from v7 on, before with the same
// error in every partition.
type fetchRefusal struct {
	version int16
	err     error
	req     *kmsg.FetchRequest
}

// Failed implements server.Failed.
func (r *fetchRefusal) Failed() bool { return true }

// AppendTo implements server.Response.
func (r *fetchRefusal) AppendTo(dst []byte) []byte {
	resp := kmsg.NewPtrFetchResponse()
	resp.SetVersion(r.version)
	resp.ErrorCode = errorCode(r.err)
	if r.version < 7 {
		resp.Topics = r.topics()
	}
	return kmsgResponse{resp}.AppendTo(dst)
}

func (r *fetchRefusal) topics() []kmsg.FetchResponseTopic {
	topics := make([]kmsg.FetchResponseTopic, 0, len(r.req.Topics))
	for i := range r.req.Topics {
		t := kmsg.NewFetchResponseTopic()
		t.Topic = r.req.Topics[i].Topic
		for _, asked := range r.req.Topics[i].Partitions {
			p := kmsg.NewFetchResponseTopicPartition()
			p.Partition, p.ErrorCode = asked.Partition, errorCode(r.err)
			p.HighWatermark, p.LastStableOffset, p.LogStartOffset = -1, -1, -1
			p.RecordBatches = []byte{}
			t.Partitions = append(t.Partitions, p)
		}
		topics = append(topics, t)
	}
	return topics
}

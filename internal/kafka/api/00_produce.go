package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/korvet-io/korvet/internal/batch"
	"github.com/korvet-io/korvet/internal/kafka/server"
	"github.com/korvet-io/korvet/internal/partition"
)

// Produce (key 0), versions 0 to 13.
//
// v0 to v2 carry message sets (magic 0 and 1), which become record batches; Kafka 4 only advertises them. v3 and later
// carry one record batch per partition (KIP-98); v7 zstd (KIP-110); v8 errors of single records (KIP-467); v10 the
// current leader with NOT_LEADER_OR_FOLLOWER (KIP-951); v13 topic ids (KIP-516). Transactions are refused (v11 and v12
// differ from v10 only for them). Records null are answered with INVALID_RECORD; Kafka never answers them.

// producePartition is one partition's records on their way, and the answer to them.
type producePartition struct {
	index   int32
	topic   int    // index of its topic in the request
	records []byte // nil when null
	dropped bool   // the partition comes again later in the request: the last one counts

	call     *produceCall
	view     *topicView
	count    int32
	inflated int // bytes of the budget of decompressed records and of frames that are held until the outcome is known
	result   partition.Appended
	err      error
}

// produceCall is one Produce request. Its partitions are appended in parallel; the last one that is done replies.
type produceCall struct {
	*produceRequest
	api   *API
	call  *call
	began time.Time
	reply func(server.Response, error)
	open  atomic.Int32 // partitions that are not done yet, and 1 while produce runs
}

// errTransactions says why transactional producers are refused: nothing of theirs is stored and hidden.
var errTransactions = refuse(kerr.TransactionalIDAuthorizationFailed, "transactions are not supported by this broker")

func (a *API) produce(c *call, reply func(server.Response, error)) {
	req, err := decodeProduce(c.req.Body, c.version())
	if err != nil {
		reply(nil, fmt.Errorf("decode Produce version %d: %w", c.version(), err))
		return
	}
	p := &produceCall{produceRequest: req, api: a, call: c, reply: reply, began: a.now()}
	p.dropRepeated()
	refusal := p.refusal()
	p.open.Store(int32(len(req.partitions)) + 1)
	for i, at := 0, 0; i < len(req.topics); i++ {
		t := &req.topics[i]
		var view *topicView
		err := refusal
		if err == nil {
			view, err = a.produceTopic(c, t)
		}
		for end := at + t.count; at < end; at++ {
			part := &req.partitions[at]
			part.call, part.view = p, view
			p.start(part, err)
		}
	}
	p.done()
}

// refusal tells why the whole request is refused, each of its partitions with the same error.
func (p *produceCall) refusal() error {
	if p.acks < -1 || p.acks > 1 {
		return refuse(kerr.InvalidRequiredAcks, "acks is %d, not -1, 0 or 1", p.acks)
	}
	return nil
}

// produceTopic finds a topic by name, or by id from version 13 on.
func (a *API) produceTopic(c *call, t *produceTopic) (*topicView, error) {
	if c.version() >= 13 {
		return a.topicByID(c.ctx, t.id)
	}
	return a.topicByName(c.ctx, string(t.name))
}

// fewPartitions is up to how many partitions looking for repeated ones pair by pair is cheaper than a map.
const fewPartitions = 64

// dropRepeated marks all but the last of entries that name the same partition, as Kafka's map of them does.
func (p *produceCall) dropRepeated() {
	if len(p.partitions) > fewPartitions {
		p.dropRepeatedOfMany()
		return
	}
	for i := range p.partitions {
		for j := i + 1; j < len(p.partitions) && !p.partitions[i].dropped; j++ {
			p.partitions[i].dropped = p.same(&p.partitions[i], &p.partitions[j])
		}
	}
}

func (p *produceCall) same(a, b *producePartition) bool {
	if a.index != b.index {
		return false
	}
	ta, tb := &p.topics[a.topic], &p.topics[b.topic]
	return a.topic == b.topic || ta.id == tb.id && bytes.Equal(ta.name, tb.name)
}

func (p *produceCall) dropRepeatedOfMany() {
	last := make(map[topicPartition]*producePartition, len(p.partitions))
	for i := range p.partitions {
		part := &p.partitions[i]
		t := &p.topics[part.topic]
		key := topicPartition{topic: string(t.name), id: t.id, partition: part.index}
		if before := last[key]; before != nil {
			before.dropped = true
		}
		last[key] = part
	}
}

// start appends one partition's records, unless refusal or the records themselves forbid it.
func (p *produceCall) start(part *producePartition, refusal error) {
	if part.dropped {
		p.done()
		return
	}
	b, err := p.admit(part, refusal)
	if err != nil {
		part.finish(partition.Appended{BaseOffset: -1, LogStartOffset: -1, AppendTime: -1}, err)
		return
	}
	part.count = b.Count
	p.api.logs.Append(part.view.ref(part.index), b, partition.AppendOptions{
		AllReplicas:   p.acks == -1,
		MinReplicas:   max(part.view.MinInsyncReplicas, 1),
		LogAppendTime: part.view.LogAppendTime,
		TimeoutMs:     p.timeout(),
		Values:        part.view.values,
		Segment:       part.view.segment(),
	}, part.finish)
}

// timeout is the smaller of the client's limit and ours, in ms; 0 stands for none.
func (p *produceCall) timeout() int64 {
	ours, theirs := p.api.settings.ProduceTimeout.Milliseconds(), int64(max(p.timeoutMs, 0))
	if ours == 0 || theirs == 0 {
		return max(ours, theirs)
	}
	return min(ours, theirs)
}

// admit validates one partition's records.
func (p *produceCall) admit(part *producePartition, refusal error) (*batch.Batch, error) {
	if refusal != nil {
		return nil, refusal
	}
	if part.view.Internal() { // as in Kafka, clients may read it
		return nil, refuse(kerr.InvalidTopicException, "%s is an internal topic: only brokers write to it", part.view.Name)
	}
	if !part.view.has(part.index) {
		return nil, fmt.Errorf("partition %d of %d: %w", part.index, part.view.Partitions, partition.ErrUnknownPartition)
	}
	room := p.api.heldSize(part.view, part.records, p.call.version())
	if err := p.api.inflated.acquire(p.call.ctx, room); err != nil {
		return nil, err
	}
	b, err := p.api.admitRecords(part.view, p.own(part.records), p.call.version())
	if err != nil {
		p.api.inflated.release(room)
		return nil, err
	}
	if room > 0 {
		part.inflated = min(part.view.held(b), room)
		p.api.inflated.shrink(room, part.inflated)
	}
	return b, nil
}

// ownPart is up to which part of a request a batch is copied, so that the tail cache does not keep all of the request for
// it. The batches of some partitions in one request keep it together: copying each would cost more than it saves.
const ownPart = 8

// own returns records as they may be kept.
func (p *produceCall) own(records []byte) []byte {
	if ownPart*len(records) < len(p.call.req.Body) {
		return bytes.Clone(records)
	}
	return records
}

// finish takes the outcome of a partition. It is the callback of Logs.Append.
func (part *producePartition) finish(result partition.Appended, err error) {
	p := part.call
	p.api.inflated.release(part.inflated)
	part.result, part.err = result, err
	if err != nil {
		part.result = partition.Appended{BaseOffset: -1, LogStartOffset: -1, AppendTime: -1}
		p.api.failed(p.call, "produce", err)
	} else {
		p.api.metrics.Produced(part.view.Name, int(part.count), len(part.records), p.api.now().Sub(p.began))
	}
	p.done()
}

// done counts a partition as done and replies after the last.
func (p *produceCall) done() {
	if p.open.Add(-1) > 0 {
		return
	}
	if p.acks != 0 {
		p.reply((*produceResponse)(p), nil)
		return
	}
	// There is no answer to acks=0 that could carry an error: closing makes the client ask for metadata again.
	for i := range p.partitions {
		if err := p.partitions[i].err; err != nil {
			p.reply(nil, fmt.Errorf("produce with acks=0: %w", err))
			return
		}
	}
	p.reply(nil, nil)
}

// topicByName and topicByID find a topic with its settings in force.
func (a *API) topicByName(ctx context.Context, name string) (*topicView, error) {
	t, err := a.topics.Topic(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("find topic %q: %w", name, err)
	}
	return a.view(t), nil
}

func (a *API) topicByID(ctx context.Context, id [16]byte) (*topicView, error) {
	t, err := a.topics.TopicByID(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("find topic id %x: %w", id, err)
	}
	return a.view(t), nil
}

// recordErrors returns the batch indexes of the records that err refuses, and why (KIP-467).
func recordErrors(err error) ([]int32, string) {
	var r *batch.RecordError
	if errors.As(err, &r) {
		return r.Indexes, r.Reason
	}
	return nil, ""
}

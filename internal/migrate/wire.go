package migrate

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	attempts  = 60 // of a request that fails in a way that can pass
	pauseStep = 50 * time.Millisecond
	pauseMost = time.Second
	fetchMost = 8 << 20 // bytes of an answer to Fetch
)

// ErrTakenOver is the end of a run after which another one was started.
var ErrTakenOver = errors.New("another run of this migration has taken over")

// Cluster is a cluster through its Kafka port. Its methods may be called at the same time. What transactions have not
// committed is not read.
type Cluster struct {
	Client *kgo.Client
	Admin  *kadm.Client
	Name   string // for messages; may be empty
}

// NewCluster makes one of a client, which stays the caller's.
func NewCluster(client *kgo.Client) *Cluster {
	return &Cluster{Client: client, Admin: kadm.NewClient(client)}
}

// topic is a topic as metadata has it.
type topic struct {
	name    string
	id      kadm.TopicID
	leaders []int32 // by partition
}

func (t *topic) idText() string { return base64.RawURLEncoding.EncodeToString(t.id[:]) }

// missingTopic says that a cluster has no such topic. errors.Is finds kerr.UnknownTopicOrPartition in it.
type missingTopic struct{ topic, cluster string }

func (e *missingTopic) Error() string {
	if e.cluster == "" {
		return fmt.Sprintf("topic %s does not exist", e.topic)
	}
	return fmt.Sprintf("topic %s does not exist at %s", e.topic, e.cluster)
}

func (e *missingTopic) Is(target error) bool { return target == kerr.UnknownTopicOrPartition }

// lookUp reads a topic. kerr.UnknownTopicOrPartition tells that there is none. It asks a broker each time: clients
// remember for seconds that a topic was not there.
func (c *Cluster) lookUp(ctx context.Context, name string) (*topic, error) {
	req := kmsg.NewPtrMetadataRequest()
	one := kmsg.NewMetadataRequestTopic()
	one.Topic = &name
	req.Topics = append(req.Topics, one)
	resp, err := req.RequestWith(ctx, c.Client)
	if err == nil && len(resp.Topics) != 1 {
		err = errors.New("the broker does not say")
	}
	if err == nil {
		err = kerr.ErrorForCode(resp.Topics[0].ErrorCode)
	}
	if errors.Is(err, kerr.UnknownTopicOrPartition) {
		return nil, &missingTopic{name, c.Name}
	}
	if err != nil {
		return nil, fmt.Errorf("describe topic %s: %w", name, err)
	}
	t := &topic{name: name, id: resp.Topics[0].TopicID, leaders: make([]int32, len(resp.Topics[0].Partitions))}
	for _, p := range resp.Topics[0].Partitions {
		if p.Partition < 0 || int(p.Partition) >= len(t.leaders) {
			return nil, fmt.Errorf("describe topic %s: partition %d of %d", name, p.Partition, len(t.leaders))
		}
		t.leaders[p.Partition] = p.Leader
	}
	return t, nil
}

// retry calls one until it has no error that can pass, looking the topic up again between two calls.
func (c *Cluster) retry(ctx context.Context, t *topic, doing string, one func(*topic) error) error {
	pause := pauseStep
	for n := 1; ; n++ {
		err := one(t)
		if err == nil || !passing(err) || n == attempts || ctx.Err() != nil {
			if err != nil {
				return fmt.Errorf("%s topic %s: %w", doing, t.name, err)
			}
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
		pause = min(2*pause, pauseMost)
		if fresh, err := c.lookUp(ctx, t.name); err == nil && fresh.id == t.id && len(fresh.leaders) >= len(t.leaders) {
			t = fresh
		}
	}
}

// passing tells whether an error may be gone at the next try. An error that no broker sent is one of the connection.
func passing(err error) bool {
	var code *kerr.Error
	if errors.As(err, &code) {
		return code.Retriable
	}
	var broken *unusable
	return !errors.As(err, &broken) && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)
}

// unusable is an answer that no further try makes better.
type unusable struct{ error }

// offsets asks for one offset of each partition: logStart, logEnd or logHigh.
func (c *Cluster) offsets(ctx context.Context, t *topic, at logOffset) ([]int64, error) {
	offsets := map[int32]int64{}
	err := c.retry(ctx, t, "list offsets of", func(t *topic) error {
		byLeader := map[int32][]int32{}
		for p, leader := range t.leaders {
			byLeader[leader] = append(byLeader[leader], int32(p))
		}
		return eachBroker(byLeader, func(leader int32, partitions []int32) (map[int32]int64, error) {
			return c.offsetsFrom(ctx, t, leader, partitions, at)
		}, offsets)
	})
	if err != nil {
		return nil, err
	}
	list := make([]int64, len(t.leaders))
	for p := range list {
		list[p] = offsets[int32(p)]
	}
	return list, nil
}

func (c *Cluster) offsetsFrom(ctx context.Context, t *topic, leader int32, partitions []int32, at logOffset) (map[int32]int64, error) {
	req := kmsg.NewPtrListOffsetsRequest()
	req.IsolationLevel = at.isolation
	part := kmsg.NewListOffsetsRequestTopic()
	part.Topic = t.name
	for _, p := range partitions {
		one := kmsg.NewListOffsetsRequestTopicPartition()
		one.Partition, one.Timestamp = p, at.timestamp
		part.Partitions = append(part.Partitions, one)
	}
	req.Topics = append(req.Topics, part)
	resp, err := req.RequestWith(ctx, c.Client.Broker(int(leader)))
	if err != nil {
		return nil, err
	}
	offsets := map[int32]int64{}
	for i := range resp.Topics {
		for _, one := range resp.Topics[i].Partitions {
			if err := kerr.ErrorForCode(one.ErrorCode); err != nil {
				return nil, fmt.Errorf("partition %d: %w", one.Partition, err)
			}
			offsets[one.Partition] = one.Offset
		}
	}
	if len(offsets) != len(partitions) {
		return nil, errors.New("the broker does not tell all offsets")
	}
	return offsets, nil
}

// logOffset is a place of a log, as ListOffsets asks for it.
type logOffset struct {
	timestamp int64
	isolation int8
}

var (
	logStart = logOffset{timestamp: -2}
	// logEnd is below all transactions that are open: so far there are records to copy.
	logEnd  = logOffset{timestamp: -1, isolation: readCommitted}
	logHigh = logOffset{timestamp: -1} // above them
)

const readCommitted = 1 // Kafka's isolation level

// fetched is what a partition had at a position.
type fetched struct {
	records []*kgo.Record
	next    int64 // where to go on: above the records, and above holes behind them
	end     int64 // the log's end, below open transactions
}

// fetch reads partitions from positions on. It waits up to a time for the first record; a partition may have none in
// the answer. Below the log's start it goes on there.
func (c *Cluster) fetch(ctx context.Context, t *topic, from map[int32]int64, wait time.Duration) (map[int32]fetched, error) {
	all := map[int32]fetched{}
	err := c.retry(ctx, t, "read", func(t *topic) error {
		return eachBroker(undone(t, from, all), func(leader int32, partitions []int32) (map[int32]fetched, error) {
			return c.fetchFrom(ctx, t, leader, partitions, from, wait)
		}, all)
	})
	return all, err
}

// undone are the partitions that have no answer yet, by their leaders.
func undone[A, B any](t *topic, asked map[int32]A, answered map[int32]B) map[int32][]int32 {
	byLeader := map[int32][]int32{}
	for p := range asked {
		if _, done := answered[p]; !done {
			byLeader[t.leaders[p]] = append(byLeader[t.leaders[p]], p)
		}
	}
	return byLeader
}

// eachBroker asks several at the same time and puts their answers together.
func eachBroker[T any](byLeader map[int32][]int32, ask func(leader int32, partitions []int32) (map[int32]T, error), into map[int32]T) error {
	type answer struct {
		of  map[int32]T
		err error
	}
	answers := make(chan answer, len(byLeader))
	for leader, partitions := range byLeader {
		go func() {
			of, err := ask(leader, partitions)
			answers <- answer{of, err}
		}()
	}
	var first error
	for range byLeader {
		a := <-answers
		for p, one := range a.of {
			into[p] = one
		}
		if first == nil || !passing(a.err) && a.err != nil {
			first = a.err
		}
	}
	return first
}

func (c *Cluster) fetchFrom(ctx context.Context, t *topic, leader int32, partitions []int32, from map[int32]int64, wait time.Duration) (map[int32]fetched, error) {
	req := kmsg.NewPtrFetchRequest()
	req.MaxWaitMillis, req.MinBytes, req.MaxBytes = int32(wait.Milliseconds()), 1, fetchMost
	req.SessionEpoch, req.IsolationLevel = -1, readCommitted
	part := kmsg.NewFetchRequestTopic()
	part.Topic, part.TopicID = t.name, t.id
	for _, p := range partitions {
		one := kmsg.NewFetchRequestTopicPartition()
		one.Partition, one.FetchOffset, one.PartitionMaxBytes = p, from[p], fetchMost/8
		part.Partitions = append(part.Partitions, one)
	}
	req.Topics = append(req.Topics, part)
	resp, err := req.RequestWith(ctx, c.Client.Broker(int(leader)))
	if err != nil {
		return nil, err
	}
	if err := kerr.ErrorForCode(resp.ErrorCode); err != nil {
		return nil, err
	}
	got := map[int32]fetched{}
	for i := range resp.Topics {
		for j := range resp.Topics[i].Partitions {
			one := &resp.Topics[i].Partitions[j]
			f, err := c.decode(ctx, t, one, from[one.Partition])
			if err != nil {
				return got, fmt.Errorf("partition %d at offset %d: %w", one.Partition, from[one.Partition], err)
			}
			got[one.Partition] = f
		}
	}
	return got, nil
}

func (c *Cluster) decode(ctx context.Context, t *topic, p *kmsg.FetchResponseTopicPartition, from int64) (fetched, error) {
	if p.ErrorCode == kerr.OffsetOutOfRange.Code {
		return c.jump(ctx, t, p.Partition, from)
	}
	if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
		return fetched{}, err
	}
	read, next := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{Offset: from, IsolationLevel: kgo.ReadCommitted(), Topic: t.name, Partition: p.Partition}, p, kgo.DefaultDecompressor(), nil)
	if read.Err != nil {
		return fetched{}, &unusable{read.Err}
	}
	end := p.LastStableOffset
	if end < 0 { // the broker does not know of transactions
		end = p.HighWatermark
	}
	return fetched{records: read.Records, next: max(from, next), end: end}, nil
}

// jump goes on at the log's start, when that has risen above the position.
func (c *Cluster) jump(ctx context.Context, t *topic, partition int32, from int64) (fetched, error) {
	starts, err := c.offsets(ctx, t, logStart)
	if err != nil {
		return fetched{}, err
	}
	ends, err := c.offsets(ctx, t, logEnd)
	if err != nil {
		return fetched{}, err
	}
	if from > ends[partition] {
		return fetched{}, &unusable{fmt.Errorf("its log ends at %d: it has lost records", ends[partition])}
	}
	return fetched{next: max(from, starts[partition]), end: ends[partition]}, nil
}

// produce appends one batch to each partition and returns the offsets that their first records have. A batch is sent
// again until its outcome is known: the broker appends a sequence of a producer once.
func (c *Cluster) produce(ctx context.Context, t *topic, batches map[int32][]byte) (map[int32]int64, error) {
	bases := map[int32]int64{}
	err := c.retry(ctx, t, "write to", func(t *topic) error {
		return eachBroker(undone(t, batches, bases), func(leader int32, partitions []int32) (map[int32]int64, error) {
			return c.produceTo(ctx, t, leader, partitions, batches)
		}, bases)
	})
	return bases, err
}

// produceWait is how long a broker may take to append, in ms.
const produceWait = 10_000

func (c *Cluster) produceTo(ctx context.Context, t *topic, leader int32, partitions []int32, batches map[int32][]byte) (map[int32]int64, error) {
	req := kmsg.NewPtrProduceRequest()
	req.Acks, req.TimeoutMillis = -1, produceWait
	part := kmsg.NewProduceRequestTopic()
	part.Topic, part.TopicID = t.name, t.id
	for _, p := range partitions {
		one := kmsg.NewProduceRequestTopicPartition()
		one.Partition, one.Records = p, batches[p]
		part.Partitions = append(part.Partitions, one)
	}
	req.Topics = append(req.Topics, part)
	resp, err := req.RequestWith(ctx, c.Client.Broker(int(leader)))
	if err != nil {
		return nil, err
	}
	bases := map[int32]int64{}
	var failed error
	for i := range resp.Topics {
		for j := range resp.Topics[i].Partitions {
			one := &resp.Topics[i].Partitions[j]
			if err := kerr.ErrorForCode(one.ErrorCode); err != nil {
				if one.ErrorMessage != nil {
					err = fmt.Errorf("%w (%s)", err, *one.ErrorMessage)
				}
				if failed == nil || !passing(err) {
					failed = fmt.Errorf("partition %d: %w", one.Partition, err)
				}
				continue
			}
			bases[one.Partition] = one.BaseOffset
		}
	}
	return bases, failed
}

// Package probe asks a broker one question at a time, without retries, and tells its answer: what a test of error codes
// needs and what client libraries hide.
package probe

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// patience bounds the wait for an answer, so that a broker that never answers fails a test instead of hanging it.
const patience = 30 * time.Second

// Broker is the host:port of a broker. Every question opens a connection of its own.
type Broker string

// CreateTopic creates a topic. A Kafka error code is returned as one of package kerr's errors, as everywhere here.
func (b Broker) CreateTopic(topic string, partitions int, settings map[string]string) error {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Version = 4
	req.TimeoutMillis = 10_000
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = topic, int32(partitions), 1
	for name, value := range settings {
		c := kmsg.NewCreateTopicsRequestTopicConfig()
		c.Name, c.Value = name, &value
		t.Configs = append(t.Configs, c)
	}
	req.Topics = append(req.Topics, t)
	resp, err := ask(b, req)
	if err != nil {
		return err
	}
	return kerr.ErrorForCode(resp.(*kmsg.CreateTopicsResponse).Topics[0].ErrorCode)
}

// Produce sends one record in a plain batch to partition 0 and returns the offset it was acknowledged at.
func (b Broker) Produce(topic, value string, acks int16) (int64, error) {
	return b.produce(topic, acks, batch(value, -1, -1, -1))
}

// Sequence is an idempotent producer's place: its id, epoch and the sequence number of the next record.
type Sequence struct {
	ID    int64
	Epoch int16
	Next  int32
}

// NewSequence asks for a producer id.
func (b Broker) NewSequence() (Sequence, error) {
	req := kmsg.NewPtrInitProducerIDRequest()
	req.Version = 1
	resp, err := ask(b, req)
	if err != nil {
		return Sequence{}, err
	}
	r := resp.(*kmsg.InitProducerIDResponse)
	return Sequence{ID: r.ProducerID, Epoch: r.ProducerEpoch}, kerr.ErrorForCode(r.ErrorCode)
}

// ProduceSequenced sends one record of an idempotent producer to partition 0, with acks=all.
func (b Broker) ProduceSequenced(topic, value string, s Sequence) (int64, error) {
	return b.produce(topic, -1, batch(value, s.ID, s.Epoch, s.Next))
}

func (b Broker) produce(topic string, acks int16, records []byte) (int64, error) {
	req := kmsg.NewPtrProduceRequest()
	req.Version = 7
	req.Acks, req.TimeoutMillis = acks, int32(patience.Milliseconds())
	p := kmsg.NewProduceRequestTopicPartition()
	p.Records = records
	t := kmsg.NewProduceRequestTopic()
	t.Topic, t.Partitions = topic, append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	resp, err := ask(b, req)
	if err != nil {
		return -1, err
	}
	got := resp.(*kmsg.ProduceResponse).Topics[0].Partitions[0]
	return got.BaseOffset, kerr.ErrorForCode(got.ErrorCode)
}

// Answer is what Fetch found.
type Answer struct {
	HighWatermark int64
	Next          int64 // one after the last record of the batches, or the offset asked for when there are none
	LeaderEpoch   int32 // of the last batch
}

// Fetch reads partition 0 from offset without waiting for more.
func (b Broker) Fetch(topic string, offset int64) (Answer, error) {
	req := kmsg.NewPtrFetchRequest()
	req.Version = 11
	req.MaxBytes = 64 << 20
	p := kmsg.NewFetchRequestTopicPartition()
	p.FetchOffset, p.PartitionMaxBytes, p.CurrentLeaderEpoch = offset, 64<<20, -1
	t := kmsg.NewFetchRequestTopic()
	t.Topic, t.Partitions = topic, append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	resp, err := ask(b, req)
	if err != nil {
		return Answer{}, err
	}
	r := resp.(*kmsg.FetchResponse)
	if r.ErrorCode != 0 {
		return Answer{}, kerr.ErrorForCode(r.ErrorCode)
	}
	got := r.Topics[0].Partitions[0]
	a := Answer{HighWatermark: got.HighWatermark, Next: offset}
	for rest := got.RecordBatches; len(rest) > 0; {
		var rb kmsg.RecordBatch
		if err := rb.ReadFrom(rest); err != nil {
			return a, fmt.Errorf("parse record batch: %w", err)
		}
		a.Next, a.LeaderEpoch = rb.FirstOffset+int64(rb.LastOffsetDelta)+1, rb.PartitionLeaderEpoch
		rest = rest[12+rb.Length:]
	}
	return a, kerr.ErrorForCode(got.ErrorCode)
}

// EndOfEpoch asks where a leader epoch of partition 0 ended (KIP-320). It returns the largest epoch not above it that
// has records, and the offset after that epoch's last one.
func (b Broker) EndOfEpoch(topic string, epoch int32) (int32, int64, error) {
	req := kmsg.NewPtrOffsetForLeaderEpochRequest()
	req.Version = 3
	req.ReplicaID = -1
	p := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
	p.CurrentLeaderEpoch, p.LeaderEpoch = -1, epoch
	t := kmsg.NewOffsetForLeaderEpochRequestTopic()
	t.Topic, t.Partitions = topic, append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	resp, err := ask(b, req)
	if err != nil {
		return -1, -1, err
	}
	got := resp.(*kmsg.OffsetForLeaderEpochResponse).Topics[0].Partitions[0]
	return got.LeaderEpoch, got.EndOffset, kerr.ErrorForCode(got.ErrorCode)
}

// batch encodes a record batch of one record.
func batch(value string, producer int64, epoch int16, sequence int32) []byte {
	now := time.Now().UnixMilli()
	r := kmsg.Record{Value: []byte(value)}
	r.Length = int32(len(r.AppendTo(nil))) - 1 // less the one byte of this very length, 0
	rb := kmsg.RecordBatch{
		PartitionLeaderEpoch: -1, Magic: 2, FirstTimestamp: now, MaxTimestamp: now,
		ProducerID: producer, ProducerEpoch: epoch, FirstSequence: sequence, NumRecords: 1, Records: r.AppendTo(nil),
	}
	const head, crc, covered = 61, 17, 21 // sizes and places of a batch's fields
	rb.Length = int32(head - 12 + len(rb.Records))
	b := rb.AppendTo(nil)
	binary.BigEndian.PutUint32(b[crc:], crc32.Checksum(b[covered:], crc32.MakeTable(crc32.Castagnoli)))
	return b
}

func ask(b Broker, req kmsg.Request) (kmsg.Response, error) {
	c, err := net.DialTimeout("tcp", string(b), patience)
	if err != nil {
		return nil, fmt.Errorf("dial broker: %w", err)
	}
	defer func() { _ = c.Close() }()
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		return nil, fmt.Errorf("set deadline: %w", err)
	}
	if _, err := c.Write(kmsg.NewRequestFormatter(kmsg.FormatterClientID("probe")).AppendRequest(nil, req, 1)); err != nil {
		return nil, fmt.Errorf("write request: %w", err)
	}
	var head [8]byte
	if _, err := io.ReadFull(c, head[:]); err != nil {
		return nil, fmt.Errorf("read answer: %w", err)
	}
	body := make([]byte, max(4, binary.BigEndian.Uint32(head[:]))-4)
	if _, err := io.ReadFull(c, body); err != nil {
		return nil, fmt.Errorf("read answer: %w", err)
	}
	resp := req.ResponseKind()
	resp.SetVersion(req.GetVersion())
	if err := resp.ReadFrom(body); err != nil {
		return nil, fmt.Errorf("parse answer: %w", err)
	}
	return resp, nil
}

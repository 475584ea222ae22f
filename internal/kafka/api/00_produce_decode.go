package api

import (
	"fmt"

	"github.com/google/uuid"
)

// maxProducePartitions bounds the partitions of one Produce request, whose smallest take six bytes on the wire.
const maxProducePartitions = 50_000

// produceRequest is a Produce request of any version. Its names and records alias the frame.
type produceRequest struct {
	acks       int16
	timeoutMs  int32
	topics     []produceTopic
	partitions []producePartition // of all topics, in the request's order
}

type produceTopic struct {
	name  []byte    // v0 to v12
	id    uuid.UUID // v13
	count int       // of its partitions
}

// decodeProduce reads a Produce request's body. Bytes that follow it are ignored, as by Kafka.
func decodeProduce(body []byte, version int16) (*produceRequest, error) {
	r := wireReader{src: body, flexible: version >= 9}
	req := &produceRequest{}
	if version >= 3 {
		r.string() // the transactional id: what counts is whether a batch is transactional
	}
	req.acks = r.int16()
	req.timeoutMs = r.int32()
	topics := r.array(2)
	if topics > maxProducePartitions {
		return nil, fmt.Errorf("%w: %d topics, at most %d are allowed", errMalformed, topics, maxProducePartitions)
	}
	req.topics = make([]produceTopic, 0, topics)
	for ; topics > 0 && !r.failed; topics-- {
		if err := req.decodeTopic(&r, version); err != nil {
			return nil, err
		}
	}
	r.tags()
	if r.failed {
		return nil, errMalformed
	}
	return req, nil
}

func (req *produceRequest) decodeTopic(r *wireReader, version int16) error {
	var t produceTopic
	if version >= 13 {
		t.id = r.uuid()
	} else {
		name, null := r.string()
		if null {
			return fmt.Errorf("%w: a topic name is null", errMalformed)
		}
		t.name = name
	}
	t.count = r.array(5)
	if len(req.partitions)+t.count > maxProducePartitions {
		return fmt.Errorf("%w: more than %d partitions", errMalformed, maxProducePartitions)
	}
	for i := 0; i < t.count && !r.failed; i++ {
		p := producePartition{index: r.int32(), records: r.bytes(), topic: len(req.topics)}
		r.tags()
		req.partitions = append(req.partitions, p)
	}
	r.tags()
	req.topics = append(req.topics, t)
	return nil
}

package conformance

import (
	"fmt"
	"math"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// sent is a batch of an idempotent producer.
type sent struct {
	epoch    int16
	sequence int32
	records  int
}

// one is a batch of one record.
func one(epoch int16, sequence int32) sent { return sent{epoch, sequence, 1} }

func idempotentRows() []row {
	return []row{
		{name: "0:0 0:1 0:1", do: sequences(one(0, 0), one(0, 1), one(0, 1)), want: "0 1 1, end 2"},
		{name: "0:0 to 0:4, then 0:0 (fifth last)", do: sequences(one(0, 0), one(0, 1), one(0, 2), one(0, 3), one(0, 4), one(0, 0)), want: "0 1 2 3 4 0, end 5"},
		{name: "each of the last five again", do: sequences(one(0, 0), one(0, 1), one(0, 2), one(0, 3), one(0, 4), one(0, 0), one(0, 1), one(0, 2), one(0, 3), one(0, 4), one(0, 7)), want: "0 1 2 3 4 0 1 2 3 4 OUT_OF_ORDER_SEQUENCE_NUMBER, end 5"},
		{name: "0:0 to 0:5, then 0:0 (sixth last)", do: sequences(one(0, 0), one(0, 1), one(0, 2), one(0, 3), one(0, 4), one(0, 5), one(0, 0)), want: "0 1 2 3 4 5 OUT_OF_ORDER_SEQUENCE_NUMBER, end 6"},
		{name: "0:0 0:2", do: sequences(one(0, 0), one(0, 2)), want: "0 OUT_OF_ORDER_SEQUENCE_NUMBER, end 1"},
		{name: "first batch 0:5 of a new producer id", do: sequences(one(0, 5), one(0, 6)), want: "0 1, end 2"},
		{name: "first batch 0:17 of a never issued producer id", do: neverIssued, want: "OK @0"},
		{name: "0:-1", do: sequences(one(0, -1)), want: "INVALID_RECORD, end 0"},
		{name: "0:0 0:1 1:0", do: sequences(one(0, 0), one(0, 1), one(1, 0)), want: "0 1 2, end 3"},
		{name: "epochs 0 then 7", do: sequences(one(0, 0), one(7, 0)), want: "0 1, end 2"},
		{name: "0:0 0:1 1:2", do: sequences(one(0, 0), one(0, 1), one(1, 2)), want: "0 1 OUT_OF_ORDER_SEQUENCE_NUMBER, end 2"},
		{name: "1:0 0:1", do: sequences(one(1, 0), one(0, 1)), want: "0 INVALID_PRODUCER_EPOCH, end 1"},
		{name: "1:0 0:0", do: sequences(one(1, 0), one(0, 0)), want: "0 INVALID_PRODUCER_EPOCH, end 1"},
		{name: "0:2147483647 0:0", do: sequences(one(0, math.MaxInt32), one(0, 0)), want: "0 1, end 2"},
		{name: "three records from 2147483646, next at 1", do: sequences(sent{0, math.MaxInt32 - 1, 3}, one(0, 1), one(0, 1)), want: "0 3 3, end 4"},
		{name: "three records at 0, next at 3", do: sequences(sent{0, 0, 3}, one(0, 3)), want: "0 3, end 4"},
		{name: "three records at 0, next at 1", do: sequences(sent{0, 0, 3}, one(0, 1)), want: "0 OUT_OF_ORDER_SEQUENCE_NUMBER, end 3"},
		{name: "three records at 0, then four at 0", do: sequences(sent{0, 0, 3}, sent{0, 0, 4}), want: "0 OUT_OF_ORDER_SEQUENCE_NUMBER, end 3"},
		{name: "same sequence and count, other content", do: duplicateWithOtherContent, want: "0 0, end 1, value 1"},
		{name: "the state outlives the records", do: duplicateAfterDelete, want: "0, OK 1, 0, 1"},
		{name: "acks=1, the same rules", do: duplicateWithAcksOne, want: "OK @0, OK @0, OUT_OF_ORDER_SEQUENCE_NUMBER"},
		{name: "duplicate of a pipelined batch", do: duplicatePipelined, want: "0 0 1 1, end 2"},
		{name: "two producers", do: twoProducers, want: "0 1 2 3"},
	}
}

func (s sent) batch(id int64) *recordBatch {
	vs := make([]string, s.records)
	return values(vs...).from(id, s.epoch, s.sequence)
}

// base sends a batch and tells its base offset or the error.
func (c *conn) base(t topic, acks int16, b *recordBatch) string {
	c.t.Helper()
	return strings.TrimPrefix(c.produced(produceTo(9, t, acks, b.bytes())), "OK @")
}

// sequences sends batches of one new producer, one after the other.
func sequences(batches ...sent) func(*conn) string {
	return func(c *conn) string {
		t, id := c.newTopic(), c.newProducer()
		var answers []string
		for _, b := range batches {
			answers = append(answers, c.base(t, -1, b.batch(id)))
		}
		return fmt.Sprintf("%s, end %d", strings.Join(answers, " "), c.end(t))
	}
}

func neverIssued(c *conn) string {
	return c.produced(produceTo(9, c.newTopic(), -1, values("v").from(1<<60, 0, 17).bytes()))
}

func duplicateWithOtherContent(c *conn) string {
	t, id := c.newTopic(), c.newProducer()
	first := c.base(t, -1, values("1").from(id, 0, 0))
	second := c.base(t, -1, values("2").from(id, 0, 0))
	return fmt.Sprintf("%s %s, end %d, value %s", first, second, c.end(t), c.batches(t, 0)[0].records[0].Value)
}

func duplicateAfterDelete(c *conn) string {
	t, id := c.newTopic(), c.newProducer()
	return strings.Join([]string{
		c.base(t, -1, one(0, 0).batch(id)),
		c.deleted(t, -1),
		c.base(t, -1, one(0, 0).batch(id)),
		c.base(t, -1, one(0, 1).batch(id)),
	}, ", ")
}

func duplicateWithAcksOne(c *conn) string {
	t, id := c.newTopic(), c.newProducer()
	var answers []string
	for _, sequence := range []int32{0, 0, 2} {
		answers = append(answers, c.produced(produceTo(9, t, 1, one(0, sequence).batch(id).bytes())))
	}
	return strings.Join(answers, ", ")
}

// duplicatePipelined sends each batch twice without waiting for the first answer.
func duplicatePipelined(c *conn) string {
	t, id := c.newTopic(), c.newProducer()
	type pending struct {
		req *kmsg.ProduceRequest
		id  int32
	}
	var all []pending
	for _, sequence := range []int32{0, 0, 1, 1} {
		req := produceTo(9, t, -1, one(0, sequence).batch(id).bytes())
		all = append(all, pending{req, c.send(req)})
	}
	var answers []string
	for _, p := range all {
		resp, err := c.receive(p.req, p.id)
		if err != nil {
			return outcome(err)
		}
		answers = append(answers, strings.TrimPrefix(describeProduced(resp.(*kmsg.ProduceResponse).Topics[0].Partitions[0]), "OK @"))
	}
	return fmt.Sprintf("%s, end %d", strings.Join(answers, " "), c.end(t))
}

func twoProducers(c *conn) string {
	t, a, b := c.newTopic(), c.newProducer(), c.newProducer()
	if a == b {
		return "one id twice"
	}
	return strings.Join([]string{
		c.base(t, -1, one(0, 0).batch(a)), c.base(t, -1, one(0, 0).batch(b)),
		c.base(t, -1, one(0, 1).batch(a)), c.base(t, -1, one(0, 1).batch(b)),
	}, " ")
}

func initProducerRows() []row {
	rows := []row{
		{name: "transactional id empty", do: initialised(4, kmsg.StringPtr(""), -1, -1), want: "INVALID_REQUEST"},
		{name: "epoch without id", do: initialised(4, nil, -1, 3), want: "INVALID_REQUEST"},
		{name: "a known id, no transactional id", do: initialisedKnown, want: "another id, epoch 0"},
	}
	for version := int16(0); version <= 5; version++ {
		rows = append(rows,
			row{name: fmt.Sprintf("v%d", version), do: initialised(version, nil, -1, -1), want: "OK epoch 0"},
			row{name: fmt.Sprintf("transactional id in v%d", version), do: initialised(version, kmsg.StringPtr("tx-"+newName()), -1, -1), want: "OK epoch 0", korvet: differs("TRANSACTIONAL_ID_AUTHORIZATION_FAILED", "Transactions")},
		)
	}
	return rows
}

// initialised waits while Kafka loads its coordinator.
func initialised(version int16, transactionalID *string, id int64, epoch int16) func(*conn) string {
	return func(c *conn) string {
		c.awaitCoordinator(transactionCoordinator)
		var resp *kmsg.InitProducerIDResponse
		c.eventually("coordinator loaded", func() bool {
			resp = ask[*kmsg.InitProducerIDResponse](c, initProducer(version, transactionalID, id, epoch))
			switch code(resp.ErrorCode) {
			case "COORDINATOR_LOAD_IN_PROGRESS", "COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR":
				return false
			}
			return true
		})
		if resp.ErrorCode != 0 {
			return code(resp.ErrorCode)
		}
		return fmt.Sprintf("OK epoch %d", resp.ProducerEpoch)
	}
}

func initialisedKnown(c *conn) string {
	id := c.newProducer()
	resp := ask[*kmsg.InitProducerIDResponse](c, initProducer(4, nil, id, 0))
	if resp.ErrorCode == 0 && resp.ProducerID != id {
		return fmt.Sprintf("another id, epoch %d", resp.ProducerEpoch)
	}
	return code(resp.ErrorCode)
}

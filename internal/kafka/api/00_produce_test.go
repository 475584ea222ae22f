package api

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/korvet-io/korvet/internal/batch"
	"github.com/korvet-io/korvet/internal/metadata"
	"github.com/korvet-io/korvet/internal/partition"
	"github.com/korvet-io/korvet/internal/record"
)

// produceOf makes a request with acks=all that brings each of the records to partition 0, 1 ... of the topic.
func produceOf(topic string, records ...[]byte) *kmsg.ProduceRequest {
	req := kmsg.NewPtrProduceRequest()
	req.Acks = -1
	rt := kmsg.NewProduceRequestTopic()
	rt.Topic = topic
	for i, r := range records {
		rp := kmsg.NewProduceRequestTopicPartition()
		rp.Partition, rp.Records = int32(i), r
		rt.Partitions = append(rt.Partitions, rp)
	}
	req.Topics = append(req.Topics, rt)
	return req
}

// produce produces to partition 0 and returns its answer.
func (b *broker) produce(topic string, version int16, records []byte) kmsg.ProduceResponseTopicPartition {
	b.t.Helper()
	return do[*kmsg.ProduceResponse](b, produceOf(topic, records), version).Topics[0].Partitions[0]
}

// changed returns records with a byte changed and, unless the change is to the CRC, the CRC right again.
func changed(records []byte, at int, value ...byte) []byte {
	out := bytes.Clone(records)
	copy(out[at:], value)
	if at > 20 {
		binary.BigEndian.PutUint32(out[17:], crcOf(out))
	}
	return out
}

func TestProduceAnswersInEveryVersion(t *testing.T) {
	for version := int16(0); version <= 13; version++ {
		b := newBroker(t, nil)
		topic, _ := b.topics.Topic(t.Context(), "t3")
		records := valuesOf("a", "b")
		if version < 3 {
			records = messageSet("a", "b")
		}
		req := produceOf("t3", records, bytes.Clone(records))
		req.Topics[0].TopicID = topic.ID
		req.Topics[0].Partitions[1].Partition = 9
		parts := do[*kmsg.ProduceResponse](b, req, version).Topics[0].Partitions
		if parts[0].ErrorCode != 0 || parts[0].BaseOffset != 0 {
			t.Errorf("version %d: answer %+v", version, parts[0])
		}
		if codeName(parts[1].ErrorCode) != "UNKNOWN_TOPIC_OR_PARTITION" || parts[1].BaseOffset != -1 {
			t.Errorf("version %d: answer to an unknown partition %+v", version, parts[1])
		}
		again := produceOf("t3", records)
		again.Topics[0].TopicID = topic.ID
		if p := do[*kmsg.ProduceResponse](b, again, version).Topics[0].Partitions[0]; p.BaseOffset != 2 {
			t.Errorf("version %d: second batch at %d", version, p.BaseOffset)
		}
	}
}

func TestProduceErrors(t *testing.T) {
	good := valuesOf("a", "b")
	two := append(bytes.Clone(good), good...)
	for _, c := range []struct {
		name    string
		topic   string
		version int16
		records []byte
		want    string
	}{
		{"good", "t", 9, good, "OK"},
		{"unknown topic", "nope", 9, good, "UNKNOWN_TOPIC_OR_PARTITION"},
		{"invalid topic name", "a/b", 9, good, "UNKNOWN_TOPIC_OR_PARTITION"},
		{"unknown topic id", "", 13, good, "UNKNOWN_TOPIC_ID"},
		{"null", "t", 9, nil, "INVALID_RECORD"},
		{"null in v2", "t", 2, nil, "INVALID_RECORD"},
		{"empty", "t", 9, []byte{}, "INVALID_RECORD"},
		{"empty in v0", "t", 0, []byte{}, "INVALID_RECORD"},
		{"shorter than a batch", "t", 9, good[:10], "INVALID_RECORD"},
		{"two batches", "t", 9, two, "INVALID_RECORD"},
		{"last byte missing", "t", 9, good[:len(good)-1], "INVALID_RECORD"},
		{"message set in v3", "t", 3, messageSet("a"), "INVALID_RECORD"},
		{"corrupt", "t", 9, changed(good, 17, 1, 2, 3, 4), "CORRUPT_MESSAGE"},
		{"magic 3", "t", 9, changed(good, 16, 3), "CORRUPT_MESSAGE"},
		{"base offset 1000", "t", 9, changed(good, 6, 3, 232), "INVALID_RECORD"},
		{"count too large", "t", 9, changed(good, 60, 3), "INVALID_RECORD"},
		{"control batch", "t", 9, changed(good, 21, 0, 0x20), "INVALID_RECORD"},
		{"transactional batch", "t", 9, changed(good, 21, 0, 0x10), "TRANSACTIONAL_ID_AUTHORIZATION_FAILED"},
		{"codec 5", "t", 9, changed(good, 21, 0, 5), "UNSUPPORTED_COMPRESSION_TYPE"},
		{"not in its codec", "t", 9, changed(good, 21, 0, 1), "INVALID_RECORD"},
		{"zstd in v6", "t", 6, compressed(batch.Zstd, "a"), "UNSUPPORTED_COMPRESSION_TYPE"},
		{"zstd in v7", "t", 7, compressed(batch.Zstd, "a"), "OK"},
	} {
		b := newBroker(t, nil)
		p := b.produce(c.topic, c.version, c.records)
		if got := codeName(p.ErrorCode); got != c.want {
			t.Errorf("%s: %s, want %s (%v)", c.name, got, c.want, deref(p.ErrorMessage))
		}
		if c.want != "OK" && (p.BaseOffset != -1 || c.version >= 8 && deref(p.ErrorMessage) == "") {
			t.Errorf("%s: base offset %d, message %q", c.name, p.BaseOffset, deref(p.ErrorMessage))
		}
		if c.want != "OK" && len(b.logs.appends) > 0 {
			t.Errorf("%s: it reached the log", c.name)
		}
	}
}

func TestProduceRefusesTransactionalBatchesAndTakesPlainOnesBesideATransactionalID(t *testing.T) {
	b := newBroker(t, nil)
	req := produceOf("t", changed(valuesOf("a"), 21, 0, 0x10))
	req.TransactionID = kmsg.StringPtr("tx")
	p := do[*kmsg.ProduceResponse](b, req, 9).Topics[0].Partitions[0]
	if codeName(p.ErrorCode) != "TRANSACTIONAL_ID_AUTHORIZATION_FAILED" || !strings.Contains(deref(p.ErrorMessage), "transactions are not supported") {
		t.Errorf("transactional batch: %+v", p)
	}
	req = produceOf("t", valuesOf("a"))
	req.TransactionID = kmsg.StringPtr("tx")
	if p := do[*kmsg.ProduceResponse](b, req, 9).Topics[0].Partitions[0]; p.ErrorCode != 0 {
		t.Errorf("plain batch: %+v", p)
	}
}

func TestProduceRefusesUnknownAcksInEveryPartition(t *testing.T) {
	b := newBroker(t, nil)
	for _, acks := range []int16{2, -2} {
		req := produceOf("t3", valuesOf("a"), valuesOf("b"))
		req.Acks = acks
		for _, p := range do[*kmsg.ProduceResponse](b, req, 9).Topics[0].Partitions {
			if codeName(p.ErrorCode) != "INVALID_REQUIRED_ACKS" {
				t.Errorf("acks %d: %+v", acks, p)
			}
		}
	}
}

func TestProduceWithoutTopicsIsAnswered(t *testing.T) {
	b := newBroker(t, nil)
	req := kmsg.NewPtrProduceRequest()
	req.Acks = -1
	if resp := do[*kmsg.ProduceResponse](b, req, 9); len(resp.Topics) != 0 {
		t.Fatalf("%+v", resp)
	}
}

func TestProduceWithoutAcksSendsNothingAndClosesOnErrors(t *testing.T) {
	b := newBroker(t, nil)
	send := func(topic string, records []byte) answer {
		req := produceOf(topic, records)
		req.Acks = 0
		return b.await(b.startRequest(req, 9))
	}
	if a := send("t", valuesOf("a")); a.body != nil || a.err != nil {
		t.Fatalf("answer %x, %v", a.body, a.err)
	}
	if end := b.logs.end("t", b); end != 1 {
		t.Fatalf("log end is %d", end)
	}
	if a := send("nope", valuesOf("a")); a.body != nil || a.err == nil {
		t.Fatal("an error with acks=0 must close the connection")
	}
	if a := send("t", changed(valuesOf("a"), 17, 0, 0, 0, 0)); a.body != nil || a.err == nil {
		t.Fatal("an error with acks=0 must close the connection")
	}
}

func TestProducePassesItsWishesToTheLog(t *testing.T) {
	b := newBroker(t, nil)
	b.create("safe", 1, map[string]string{"min.insync.replicas": "2", "message.timestamp.type": "LogAppendTime", "segment.ms": "7000"})
	segments := partition.SegmentPolicy{Bytes: 128 << 20, Ms: 7000}
	for _, c := range []struct {
		acks      int16
		timeoutMs int32
		want      partition.AppendOptions
	}{
		{-1, 30_000, partition.AppendOptions{AllReplicas: true, MinReplicas: 2, LogAppendTime: true, TimeoutMs: 5000, Segment: segments}},
		{1, 100, partition.AppendOptions{MinReplicas: 2, LogAppendTime: true, TimeoutMs: 100, Segment: segments}},
		{-1, 0, partition.AppendOptions{AllReplicas: true, MinReplicas: 2, LogAppendTime: true, TimeoutMs: 5000, Segment: segments}},
	} {
		req := produceOf("safe", valuesOf("a"))
		req.Acks, req.TimeoutMillis = c.acks, c.timeoutMs
		p := do[*kmsg.ProduceResponse](b, req, 9).Topics[0].Partitions[0]
		if p.LogAppendTime != 1_700_000_000_000 {
			t.Errorf("log append time %d", p.LogAppendTime)
		}
		if got := b.logs.appends[len(b.logs.appends)-1]; got != c.want {
			t.Errorf("acks %d, timeout %d: %+v, want %+v", c.acks, c.timeoutMs, got, c.want)
		}
	}
}

func TestOnlyTopicsThatAreSegmentedAreRolled(t *testing.T) {
	b := newBroker(t, nil)
	for name, configs := range map[string]map[string]string{
		"one-stream":          {"segment.bytes": "-1"},
		"compacted":           {"cleanup.policy": "compact", "segment.bytes": "1048576"},
		"compacted-and-short": {"cleanup.policy": "compact,delete", "segment.ms": "1000"},
	} {
		b.create(name, 1, configs)
		do[*kmsg.ProduceResponse](b, produceOf(name, recordsOf(record.Record{Key: []byte("k"), Value: []byte("v")})), 9)
		if got := b.logs.appends[len(b.logs.appends)-1].Segment; got.Bytes > 0 || got.Ms > 0 {
			t.Errorf("%s is rolled by %+v", name, got)
		}
	}
}

func TestProduceIsAnsweredWhenAllPartitionsAreDone(t *testing.T) {
	b := newBroker(t, nil)
	b.logs.hold = true
	got := b.startRequest(produceOf("t3", valuesOf("a"), valuesOf("b"), valuesOf("c")), 9)
	if n := len(b.logs.held); n != 3 {
		t.Fatalf("%d appends are in flight, want 3 at once", n)
	}
	select {
	case <-got:
		t.Fatal("answered before the appends were done")
	default:
	}
	b.logs.fail[1] = partition.ErrStorage
	b.logs.release()
	parts := b.decode(produceV9(), b.await(got)).(*kmsg.ProduceResponse).Topics[0].Partitions
	for i, want := range []string{"OK", "KAFKA_STORAGE_ERROR", "OK"} {
		if parts[i].Partition != int32(i) || codeName(parts[i].ErrorCode) != want {
			t.Errorf("partition %d: %+v, want %s", i, parts[i], want)
		}
	}
}

func produceV9() kmsg.Request {
	req := kmsg.NewPtrProduceRequest()
	req.SetVersion(9)
	return req
}

func TestProduceAnswersARepeatedPartitionOnce(t *testing.T) {
	for name, others := range map[string]int{"few": 0, "many": 2 * fewPartitions} {
		b := newBroker(t, nil)
		topic := b.create("wide", 1000, nil)
		req := produceOf("wide", valuesOf("first"))
		for i := range others {
			req.Topics[0].Partitions = append(req.Topics[0].Partitions, kmsg.ProduceRequestTopicPartition{Partition: int32(i + 1), Records: valuesOf("x")})
		}
		req.Topics = append(req.Topics, produceOf("wide", valuesOf("second, longer")).Topics...)
		resp := do[*kmsg.ProduceResponse](b, req, 9)
		answers, last := 0, resp.Topics[len(resp.Topics)-1]
		for _, t := range resp.Topics {
			answers += len(t.Partitions)
		}
		if topics := 1 + min(others, 1); len(resp.Topics) != topics || answers != others+1 || len(last.Partitions) != 1 {
			t.Errorf("%s: %d answers in %d topics", name, answers, len(resp.Topics))
		}
		log := b.logs.log(partition.Ref{Topic: "wide", ID: topic.ID})
		if len(log.batches) != 1 || !bytes.Contains(log.batches[0].Raw, []byte("second")) {
			t.Errorf("%s: the last one does not count", name)
		}
	}
}

func TestProduceHonoursTheTopicsSizeLimit(t *testing.T) {
	b := newBroker(t, nil)
	small := valuesOf(strings.Repeat("x", 900))
	topic := b.create("small", 1, map[string]string{"max.message.bytes": "1024"})
	if p := b.produce("small", 9, bytes.Clone(small)); p.ErrorCode != 0 {
		t.Fatalf("%+v", p)
	}
	large := valuesOf(strings.Repeat("x", 2000))
	if p := b.produce("small", 9, bytes.Clone(large)); codeName(p.ErrorCode) != "MESSAGE_TOO_LARGE" {
		t.Fatalf("%+v", p)
	}
	if p := b.produce("small", 1, messageSet(strings.Repeat("x", 2000))); codeName(p.ErrorCode) != "MESSAGE_TOO_LARGE" {
		t.Fatalf("message set: %+v", p)
	}
	if _, err := b.topics.Alter(t.Context(), topic, 1, map[string]string{"max.message.bytes": "4096"}); err != nil {
		t.Fatal(err)
	}
	if p := b.produce("small", 9, large); p.ErrorCode != 0 {
		t.Fatalf("after the change: %+v", p)
	}
}

func TestProduceRefusesTooManyRecords(t *testing.T) {
	b := newBroker(t, func(s *Settings) { s.MaxBatchRecords = 2 })
	if p := b.produce("t", 9, valuesOf("a", "b", "c")); codeName(p.ErrorCode) != "MESSAGE_TOO_LARGE" {
		t.Fatalf("%+v", p)
	}
}

func TestCompactedTopicsNeedKeys(t *testing.T) {
	b := newBroker(t, nil)
	b.create("compacted", 1, map[string]string{"cleanup.policy": "compact"})
	records := recordsOf(record.Record{Key: []byte("k")}, record.Record{Value: []byte("v")}, record.Record{Key: []byte{}})
	p := b.produce("compacted", 8, bytes.Clone(records))
	if codeName(p.ErrorCode) != "INVALID_RECORD" || len(p.ErrorRecords) != 1 || p.ErrorRecords[0].RelativeOffset != 1 {
		t.Fatalf("%+v", p)
	}
	if p := b.produce("t", 8, records); p.ErrorCode != 0 {
		t.Fatalf("a topic that is not compacted: %+v", p)
	}
}

func TestTimestampsOutsideOfTheTopicsBoundsAreRefused(t *testing.T) {
	b := newBroker(t, nil)
	now := b.now.Load()
	b.create("strict", 1, map[string]string{"message.timestamp.before.max.ms": "1000", "message.timestamp.after.max.ms": "500"})
	b.create("appended", 1, map[string]string{"message.timestamp.type": "LogAppendTime"})
	stamped := func(ms ...int64) []byte {
		var records []record.Record
		for _, m := range ms {
			records = append(records, record.Record{Timestamp: m, Value: []byte("v")})
		}
		return recordsOf(records...)
	}
	for _, c := range []struct {
		topic   string
		records []byte
		want    string
		indexes []int32
	}{
		{"t", stamped(0, -1, -2, now-10*365*86_400_000), "OK", nil},
		{"t", stamped(now + 3_599_000), "OK", nil},
		{"t", stamped(now, now+3_601_000), "INVALID_TIMESTAMP", []int32{1}},
		{"strict", stamped(now-1000, now+500, -1), "OK", nil},
		{"strict", stamped(now, now-1001, -1, now+501), "INVALID_TIMESTAMP", []int32{1, 3}},
		{"appended", stamped(now + 10*365*86_400_000), "OK", nil},
	} {
		p := b.produce(c.topic, 9, c.records)
		var indexes []int32
		for _, r := range p.ErrorRecords {
			indexes = append(indexes, r.RelativeOffset)
		}
		if codeName(p.ErrorCode) != c.want || len(indexes) != len(c.indexes) {
			t.Errorf("%s: %s %v, want %s %v", c.topic, codeName(p.ErrorCode), indexes, c.want, c.indexes)
		}
	}
}

func TestTopicsCompressionTypeIsApplied(t *testing.T) {
	b := newBroker(t, nil)
	for setting, want := range map[string]batch.Codec{"gzip": batch.Gzip, "uncompressed": batch.None, "producer": batch.LZ4} {
		topic := b.create("c-"+setting, 1, map[string]string{"compression.type": setting})
		if p := b.produce(topic.Name, 9, compressed(batch.LZ4, "a", "b")); p.ErrorCode != 0 {
			t.Fatalf("%s: %+v", setting, p)
		}
		stored := b.logs.byRef[partition.Ref{Topic: topic.Name, ID: topic.ID}].batches[0]
		if stored.Codec != want {
			t.Errorf("%s: stored as %v", setting, stored.Codec)
		}
	}
}

func TestProduceTellsTheCurrentLeader(t *testing.T) {
	b := newBroker(t, nil)
	b.cluster.nodes = append(b.cluster.nodes, metadata.Node{ID: 2, Host: "two", Port: 9093})
	b.cluster.epoch = 5
	topic := b.create("wide", 64, nil)
	elsewhere := int32(-1)
	for p := range topic.Partitions {
		if id, _ := metadata.Leader(b.cluster.nodes, topic.ID, p); id == 2 {
			elsewhere = p
		}
	}
	if elsewhere < 0 {
		t.Fatal("none of 64 partitions is led by broker 2")
	}
	b.logs.fail[elsewhere] = partition.ErrNotLeader
	for _, version := range []int16{9, 10} {
		req := produceOf("wide", valuesOf("a"))
		req.Topics[0].Partitions[0].Partition = elsewhere
		resp := do[*kmsg.ProduceResponse](b, req, version)
		p := resp.Topics[0].Partitions[0]
		if codeName(p.ErrorCode) != "NOT_LEADER_FOR_PARTITION" {
			t.Fatalf("%+v", p)
		}
		told := p.CurrentLeader.LeaderID == 2 && p.CurrentLeader.LeaderEpoch == 5 && len(resp.Brokers) == 1 && resp.Brokers[0].Host == "two"
		if told != (version >= 10) {
			t.Errorf("version %d: leader %+v, endpoints %+v", version, p.CurrentLeader, resp.Brokers)
		}
	}
}

func TestAppendErrorsHaveTheirCodes(t *testing.T) {
	for err, want := range map[error]string{
		partition.ErrNotLeader:              "NOT_LEADER_FOR_PARTITION",
		partition.ErrClosed:                 "NOT_LEADER_FOR_PARTITION",
		partition.ErrTimeout:                "REQUEST_TIMED_OUT",
		partition.ErrStorage:                "KAFKA_STORAGE_ERROR",
		partition.ErrNotEnoughReplicas:      "NOT_ENOUGH_REPLICAS",
		partition.ErrNotEnoughReplicasAfter: "NOT_ENOUGH_REPLICAS_AFTER_APPEND",
		partition.ErrOutOfOrderSequence:     "OUT_OF_ORDER_SEQUENCE_NUMBER",
		partition.ErrInvalidProducerEpoch:   "INVALID_PRODUCER_EPOCH",
		partition.ErrInvalidRecord:          "INVALID_RECORD",
		partition.ErrTooLarge:               "MESSAGE_TOO_LARGE",
		partition.ErrUnknownPartition:       "UNKNOWN_TOPIC_OR_PARTITION",
	} {
		b := newBroker(t, nil)
		b.logs.fail[0] = err
		if p := b.produce("t", 9, valuesOf("a")); codeName(p.ErrorCode) != want {
			t.Errorf("%v: %s, want %s", err, codeName(p.ErrorCode), want)
		}
	}
}

func TestMalformedProduceClosesTheConnection(t *testing.T) {
	b := newBroker(t, nil)
	req := produceOf("t", valuesOf("a"))
	for version := int16(0); version <= 13; version++ {
		req.SetVersion(version)
		body := req.AppendTo(nil)
		for cut := range len(body) {
			if a := b.await(b.start(0, version, body[:cut])); a.err == nil {
				t.Fatalf("version %d cut at %d of %d was answered", version, cut, len(body))
			}
		}
	}
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func (l *fakeLogs) end(topic string, b *broker) int64 {
	found, err := b.topics.Topic(b.t.Context(), topic)
	if err != nil {
		b.t.Fatal(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.log(partition.Ref{Topic: topic, ID: found.ID}).end()
}

package api

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/korvet-io/korvet/internal/batch"
	"github.com/korvet-io/korvet/internal/kafka/server"
	"github.com/korvet-io/korvet/internal/metadata"
	"github.com/korvet-io/korvet/internal/partition"
)

// fetchOf makes a request for partitions 0, 1 ... of the topic from these offsets on. It does not wait.
func fetchOf(topic string, offsets ...int64) *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.ReplicaID, req.MaxBytes, req.MinBytes, req.SessionEpoch = -1, 1<<20, 1, -1
	rt := kmsg.NewFetchRequestTopic()
	rt.Topic = topic
	for i, offset := range offsets {
		rp := kmsg.NewFetchRequestTopicPartition()
		rp.Partition, rp.FetchOffset, rp.PartitionMaxBytes = int32(i), offset, 1<<20
		rt.Partitions = append(rt.Partitions, rp)
	}
	req.Topics = append(req.Topics, rt)
	return req
}

func (b *broker) fetch(req *kmsg.FetchRequest, version int16) *kmsg.FetchResponse {
	b.t.Helper()
	return do[*kmsg.FetchResponse](b, req, version)
}

// summary tells what an answer holds: partition, error and the offsets of its batches.
func summary(resp *kmsg.FetchResponse) string {
	var parts []string
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			var s strings.Builder
			s.WriteString(string('0'+byte(p.Partition)) + ":")
			if p.ErrorCode != 0 {
				s.WriteString(codeName(p.ErrorCode))
			}
			for rest := p.RecordBatches; len(rest) > 0; {
				h, ok := batch.Peek(rest)
				if !ok {
					return "a batch is cut short"
				}
				s.WriteString("[" + string('0'+byte(h.BaseOffset)) + "-" + string('0'+byte(h.LastOffset)) + "]")
				rest = rest[h.Size:]
			}
			parts = append(parts, s.String())
		}
	}
	return strings.Join(parts, " ")
}

func (b *broker) mustProduce(topic string, records ...[]byte) {
	b.t.Helper()
	for _, p := range do[*kmsg.ProduceResponse](b, produceOf(topic, records...), 9).Topics[0].Partitions {
		if p.ErrorCode != 0 {
			b.t.Fatalf("produce: %+v", p)
		}
	}
}

func TestFetchAnswersInEveryVersion(t *testing.T) {
	for version := int16(4); version <= 18; version++ {
		b := newBroker(t, nil)
		topic, _ := b.topics.Topic(t.Context(), "t3")
		records := valuesOf("a", "b")
		b.mustProduce("t3", bytes.Clone(records), valuesOf("c"))
		req := fetchOf("t3", 0, 0, 0, 0)
		req.Topics[0].TopicID = topic.ID
		req.Topics[0].Partitions[2].FetchOffset = 17
		resp := b.fetch(req, version)
		if got := summary(resp); got != "0:[0-1] 1:[0-0] 2:OFFSET_OUT_OF_RANGE 3:UNKNOWN_TOPIC_OR_PARTITION" {
			t.Errorf("version %d: %s", version, got)
			continue
		}
		parts := resp.Topics[0].Partitions
		if parts[0].HighWatermark != 2 || parts[0].LastStableOffset != 2 || version >= 5 && parts[0].LogStartOffset != 0 {
			t.Errorf("version %d: %+v", version, parts[0])
		}
		if parts[2].HighWatermark != -1 || len(parts[2].RecordBatches) != 0 {
			t.Errorf("version %d: %+v", version, parts[2])
		}
		if !bytes.Equal(parts[0].RecordBatches[61:], records[61:]) {
			t.Errorf("version %d: other records than were sent", version)
		}
		if version >= 13 && resp.Topics[0].TopicID != topic.ID {
			t.Errorf("version %d: topic id %v", version, resp.Topics[0].TopicID)
		}
	}
}

func TestFetchPartitionErrors(t *testing.T) {
	b := newBroker(t, nil)
	topic, _ := b.topics.Topic(t.Context(), "t")
	b.logs.log(partition.Ref{Topic: "t", ID: topic.ID}).epoch = 3
	b.mustProduce("t", valuesOf("a"))
	for name, c := range map[string]struct {
		change func(r *kmsg.FetchRequest, p *kmsg.FetchRequestTopicPartition)
		want   string
	}{
		"at the start":    {func(*kmsg.FetchRequest, *kmsg.FetchRequestTopicPartition) {}, "0:[0-0]"},
		"at the end":      {func(_ *kmsg.FetchRequest, p *kmsg.FetchRequestTopicPartition) { p.FetchOffset = 1 }, "0:"},
		"above the end":   {func(_ *kmsg.FetchRequest, p *kmsg.FetchRequestTopicPartition) { p.FetchOffset = 2 }, "0:OFFSET_OUT_OF_RANGE"},
		"below the start": {func(_ *kmsg.FetchRequest, p *kmsg.FetchRequestTopicPartition) { p.FetchOffset = -1 }, "0:OFFSET_OUT_OF_RANGE"},
		"partition -1":    {func(_ *kmsg.FetchRequest, p *kmsg.FetchRequestTopicPartition) { p.Partition = -1 }, "/:UNKNOWN_TOPIC_OR_PARTITION"},
		"unknown topic":   {func(r *kmsg.FetchRequest, _ *kmsg.FetchRequestTopicPartition) { r.Topics[0].Topic = "nope" }, "0:UNKNOWN_TOPIC_OR_PARTITION"},
		"older epoch":     {func(_ *kmsg.FetchRequest, p *kmsg.FetchRequestTopicPartition) { p.CurrentLeaderEpoch = 2 }, "0:FENCED_LEADER_EPOCH"},
		"older epoch, no place": {func(_ *kmsg.FetchRequest, p *kmsg.FetchRequestTopicPartition) {
			p.CurrentLeaderEpoch, p.FetchOffset = 2, 99
		}, "0:FENCED_LEADER_EPOCH"},
		"newer epoch":          {func(_ *kmsg.FetchRequest, p *kmsg.FetchRequestTopicPartition) { p.CurrentLeaderEpoch = 4 }, "0:UNKNOWN_LEADER_EPOCH"},
		"same epoch":           {func(_ *kmsg.FetchRequest, p *kmsg.FetchRequestTopicPartition) { p.CurrentLeaderEpoch = 3 }, "0:[0-0]"},
		"last fetched too new": {func(_ *kmsg.FetchRequest, p *kmsg.FetchRequestTopicPartition) { p.LastFetchedEpoch = 4 }, "0:OFFSET_OUT_OF_RANGE"},
		"as a replica":         {func(r *kmsg.FetchRequest, _ *kmsg.FetchRequestTopicPartition) { r.ReplicaID = 5 }, "0:NOT_LEADER_FOR_PARTITION"},
	} {
		req := fetchOf("t", 0)
		c.change(req, &req.Topics[0].Partitions[0])
		if got := summary(b.fetch(req, 12)); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	req := fetchOf("", 0)
	if got := summary(b.fetch(req, 13)); got != "0:UNKNOWN_TOPIC_ID" {
		t.Errorf("zero topic id: %s", got)
	}
	req.Topics[0].TopicID, req.ReplicaState.ID = topic.ID, 5
	if got := summary(b.fetch(req, 15)); got != "0:NOT_LEADER_FOR_PARTITION" {
		t.Errorf("as a replica: %s", got)
	}
}

func TestFetchRefusesImpossibleWishes(t *testing.T) {
	b := newBroker(t, nil)
	for _, version := range []int16{4, 12} {
		for name, change := range map[string]func(*kmsg.FetchRequest){
			"negative max_bytes": func(r *kmsg.FetchRequest) { r.MaxBytes = -1 },
			"isolation level 7":  func(r *kmsg.FetchRequest) { r.IsolationLevel = 7 },
		} {
			req := fetchOf("t", 0)
			change(req)
			resp := b.fetch(req, version)
			code := resp.ErrorCode
			if version < 7 {
				code = resp.Topics[0].Partitions[0].ErrorCode
			}
			if codeName(code) != "INVALID_REQUEST" {
				t.Errorf("%s in version %d: %+v", name, version, resp)
			}
		}
	}
}

func TestFetchKeepsItsLimits(t *testing.T) {
	b := newBroker(t, nil)
	one := valuesOf("a")
	size := int32(len(one))
	for range 3 {
		b.mustProduce("t3", bytes.Clone(one), bytes.Clone(one), bytes.Clone(one))
	}
	for name, c := range map[string]struct {
		max, partitionMax int32
		want              string
	}{
		"everything":                 {1 << 20, 1 << 20, "0:[0-0][1-1][2-2] 1:[0-0][1-1][2-2] 2:[0-0][1-1][2-2]"},
		"max_bytes 0":                {0, 1 << 20, "0:[0-0] 1: 2:"},
		"max_bytes 1":                {1, 1 << 20, "0:[0-0] 1: 2:"},
		"partition 0":                {1 << 20, 0, "0:[0-0] 1: 2:"},
		"partition 1.5 batches":      {1 << 20, size * 3 / 2, "0:[0-0] 1:[0-0] 2:[0-0]"},
		"max_bytes of four batches":  {4 * size, 1 << 20, "0:[0-0][1-1][2-2] 1:[0-0] 2:"},
		"max_bytes of 4 and a half":  {4*size + size/2, 1 << 20, "0:[0-0][1-1][2-2] 1:[0-0] 2:"},
		"both limits":                {3 * size, 2 * size, "0:[0-0][1-1] 1:[0-0] 2:"},
		"negative partition maximum": {1 << 20, -5, "0:[0-0] 1: 2:"},
	} {
		req := fetchOf("t3", 0, 0, 0)
		req.MaxBytes = c.max
		for i := range req.Topics[0].Partitions {
			req.Topics[0].Partitions[i].PartitionMaxBytes = c.partitionMax
		}
		if got := summary(b.fetch(req, 12)); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestFetchHonoursTheBrokersLimits(t *testing.T) {
	one := valuesOf("a")
	b := newBroker(t, func(s *Settings) { s.FetchMaxBytes, s.FetchPartitionMaxBytes = 3*len(one), 2*len(one) })
	for range 3 {
		b.mustProduce("t3", bytes.Clone(one), bytes.Clone(one))
	}
	if got := summary(b.fetch(fetchOf("t3", 0, 0), 12)); got != "0:[0-0][1-1] 1:[0-0]" {
		t.Fatal(got)
	}
}

func TestFetchInsideABatchGetsTheWholeBatch(t *testing.T) {
	b := newBroker(t, nil)
	b.mustProduce("t", valuesOf("a", "b"))
	b.mustProduce("t", valuesOf("c", "d"))
	for offset, want := range map[int64]string{0: "0:[0-1][2-3]", 1: "0:[0-1][2-3]", 2: "0:[2-3]", 3: "0:[2-3]", 4: "0:"} {
		if got := summary(b.fetch(fetchOf("t", offset), 12)); got != want {
			t.Errorf("offset %d: %s, want %s", offset, got, want)
		}
	}
}

func TestAbortedTransactionsAreEmptyOnlyForReadCommitted(t *testing.T) {
	b := newBroker(t, nil)
	for _, level := range []int8{0, 1} {
		req := fetchOf("t", 0)
		req.IsolationLevel = level
		p := b.fetch(req, 12).Topics[0].Partitions[0]
		if (p.AbortedTransactions != nil) != (level == 1) || len(p.AbortedTransactions) != 0 {
			t.Errorf("isolation level %d: %#v", level, p.AbortedTransactions)
		}
	}
}

func TestFetchAsksForRecordsTheClientCanRead(t *testing.T) {
	b := newBroker(t, nil)
	b.mustProduce("t", compressed(batch.Zstd, "a"))
	for _, version := range []int16{9, 10} {
		b.fetch(fetchOf("t", 0), version)
		if asked := b.logs.lastRead(); asked.NoZstd != (version < 10) {
			t.Errorf("version %d: asks for %+v", version, asked)
		}
	}
}

func TestBufferThatTheLogKeepsIsNotUsedAgainAfterARefusedFetch(t *testing.T) {
	b := newBroker(t, nil)
	b.mustProduce("t", valuesOf("a"))
	b.logs.keeps = true
	for range 20 {
		req := fetchOf("t", 0)
		req.Topics[0].Partitions[0].CurrentLeaderEpoch = 99 // refused after the read
		if got := summary(b.fetch(req, 12)); got != "0:UNKNOWN_LEADER_EPOCH" {
			t.Fatalf("answered %s", got)
		}
	}
	seen := map[*byte]bool{}
	for _, buf := range b.logs.given {
		if cap(buf) == 0 {
			continue
		}
		first := &buf[:1][0]
		if seen[first] {
			t.Fatal("a buffer that the log keeps was given to it again")
		}
		seen[first] = true
	}
	if len(seen) == 0 {
		t.Error("no buffer was given")
	}
}

func TestFetchAsksForTheTopicsCodec(t *testing.T) {
	b := newBroker(t, nil)
	b.create("packed", 1, map[string]string{"compression.type": "gzip", "compression.gzip.level": "3"})
	b.mustProduce("packed", valuesOf("a"))
	b.fetch(fetchOf("packed", 0), 12)
	if asked := b.logs.lastRead(); asked.Codec != batch.Gzip || asked.Level != 3 {
		t.Errorf("asks for %+v", asked)
	}
}

func TestDivergingEpochIsTold(t *testing.T) {
	b := newBroker(t, nil)
	topic, _ := b.topics.Topic(t.Context(), "t")
	b.mustProduce("t", valuesOf("a"))
	log := b.logs.log(partition.Ref{Topic: "t", ID: topic.ID})
	log.epoch = 3
	req := fetchOf("t", 0)
	req.Topics[0].Partitions[0].LastFetchedEpoch = 3
	if p := b.fetch(req, 12).Topics[0].Partitions[0]; p.DivergingEpoch.Epoch != -1 || len(p.RecordBatches) == 0 {
		t.Fatalf("the leader's own epoch: %+v", p)
	}
	b.logs.divergeAt = 0
	req.Topics[0].Partitions[0].LastFetchedEpoch = 2
	p := b.fetch(req, 12).Topics[0].Partitions[0]
	if p.ErrorCode != 0 || p.DivergingEpoch.Epoch != 1 || p.DivergingEpoch.EndOffset != 0 || len(p.RecordBatches) != 0 {
		t.Fatalf("%+v", p)
	}
}

// waitingFetch starts a fetch at the end of partition 0 of t that waits for long.
func (b *broker) waitingFetch(minBytes int32) (<-chan answer, kmsg.Request) {
	b.t.Helper()
	before := b.logs.watching()
	req := fetchOf("t", b.logs.end("t", b))
	req.MaxWaitMillis, req.MinBytes = 3_600_000, minBytes
	got := b.startRequest(req, 12)
	b.awaitThat("a fetch that waits", func() bool { return b.logs.watching() > before })
	return got, req
}

func (b *broker) awaitThat(what string, condition func() bool) {
	b.t.Helper()
	for end := time.Now().Add(patience); !condition(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			b.t.Fatalf("waited in vain for: %s\n%s", what, b.lines)
		}
	}
}

func TestWaitingFetchIsWokenByAnAppend(t *testing.T) {
	b := newBroker(t, nil)
	got, req := b.waitingFetch(1)
	b.mustProduce("t", valuesOf("a"))
	if s := summary(b.decode(req, b.await(got)).(*kmsg.FetchResponse)); s != "0:[0-0]" {
		t.Fatal(s)
	}
	if n := b.logs.watching(); n != 0 {
		t.Fatalf("%d watchers are left", n)
	}
}

func TestWaitingFetchCollectsItsMinimum(t *testing.T) {
	b := newBroker(t, nil)
	size := int32(len(valuesOf("a")))
	got, req := b.waitingFetch(3 * size)
	for range 2 {
		b.mustProduce("t", valuesOf("a"))
		b.awaitThat("the fetch waits again", func() bool { return b.logs.watching() == 1 })
	}
	select {
	case a := <-got:
		t.Fatalf("answered too early: %x", a.body)
	default:
	}
	b.mustProduce("t", valuesOf("a"))
	if s := summary(b.decode(req, b.await(got)).(*kmsg.FetchResponse)); s != "0:[0-0][1-1][2-2]" {
		t.Fatal(s)
	}
}

func TestSpuriousWakesAreHarmless(t *testing.T) {
	b := newBroker(t, nil)
	got, req := b.waitingFetch(1)
	for range 5 {
		b.logs.poke()
		b.awaitThat("the fetch waits again", func() bool { return b.logs.watching() == 1 })
	}
	b.mustProduce("t", valuesOf("a"))
	if s := summary(b.decode(req, b.await(got)).(*kmsg.FetchResponse)); s != "0:[0-0]" {
		t.Fatal(s)
	}
}

func TestIdleFetchReadsOnce(t *testing.T) {
	b := newBroker(t, nil)
	b.waitingFetch(1)
	b.logs.mu.Lock()
	defer b.logs.mu.Unlock()
	if b.logs.reads != 1 {
		t.Fatalf("%d reads", b.logs.reads)
	}
}

func TestFetchAnswersWhatThereIsWhenItsTimeIsOver(t *testing.T) {
	b := newBroker(t, nil)
	b.mustProduce("t", valuesOf("a"))
	req := fetchOf("t", 0)
	req.MaxWaitMillis, req.MinBytes = 1, 1<<20
	if s := summary(b.fetch(req, 12)); s != "0:[0-0]" {
		t.Fatal(s)
	}
}

func TestWaitingFetchAnswersWhenTheServerDrains(t *testing.T) {
	b := newBroker(t, nil)
	got, req := b.waitingFetch(1)
	b.drain()
	if s := summary(b.decode(req, b.await(got)).(*kmsg.FetchResponse)); s != "0:" {
		t.Fatal(s)
	}
	if n := b.logs.watching(); n != 0 {
		t.Fatalf("%d watchers are left", n)
	}
}

func TestWaitingFetchLearnsThatItsTopicIsGone(t *testing.T) {
	b := newBroker(t, nil)
	got, req := b.waitingFetch(1)
	topic, _ := b.topics.Topic(t.Context(), "t")
	if err := b.topics.Delete(t.Context(), topic); err != nil {
		t.Fatal(err)
	}
	b.logs.poke()
	if s := summary(b.decode(req, b.await(got)).(*kmsg.FetchResponse)); s != "0:UNKNOWN_TOPIC_OR_PARTITION" {
		t.Fatal(s)
	}
}

func TestErrorIsAnsweredAtOnceBesideWaitingPartitions(t *testing.T) {
	b := newBroker(t, nil)
	b.logs.fail[1] = partition.ErrNotLeader
	req := fetchOf("t3", 0, 0)
	req.MaxWaitMillis = 3_600_000
	if s := summary(b.fetch(req, 12)); s != "0: 1:NOT_LEADER_FOR_PARTITION" {
		t.Fatal(s)
	}
}

func TestFetchTellsTheCurrentLeader(t *testing.T) {
	b := newBroker(t, nil)
	b.cluster.nodes = append(b.cluster.nodes, metadata.Node{ID: 2, Host: "two", Port: 9093})
	b.cluster.epoch = 5
	topic := b.create("wide", 64, nil)
	for p := range topic.Partitions {
		b.logs.fail[p] = partition.ErrNotLeader
	}
	req := fetchOf("wide", make([]int64, 64)...)
	req.Topics[0].TopicID = topic.ID
	resp := b.fetch(req, 16)
	told := 0
	for _, p := range resp.Topics[0].Partitions {
		if leader, _ := metadata.Leader(b.cluster.nodes, topic.ID, p.Partition); leader == 2 {
			told++
			if p.CurrentLeader.LeaderID != 2 || p.CurrentLeader.LeaderEpoch != 5 {
				t.Errorf("%+v", p)
			}
		} else if p.CurrentLeader.LeaderID != -1 {
			t.Errorf("%+v", p)
		}
	}
	if told == 0 || len(resp.Brokers) != 1 || resp.Brokers[0].Host != "two" {
		t.Fatalf("%d told, endpoints %+v", told, resp.Brokers)
	}
}

func TestRecordsAreSentFromWhereTheyWereRead(t *testing.T) {
	b := newBroker(t, nil)
	b.mustProduce("t3", valuesOf("a"), valuesOf("b"))
	var r server.Response
	done := make(chan struct{})
	req := fetchOf("t3", 0, 0)
	req.SetVersion(12)
	b.api.Serve(t.Context(), &server.Request{Key: 1, Version: 12, Body: req.AppendTo(nil), Conn: b.conn}, func(got server.Response, err error) {
		r = got
		close(done)
	})
	<-done
	buffers := r.(server.Encoded).Buffers()
	if len(buffers) != 5 || !bytes.Equal(bytes.Join(buffers, nil), r.AppendTo(nil)) {
		t.Fatalf("%d buffers", len(buffers))
	}
}

func TestMalformedFetchClosesTheConnection(t *testing.T) {
	b := newBroker(t, nil)
	req := fetchOf("t", 0)
	for version := int16(4); version <= 18; version++ {
		req.SetVersion(version)
		body := req.AppendTo(nil)
		for cut := range len(body) {
			if a := b.await(b.start(1, version, body[:cut])); a.err == nil {
				t.Fatalf("version %d cut at %d of %d was answered", version, cut, len(body))
			}
		}
	}
	huge := binary.BigEndian.AppendUint32(make([]byte, 17), 1<<31-1)
	if a := b.await(b.start(1, 4, huge)); a.err == nil {
		t.Fatal("an array of 2^31-1 topics was answered")
	}
}

func TestFetchByIdOfARecreatedTopic(t *testing.T) {
	b := newBroker(t, nil)
	old, _ := b.topics.Topic(t.Context(), "t")
	b.mustProduce("t", valuesOf("a"))
	if err := b.topics.Delete(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	b.create("t", 1, nil)
	req := fetchOf("", 1)
	req.Topics[0].TopicID = uuid.UUID(old.ID)
	if s := summary(b.fetch(req, 13)); s != "0:UNKNOWN_TOPIC_ID" {
		t.Fatal(s)
	}
	if s := summary(b.fetch(fetchOf("t", 1), 12)); s != "0:OFFSET_OUT_OF_RANGE" {
		t.Fatal(s)
	}
}

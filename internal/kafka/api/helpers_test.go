package api

import (
	"context"
	"encoding/binary"
	"hash/crc32"
	"math/rand"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/korvet-io/korvet/internal/batch"
	"github.com/korvet-io/korvet/internal/kafka/server"
	"github.com/korvet-io/korvet/internal/metadata"
	"github.com/korvet-io/korvet/internal/record"
	"github.com/korvet-io/korvet/internal/topicconfig"
)

// patience bounds what must happen; no test asserts how long it took.
const patience = 20 * time.Second

// broker is an API over fakes.
type broker struct {
	t       *testing.T
	api     *API
	logs    *fakeLogs
	topics  *fakeTopics
	cluster *fakeCluster
	groups  *fakeGroups
	lines   *logBuffer
	now     atomic.Int64 // ms
	drain   context.CancelFunc
	conn    *server.ConnInfo
}

// newBroker makes a broker with two topics: t of one partition and t3 of three.
func newBroker(t *testing.T, change func(*Settings)) *broker {
	t.Helper()
	b := &broker{t: t, logs: newFakeLogs(), topics: newFakeTopics(), groups: newFakeGroups(), lines: &logBuffer{}}
	b.cluster = &fakeCluster{nodes: []metadata.Node{{ID: 1, Host: "one", Port: 9092}}}
	b.now.Store(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).UnixMilli())
	schema, problems := topicconfig.New(topicconfig.Options{})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	set := DefaultSettings()
	if change != nil {
		change(&set)
	}
	b.api = New(Deps{
		Logs: b.logs, Topics: b.topics, Cluster: b.cluster, Epochs: b.cluster, Schema: schema, Metrics: b.cluster,
		Groups: b.groups, Offsets: fakeOffsets{b.groups}, GroupAdmin: fakeGroupAdmin{b.groups},
		Configs: newFakeConfigs(), Loggers: newFakeLoggers(),
		Now:    func() time.Time { return time.UnixMilli(b.now.Load()) },
		Random: &lockedRandom{r: rand.New(rand.NewSource(1))},
		Log:    b.lines.logger(),
	}, set)
	draining, drain := context.WithCancel(context.Background())
	t.Cleanup(drain)
	b.drain = drain
	b.conn = &server.ConnInfo{ID: 1, Local: &net.TCPAddr{}, Remote: &net.TCPAddr{IP: net.IPv4(1, 2, 3, 4), Port: 5}, Draining: draining}
	b.create("t", 1, nil)
	b.create("t3", 3, nil)
	return b
}

func (b *broker) create(name string, partitions int32, configs map[string]string) *metadata.Topic {
	b.t.Helper()
	topic, err := b.topics.Create(context.Background(), name, partitions, configs)
	if err != nil {
		b.t.Fatal(err)
	}
	return topic
}

// answer is what came of a request.
type answer struct {
	body []byte // from after the correlation id on; nil: no answer
	err  error
}

// start sends a body and returns where the answer will be.
func (b *broker) start(key, version int16, body []byte) <-chan answer {
	got := make(chan answer, 2)
	b.api.Serve(context.Background(), &server.Request{Key: key, Version: version, CorrelationID: 7, ClientID: "c", Body: body, Conn: b.conn},
		func(r server.Response, err error) {
			if r == nil {
				got <- answer{err: err}
				return
			}
			got <- answer{body: r.AppendTo([]byte{}), err: err}
			if e, ok := r.(server.Encoded); ok {
				e.Release()
			}
		})
	return got
}

func (b *broker) await(got <-chan answer) answer {
	b.t.Helper()
	select {
	case a := <-got:
		return a
	case <-time.After(patience):
		b.t.Fatalf("no answer\n%s", b.lines)
	}
	return answer{}
}

func (b *broker) startRequest(req kmsg.Request, version int16) <-chan answer {
	req.SetVersion(version)
	return b.start(req.Key(), version, req.AppendTo(nil))
}

// decode reads an answer to req, to its last byte.
func (b *broker) decode(req kmsg.Request, a answer) kmsg.Response {
	b.t.Helper()
	if a.err != nil || a.body == nil {
		b.t.Fatalf("no answer but %v", a.err)
	}
	body := a.body
	if req.IsFlexible() && req.Key() != 18 {
		if body[0] != 0 {
			b.t.Fatalf("response header has tags: %x", body[0])
		}
		body = body[1:]
	}
	resp := req.ResponseKind()
	if err := resp.ReadFrom(body); err != nil {
		b.t.Fatalf("decode answer %x: %v", body, err)
	}
	if again := resp.AppendTo(nil); string(again) != string(body) {
		b.t.Fatalf("the answer is not canonical:\ngot  %x\nkmsg %x", body, again)
	}
	return resp
}

// do sends a request and decodes its answer.
func do[R kmsg.Response](b *broker, req kmsg.Request, version int16) R {
	b.t.Helper()
	return b.decode(req, b.await(b.startRequest(req, version))).(R)
}

// recordsOf makes a batch of records, of values only where the record has nothing else, with timestamps around now.
func recordsOf(records ...record.Record) []byte {
	var out batch.Builder
	out.Reset(nil, batch.BuildOptions{LeaderEpoch: -1})
	for i := range records {
		records[i].Offset = int64(i)
		out.Put(&records[i])
	}
	return out.Finish()
}

func valuesOf(values ...string) []byte {
	records := make([]record.Record, len(values))
	for i, v := range values {
		records[i] = record.Record{Timestamp: 1000 + int64(i), Value: []byte(v)}
	}
	return recordsOf(records...)
}

// codeName is an error code as a word.
func codeName(code int16) string {
	if code == 0 {
		return "OK"
	}
	if e, ok := kerr.ErrorForCode(code).(*kerr.Error); ok {
		return e.Message
	}
	return "?"
}

// compressed makes a batch of values in a codec.
func compressed(codec batch.Codec, values ...string) []byte {
	var out batch.Builder
	out.Reset(nil, batch.BuildOptions{LeaderEpoch: -1, Codec: codec})
	for i, v := range values {
		out.Put(&record.Record{Offset: int64(i), Timestamp: 1000 + int64(i), Value: []byte(v)})
	}
	return out.Finish()
}

// messageSet makes a message set of magic 1.
func messageSet(values ...string) []byte {
	var set []byte
	for i, v := range values {
		m := []byte{1, 0}
		m = binary.BigEndian.AppendUint64(m, uint64(1000+i))
		m = binary.BigEndian.AppendUint32(m, 1<<32-1)
		m = binary.BigEndian.AppendUint32(m, uint32(len(v)))
		m = append(m, v...)
		set = binary.BigEndian.AppendUint64(set, uint64(i))
		set = binary.BigEndian.AppendUint32(set, uint32(len(m)+4))
		set = binary.BigEndian.AppendUint32(set, crc32.ChecksumIEEE(m))
		set = append(set, m...)
	}
	return set
}

// crcOf computes a batch's CRC.
func crcOf(batch []byte) uint32 {
	return crc32.Checksum(batch[21:], crc32.MakeTable(crc32.Castagnoli))
}

package api

import (
	"bytes"
	"context"
	"log/slog"
	"math/rand"
	"net"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/korvet-io/korvet/internal/kafka/server"
	"github.com/korvet-io/korvet/internal/metadata"
	"github.com/korvet-io/korvet/internal/topicconfig"
)

// FuzzProduceDecode compares the decoder with kmsg's: what ours takes, kmsg takes too and reads the same from.
func FuzzProduceDecode(f *testing.F) {
	for version := int16(0); version <= 13; version++ {
		req := produceOf("topic", valuesOf("a"), nil, []byte{})
		req.Topics = append(req.Topics, produceOf("other", valuesOf("b")).Topics...)
		req.Topics[1].TopicID = [16]byte{1, 2, 3}
		req.SetVersion(version)
		f.Add(version, req.AppendTo(nil))
		req.TransactionID = kmsg.StringPtr("tx")
		body := req.AppendTo(nil)
		f.Add(version, body)
		f.Add(version, append(body[:len(body)-1], "\x80\x80\x80\x80\x80\x00"...)) // no tags, in a varint too long
	}
	f.Fuzz(func(t *testing.T, version int16, body []byte) {
		if version < 0 || version > 13 {
			return
		}
		ours, err := decodeProduce(body, version)
		theirs := kmsg.NewPtrProduceRequest()
		theirs.SetVersion(version)
		kerr := theirs.ReadFrom(body)
		if err != nil {
			return
		}
		if kerr != nil {
			t.Fatalf("kmsg refuses what was taken: %v", kerr)
		}
		if ours.acks != theirs.Acks || ours.timeoutMs != theirs.TimeoutMillis {
			t.Fatalf("got %+v, kmsg %+v", ours, theirs)
		}
		if len(ours.topics) != len(theirs.Topics) {
			t.Fatalf("%d topics, kmsg %d", len(ours.topics), len(theirs.Topics))
		}
		rest := ours.partitions
		for i := range theirs.Topics {
			want, got := &theirs.Topics[i], &ours.topics[i]
			if string(got.name) != want.Topic || got.id != want.TopicID || got.count != len(want.Partitions) {
				t.Fatalf("topic %+v, kmsg %+v", got, want)
			}
			for j := range want.Partitions {
				p := &want.Partitions[j]
				if rest[j].index != p.Partition || rest[j].topic != i || !bytes.Equal(rest[j].records, p.Records) || (rest[j].records == nil) != (p.Records == nil) {
					t.Fatalf("partition %+v, kmsg %+v", rest[j], p)
				}
			}
			rest = rest[len(want.Partitions):]
		}
	})
}

// FuzzServe sends any body to any API: it is answered or refused exactly once, and nothing panics.
func FuzzServe(f *testing.F) {
	for key := range newRoutes() {
		req := kmsg.RequestForKey(key)
		for version := int16(0); version <= req.MaxVersion(); version += max(req.MaxVersion(), 1) {
			req.SetVersion(version)
			f.Add(key, version, req.AppendTo(nil))
		}
	}
	produce := produceOf("t3", valuesOf("a"), valuesOf("b"))
	produce.SetVersion(9)
	f.Add(int16(0), int16(9), produce.AppendTo(nil))
	old := produceOf("t", messageSet("a"))
	old.SetVersion(1)
	f.Add(int16(0), int16(1), old.AppendTo(nil))
	fetch := fetchOf("t3", 0, 0, 0)
	fetch.SessionEpoch = 0
	fetch.SetVersion(12)
	f.Add(int16(1), int16(12), fetch.AppendTo(nil))
	offsets := listOffsetsOf("t3", -1, -2, -3)
	offsets.SetVersion(9)
	f.Add(int16(2), int16(9), offsets.AppendTo(nil))

	f.Fuzz(func(t *testing.T, key, version int16, body []byte) {
		api, conn := fuzzedAPI(t)
		replies := make(chan server.Response, 2)
		req := &server.Request{Key: key, Version: version, CorrelationID: 1, ClientID: "c", Body: body, Conn: conn}
		api.Serve(t.Context(), req, func(r server.Response, err error) {
			if r != nil && err != nil {
				t.Error("an answer and an error")
			}
			replies <- r
		})
		if r := <-replies; r != nil {
			r.AppendTo(nil)
		}
	})
}

// fuzzedAPI makes an API over fakes whose requests do not wait.
func fuzzedAPI(t *testing.T) (*API, *server.ConnInfo) {
	schema, _ := topicconfig.New(topicconfig.Options{})
	topics := newFakeTopics()
	for name, partitions := range map[string]int32{"t": 1, "t3": 3} {
		if _, err := topics.Create(t.Context(), name, partitions, nil); err != nil {
			t.Fatal(err)
		}
	}
	cluster := &fakeCluster{nodes: []metadata.Node{{ID: 1, Host: "one", Port: 9092}}}
	set := DefaultSettings()
	set.FetchMaxWait = time.Millisecond
	groups := newFakeGroups()
	api := New(Deps{
		Groups: groups, Offsets: fakeOffsets{groups}, GroupAdmin: fakeGroupAdmin{groups}, Configs: newFakeConfigs(), Loggers: newFakeLoggers(),
		Logs: newFakeLogs(), Topics: topics, Cluster: cluster, Epochs: cluster, Schema: schema, Metrics: cluster,
		Now: time.Now, Random: &lockedRandom{r: rand.New(rand.NewSource(1))}, Log: slog.New(slog.DiscardHandler),
	}, set)
	drained, cancel := context.WithCancel(context.Background())
	cancel()
	return api, &server.ConnInfo{Local: &net.TCPAddr{}, Remote: &net.TCPAddr{}, Draining: drained}
}

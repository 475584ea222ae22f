package readers_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/korvet-io/korvet/test/harness"
)

// topic is tiered; its table is called table.
const (
	topic      = "Readers.Events"
	table      = "readers_events"
	partitions = 3
)

// world is a broker with a remote tier, and what was produced to its topic.
type world struct {
	t        *testing.T
	broker   *harness.Broker
	client   *kgo.Client
	admin    *kadm.Client
	maker    *maker
	produced []*kgo.Record
	token    string
	args     []string // of the broker, and of commands that look at the table
}

// newWorld starts a broker whose worker copies what a second has passed over, and then drops it locally.
func newWorld(t *testing.T, path, token string, args ...string) *world {
	t.Helper()
	w := &world{t: t, token: token, maker: newMaker(topic, partitions)}
	w.args = append([]string{
		"--korvet.storage.remote.path=" + path, "--korvet.storage.worker.tick-interval=200ms", "--korvet.storage.worker.lease-duration=10s",
		"--korvet.broker.tail-cache-bytes=0", // what consumers read comes from where records are kept
	}, args...)
	w.broker = harness.Start(t, harness.Options{Own: true, Args: w.args})
	var err error
	w.client, err = kgo.NewClient(kgo.SeedBrokers(w.broker.Addr), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.client.Close)
	w.admin = kadm.NewClient(w.client)
	configs := map[string]*string{}
	for name, value := range map[string]string{"remote.storage.enable": "true", "segment.ms": "1000", "local.retention.ms": "1", "message.timestamp.after.max.ms": "9223372036854775807"} {
		configs[name] = &value
	}
	if _, err := w.admin.CreateTopic(t.Context(), partitions, 1, configs, topic); err != nil {
		t.Fatal(err)
	}
	return w
}

// eventually waits until a condition holds.
func eventually(t *testing.T, condition func() error) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for err := condition(); err != nil; err = condition() {
		if time.Now().After(deadline) {
			t.Fatalf("after %v: %v", patience, err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// uri is where engines attach.
func (w *world) uri() string { return "http://" + w.broker.HTTPAddr + "/iceberg" }

// produce appends records, and checks that they got the offsets that they were made for.
func (w *world) produce(records []*kgo.Record) {
	w.t.Helper()
	if err := w.append(records); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) append(records []*kgo.Record) error {
	var sent []*kgo.Record
	for _, r := range records {
		sent = append(sent, &kgo.Record{Topic: r.Topic, Partition: r.Partition, Key: r.Key, Value: r.Value, Headers: r.Headers, Timestamp: r.Timestamp})
	}
	if err := w.client.ProduceSync(w.t.Context(), sent...).FirstErr(); err != nil {
		return fmt.Errorf("produce: %w", err)
	}
	for i, r := range sent {
		if r.Offset != records[i].Offset {
			return fmt.Errorf("record %d of partition %d got offset %d", records[i].Offset, r.Partition, r.Offset)
		}
	}
	w.produced = append(w.produced, records...)
	return nil
}

// state is what the catalog says of the table.
type state struct {
	location, metadata string
	snapshot           int64
	parent             string          // the snapshot before it; empty: none
	ends               map[int32]int64 // what was copied, by partition
}

// look asks the catalog for the table.
func (w *world) look() (state, error) { return w.lookAt(table) }

func (w *world) lookAt(table string) (state, error) {
	request, err := http.NewRequestWithContext(w.t.Context(), http.MethodGet, w.uri()+"/v1/namespaces/korvet/tables/"+table, nil)
	if err != nil {
		return state{}, fmt.Errorf("make request: %w", err)
	}
	request.Header.Set("Authorization", "Bearer "+w.token)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return state{}, fmt.Errorf("load table: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return state{}, fmt.Errorf("load table: %s", response.Status)
	}
	var loaded struct {
		Location string `json:"metadata-location"`
		Metadata struct {
			Location  string `json:"location"`
			Snapshot  int64  `json:"current-snapshot-id"`
			Snapshots []struct {
				ID     int64 `json:"snapshot-id"`
				Parent int64 `json:"parent-snapshot-id"`
			} `json:"snapshots"`
			Properties map[string]string `json:"properties"`
		} `json:"metadata"`
	}
	if err := json.NewDecoder(response.Body).Decode(&loaded); err != nil {
		return state{}, fmt.Errorf("load table: %w", err)
	}
	s := state{location: loaded.Metadata.Location, metadata: loaded.Location, snapshot: loaded.Metadata.Snapshot, ends: map[int32]int64{}}
	for _, made := range loaded.Metadata.Snapshots {
		if made.ID == s.snapshot && made.Parent != 0 {
			s.parent = strconv.FormatInt(made.Parent, 10)
		}
	}
	for name, value := range loaded.Metadata.Properties {
		if p, ok := strings.CutPrefix(name, "korvet.end."); ok {
			partition, err := strconv.ParseInt(p, 10, 32)
			if err != nil {
				return state{}, fmt.Errorf("property %s: %w", name, err)
			}
			if s.ends[int32(partition)], err = strconv.ParseInt(value, 10, 64); err != nil {
				return state{}, fmt.Errorf("property %s: %w", name, err)
			}
		}
	}
	return s, nil
}

// awaitCopied waits until everything that was produced is in the table.
func (w *world) awaitCopied() state {
	w.t.Helper()
	var s state
	eventually(w.t, func() error {
		var err error
		if s, err = w.look(); err != nil {
			return err
		}
		want := map[int32]int64{}
		for p, next := range w.maker.next {
			want[int32(p)] = next
		}
		if !maps.Equal(s.ends, want) {
			return fmt.Errorf("copied up to %v, want %v", s.ends, want)
		}
		return nil
	})
	return s
}

// below is what was produced below the ends.
func (w *world) below(ends map[int32]int64) summary {
	var list []*kgo.Record
	for _, r := range w.produced {
		if r.Offset < ends[r.Partition] {
			list = append(list, r)
		}
	}
	return summarize(list)
}

// remove forgets records that an engine has deleted.
func (w *world) remove(partition int32, low, high int64) {
	var left []*kgo.Record
	for _, r := range w.produced {
		if r.Partition != partition || r.Offset < low || r.Offset >= high {
			left = append(left, r)
		}
	}
	w.produced = left
}

// ends are those of all that was produced.
func (w *world) ends() map[int32]int64 {
	ends := map[int32]int64{}
	for p, next := range w.maker.next {
		ends[int32(p)] = next
	}
	return ends
}

// consume reads the topic through the Kafka port from its beginning to its end.
func (w *world) consume() ([]*kgo.Record, error) {
	from := map[int32]kgo.Offset{}
	left := map[int32]int64{}
	for p, end := range w.ends() {
		from[p], left[p] = kgo.NewOffset().At(0), end
	}
	consumer, err := kgo.NewClient(kgo.SeedBrokers(w.broker.Addr), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: from}))
	if err != nil {
		return nil, fmt.Errorf("make consumer: %w", err)
	}
	defer consumer.Close()
	var records []*kgo.Record
	for len(left) > 0 {
		fetches := consumer.PollFetches(w.t.Context())
		if err := fetches.Err(); err != nil {
			return nil, fmt.Errorf("consume: %w", err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			records = append(records, r)
			if r.Offset+1 >= left[r.Partition] {
				delete(left, r.Partition)
			}
		})
	}
	return records, nil
}

// awaitConsumed waits until consumers read what is left of what was produced: rows that an engine deletes stay for them for as
// long as Redis has them.
func (w *world) awaitConsumed(t *testing.T) {
	t.Helper()
	eventually(t, w.consumeAll)
}

// consumeAll compares what a consumer reads from the beginning with what is left of what was produced.
func (w *world) consumeAll() error {
	records, err := w.consume()
	if err != nil {
		return err
	}
	if d := summarize(records).differs(summarize(w.produced)); d != "" {
		return fmt.Errorf("consumers read other records: %s", d)
	}
	return nil
}

// checkAppended sees that append times are of the test, whose end is now.
func checkAppended(t *testing.T, a answer, began time.Time) {
	t.Helper()
	if a.Appended[0] < began.UnixMilli()*1000 || a.Appended[1] > time.Now().UnixMicro() {
		t.Errorf("append times %v are not between %d and now", a.Appended, began.UnixMicro())
	}
}

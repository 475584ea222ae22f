package tiered

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/korvet-io/korvet/internal/iceberg/store"
	"github.com/korvet-io/korvet/internal/iceberg/storetest"
	"github.com/korvet-io/korvet/internal/redistest"
	"github.com/korvet-io/korvet/test/harness"
)

// place is where a tier keeps its tables.
type place struct {
	args   []string // of the broker
	folder string   // in which the objects are files
	// location and store are how others reach an S3 store; none with file://.
	location string
	store    store.S3
}

// places are those that tests run on.
var places = map[string]func(t *testing.T) place{
	"file": func(t *testing.T) place {
		dir := t.TempDir()
		return place{args: []string{"--korvet.storage.remote.path=file://" + dir}, folder: dir}
	},
	"s3": func(t *testing.T) place { return onS3(storetest.Start(t), "") },
}

// onS3 is the place on a server, at its own endpoint or a proxy's.
func onS3(s *storetest.Server, endpoint string) place {
	o := s.Options(endpoint)
	return place{args: []string{
		"--korvet.storage.remote.path=" + s.Location() + "/tier", "--korvet.storage.remote.s3.endpoint=" + o.Endpoint, "--korvet.storage.remote.s3.path-style-access=true",
		"--korvet.storage.remote.s3.access-key-id=" + o.AccessKeyID, "--korvet.storage.remote.s3.secret-access-key=" + o.SecretAccessKey, "--korvet.storage.remote.s3.region=" + o.Region,
	}, folder: filepath.Join(s.Folder, "tier"), location: s.Location(), store: o}
}

// quick has the storage worker look often.
var quick = []string{"--korvet.storage.worker.tick-interval=300ms", "--korvet.storage.worker.lease-duration=2s"}

// world is a broker with a remote tier.
type world struct {
	*testing.T
	*harness.Broker
	place  place
	client *kgo.Client
	admin  *kadm.Client
}

func start(t *testing.T, p place, more ...string) *world {
	t.Helper()
	args := append(append(append([]string{}, quick...), p.args...), more...)
	w := &world{T: t, place: p, Broker: harness.Start(t, harness.Options{Own: true, Args: args})}
	w.connect()
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(w.Logs())
		}
	})
	return w
}

// connect makes a client that knows nothing of topics yet.
func (w *world) connect() {
	w.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(w.Addr), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(client.Close)
	w.client, w.admin = client, kadm.NewClient(client)
}

// tiered are the settings of a topic whose segments leave Redis at once.
func tiered(more ...string) map[string]*string {
	m := map[string]*string{}
	for _, kv := range append([]string{"remote.storage.enable=true", "segment.bytes=1048576", "local.retention.ms=0"}, more...) {
		name, value, _ := strings.Cut(kv, "=")
		m[name] = &value
	}
	return m
}

func (w *world) create(topic string, partitions int32, configs map[string]*string) {
	w.Helper()
	if _, err := w.admin.CreateTopic(w.Context(), partitions, 1, configs, topic); err != nil {
		w.Fatalf("create %s: %v", topic, err)
	}
}

// alter sets settings of a topic; name=value, or name to remove it.
func (w *world) alter(topic string, settings ...string) error {
	w.Helper()
	var list []kadm.AlterConfig
	for _, s := range settings {
		name, value, set := strings.Cut(s, "=")
		if c := (kadm.AlterConfig{Op: kadm.SetConfig, Name: name, Value: &value}); set {
			list = append(list, c)
		} else {
			list = append(list, kadm.AlterConfig{Op: kadm.DeleteConfig, Name: name})
		}
	}
	answers, err := w.admin.AlterTopicConfigs(w.Context(), list, topic)
	if err != nil {
		return err
	}
	if a := answers[0]; a.Err != nil {
		return fmt.Errorf("%w: %s", a.Err, a.ErrMessage)
	}
	return nil
}

const valueBytes = 1000

// value is the one of a record.
func value(partition int32, offset int64) []byte {
	b := make([]byte, valueBytes)
	for i := 0; i < len(b); i += 8 {
		binary.BigEndian.PutUint64(b[i:], uint64(partition)*1_000_003+uint64(offset)*31+uint64(i)*2654435761)
	}
	return b
}

// produce appends records from offset to offset to a partition.
func (w *world) produce(topic string, partition int32, from, to int64) {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), time.Minute)
	defer cancel()
	var list []*kgo.Record
	for o := from; o < to; o++ {
		list = append(list, &kgo.Record{Topic: topic, Partition: partition, Key: fmt.Append(nil, o), Value: value(partition, o), Timestamp: time.UnixMilli(1_700_000_000_000 + o)})
	}
	for i, r := range w.client.ProduceSync(ctx, list...) {
		if r.Err != nil {
			w.Fatalf("produce: %v", r.Err)
		}
		if want := from + int64(i); r.Record.Offset != want {
			w.Fatalf("record %d got offset %d", want, r.Record.Offset)
		}
	}
}

// consume reads a partition from an offset to another and checks each record.
func (w *world) consume(topic string, partition int32, from, to int64) {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), time.Minute)
	defer cancel()
	c, err := kgo.NewClient(kgo.SeedBrokers(w.Addr), kgo.ConsumeResetOffset(kgo.NoResetOffset()), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {partition: kgo.NewOffset().At(from)}}))
	if err != nil {
		w.Fatal(err)
	}
	defer c.Close()
	for next := from; next < to; {
		fetches := c.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			w.Fatalf("consume at %d: %v", next, err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			if r.Offset != next || string(r.Value) != string(value(partition, next)) || string(r.Key) != fmt.Sprint(next) || r.Timestamp.UnixMilli() != 1_700_000_000_000+next {
				w.Fatalf("partition %d: offset %d with key %q and timestamp %v where %d was expected", partition, r.Offset, r.Key, r.Timestamp, next)
			}
			next++
		})
	}
}

// stamped reads a partition from 0 to an offset: each record has its append time as its only header.
func (w *world) stamped(topic string, partition int32, to int64) {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), time.Minute)
	defer cancel()
	c, err := kgo.NewClient(kgo.SeedBrokers(w.Addr), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {partition: kgo.NewOffset().At(0)}}))
	if err != nil {
		w.Fatal(err)
	}
	defer c.Close()
	before := time.Now().Add(-time.Hour).UnixMilli()
	for next := int64(0); next < to; {
		fetches := c.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			w.Fatalf("consume at %d: %v", next, err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			if r.Offset != next || len(r.Headers) != 1 || r.Headers[0].Key != "korvet.log.append.timestamp.ms" {
				w.Fatalf("offset %d with headers %v where %d was expected", r.Offset, r.Headers, next)
			}
			ms, err := strconv.ParseInt(string(r.Headers[0].Value), 10, 64)
			if err != nil || ms < before {
				w.Fatalf("offset %d was appended at %s, after %d", r.Offset, r.Headers[0].Value, before)
			}
			before, next = ms, next+1
		})
	}
}

// Special timestamps of ListOffsets (KIP-405, KIP-1005, KIP-1023).
const (
	earliest      = -2
	earliestLocal = -4
	latestTiered  = -5
)

// offset asks for an offset by timestamp, whatever the client knows of the topic.
func (w *world) offset(topic string, partition int32, timestamp int64) int64 {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), 20*time.Second)
	defer cancel()
	q := kmsg.NewPtrListOffsetsRequest()
	q.ReplicaID = -1
	p := kmsg.NewListOffsetsRequestTopicPartition()
	p.Partition, p.Timestamp = partition, timestamp
	t := kmsg.NewListOffsetsRequestTopic()
	t.Topic, t.Partitions = topic, append(t.Partitions, p)
	q.Topics = append(q.Topics, t)
	answer, err := q.RequestWith(ctx, w.client.SeedBrokers()[0])
	if err != nil {
		w.Fatal(err)
	}
	a := answer.Topics[0].Partitions[0]
	if err := kerr.ErrorForCode(a.ErrorCode); err != nil {
		w.Fatalf("offset for %d: %v", timestamp, err)
	}
	return a.Offset
}

// awaitDropped waits until Redis has less of a partition than the log.
func (w *world) awaitDropped(topic string, partition int32, atLeast int64) {
	w.Helper()
	redistest.Eventually(w, fmt.Sprintf("partition %d to leave Redis up to %d", partition, atLeast), func() bool { return w.offset(topic, partition, earliestLocal) >= atLeast })
}

// tables lists the tables' folders.
func (w *world) tables() (names []string) {
	w.Helper()
	entries, err := os.ReadDir(filepath.Join(w.place.folder, "korvet"))
	if err != nil && !os.IsNotExist(err) {
		w.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

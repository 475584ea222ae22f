package migrate_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/korvet-io/korvet/internal/migrate"
	"github.com/korvet-io/korvet/test/harness"
)

// world is a broker with topics on it.
type world struct {
	t      *testing.T
	broker *harness.Broker
	client *kgo.Client
	admin  *kadm.Client
	rnd    *rand.Rand
	serial int
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, broker: harness.Start(t, harness.Options{Own: true, RedisArgs: []string{"--appendonly", "no"}}), rnd: rand.New(rand.NewPCG(1, 2))}
	w.client = w.open()
	w.admin = kadm.NewClient(w.client)
	return w
}

func (w *world) open(opts ...kgo.Opt) *kgo.Client {
	w.t.Helper()
	client, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(w.broker.Addr), kgo.RecordPartitioner(kgo.ManualPartitioner())}, opts...)...)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(client.Close)
	return client
}

func (w *world) create(topic string, partitions int32, configs ...string) {
	w.t.Helper()
	all := map[string]*string{}
	for i := 0; i < len(configs); i += 2 {
		all[configs[i]] = &configs[i+1]
	}
	if _, err := w.admin.CreateTopic(w.t.Context(), partitions, 1, all, topic); err != nil {
		w.t.Fatal(err)
	}
}

// fill produces records of every kind: null and empty keys and values, headers twice and with null values, old timestamps.
func (w *world) fill(topic string, partitions int32, n int) {
	w.t.Helper()
	var records []*kgo.Record
	for range n {
		w.serial++
		r := &kgo.Record{Topic: topic, Partition: w.rnd.Int32N(partitions), Timestamp: time.UnixMilli(1_700_000_000_000 + w.rnd.Int64N(1_000_000))}
		r.Key = [][]byte{nil, {}, fmt.Appendf(nil, "key-%d", w.rnd.IntN(50))}[min(w.rnd.IntN(10), 2)]
		r.Value = [][]byte{nil, {}, fmt.Appendf(nil, "value-%d-%s", w.serial, bytes.Repeat([]byte("x"), w.rnd.IntN(300)))}[min(w.rnd.IntN(10), 2)]
		r.Headers = append(r.Headers, kgo.RecordHeader{Key: "serial", Value: fmt.Appendf(nil, "%d", w.serial)})
		for range w.rnd.IntN(3) {
			r.Headers = append(r.Headers, kgo.RecordHeader{Key: "again", Value: [][]byte{nil, {}, []byte("h")}[w.rnd.IntN(3)]})
		}
		records = append(records, r)
	}
	if err := w.client.ProduceSync(w.t.Context(), records...).FirstErr(); err != nil {
		w.t.Fatal(err)
	}
}

// read returns all records of a topic by partition.
func (w *world) read(topic string) [][]*kgo.Record {
	w.t.Helper()
	starts, err := w.admin.ListStartOffsets(w.t.Context(), topic)
	if err != nil {
		w.t.Fatal(err)
	}
	ends, err := w.admin.ListEndOffsets(w.t.Context(), topic)
	if err != nil {
		w.t.Fatal(err)
	}
	all := make([][]*kgo.Record, len(ends[topic]))
	open := map[int32]kgo.Offset{}
	ends.Each(func(e kadm.ListedOffset) {
		if s, _ := starts.Lookup(topic, e.Partition); s.Offset < e.Offset {
			open[e.Partition] = kgo.NewOffset().At(s.Offset)
		}
	})
	client := w.open(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: open}))
	defer client.Close()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	for len(open) > 0 {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			w.t.Fatal(err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			all[r.Partition] = append(all[r.Partition], r)
			if e, _ := ends.Lookup(topic, r.Partition); r.Offset+1 >= e.Offset {
				delete(open, r.Partition)
			}
		})
	}
	return all
}

// patience bounds every wait. Reaching it fails the test.
const patience = 60 * time.Second

func (w *world) options(c *kgo.Client, source, target string, partitions int32) migrate.Options {
	cluster := migrate.NewCluster(c)
	return migrate.Options{From: cluster, To: cluster, Source: source, Target: target, Partitions: partitions, Follow: 20 * time.Millisecond}
}

// run opens and copies until all is there.
func (w *world) run(ctx context.Context, c *kgo.Client, source, target string, partitions int32) error {
	m, err := migrate.Open(ctx, w.options(c, source, target, partitions))
	if err != nil {
		return err
	}
	return m.Copy(ctx, false)
}

func (w *world) cutover(source, target string) *migrate.CutoverResult {
	w.t.Helper()
	m, err := migrate.Open(w.t.Context(), w.options(w.client, source, target, 0))
	if err != nil {
		w.t.Fatal(err)
	}
	result, err := m.Cutover(w.t.Context(), migrate.CutoverOptions{Quiet: time.Millisecond, Timeout: patience})
	if err != nil {
		w.t.Fatal(err)
	}
	return result
}

func text(r *kgo.Record) string {
	s := fmt.Sprintf("%d %#v %#v", r.Timestamp.UnixMilli(), r.Key, r.Value)
	for _, h := range r.Headers {
		s += fmt.Sprintf(" %s=%#v", h.Key, h.Value)
	}
	return s
}

// same fails unless the target has the source's records, each once, and those of a source's partition in their order
// within each of the target's, when they have a key, or the partitions are as many.
func (w *world) same(source, target string) {
	w.t.Helper()
	w.sameAt(w, source, target)
}

// sameAt does so for a target in another cluster.
func (w *world) sameAt(to *world, source, target string) {
	w.t.Helper()
	original, copied := w.read(source), to.read(target)
	var a, b []string
	order := map[string][]string{}
	for _, records := range original {
		for _, r := range records {
			a = append(a, text(r))
			order[string(r.Key)] = append(order[string(r.Key)], text(r))
		}
	}
	for _, records := range copied {
		for _, r := range records {
			b = append(b, text(r))
		}
	}
	if len(original) == len(copied) {
		if !slices.Equal(a, b) {
			w.t.Fatalf("%d records in %s, %d in %s, or not in the same order", len(a), source, len(b), target)
		}
		return
	}
	slices.Sort(a)
	slices.Sort(b)
	if !slices.Equal(a, b) {
		w.t.Fatalf("%d records in %s, %d in %s, or not the same", len(a), source, len(b), target)
	}
}

// cord is a network that breaks after so many writes: the one that breaks it arrives or not.
type cord struct {
	left    atomic.Int64
	arrives bool
	broken  context.CancelFunc
}

var errBroken = errors.New("the cord is broken")

type cordConn struct {
	net.Conn
	cord *cord
}

func (c *cord) dial(ctx context.Context, network, host string) (net.Conn, error) {
	if c.left.Load() < 0 {
		return nil, errBroken
	}
	conn, err := new(net.Dialer).DialContext(ctx, network, host)
	return cordConn{conn, c}, err
}

func (c cordConn) Write(b []byte) (int, error) {
	left := c.cord.left.Add(-1)
	if left < 0 && (left < -1 || !c.cord.arrives) {
		c.cord.broken()
		return 0, errBroken
	}
	n, err := c.Conn.Write(b)
	if left < 0 {
		c.cord.broken()
		c.Conn.Close()
		return n, errBroken
	}
	return n, err
}

// crash runs until all is copied or so many writes were made, and tells whether it got to the end.
func (w *world) crash(source, target string, partitions int32, writes int64, arrives bool) bool {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	c := &cord{arrives: arrives, broken: cancel}
	c.left.Store(writes)
	client := w.open(kgo.Dialer(c.dial))
	defer client.Close()
	err := w.run(ctx, client, source, target, partitions)
	if err != nil && c.left.Load() >= 0 {
		w.t.Fatalf("after %d writes: %v", writes, err)
	}
	return err == nil
}

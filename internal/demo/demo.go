// Package demo puts a stream of made-up shop events through a broker's Kafka port, reads it back, and shows what happens.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Topic is where the events go.
const Topic = "events"

// Partitions are how many it has.
const Partitions = 3

const (
	codecSetting  = "storage.compression.type"
	remoteSetting = "remote.storage.enable"
)

// settings are the topic's: segments that are sealed, copied to the table and dropped while one looks on. Without a remote tier
// they go after a minute: what was produced has been read by then.
func settings(remote bool) map[string]*string {
	s := map[string]*string{
		codecSetting:    kadm.StringPtr("zstd"),
		"segment.ms":    kadm.StringPtr("8000"),
		"segment.bytes": kadm.StringPtr("1048576"),
		"retention.ms":  kadm.StringPtr("60000"),
	}
	if remote {
		s["retention.ms"] = kadm.StringPtr("3600000")
		s["local.retention.ms"] = kadm.StringPtr("10000")
		s[remoteSetting] = kadm.StringPtr("true")
		s["remote.storage.iceberg.value.format"] = kadm.StringPtr("json")
	}
	return s
}

// Options are how the demo runs.
type Options struct {
	Places Places
	Rate   float64 // records a second; 0: as fast as possible
	// Records ends the demo when so many were acknowledged and read back; 0: it goes on.
	Records int64
	// Memory tells Redis's used memory in bytes.
	Memory func(context.Context) (int64, error)
	// Tier tells how Redis keeps the topic, but for the codec.
	Tier     func(context.Context) (Tier, error)
	Terminal *Terminal // nil: one plain line a second on Out
	Out      io.Writer
	Random   *rand.Rand
	Now      func() time.Time
}

// run is a running demo.
type run struct {
	opt     Options
	client  *kgo.Client // produces
	members []*kgo.Client
	admin   *kadm.Client
	started time.Time

	acked, failed atomic.Int64
	read          reading
	codec         string // of the topic's values in Redis
	latency       latencies
	allAcked      chan struct{} // closed when Options.Records were acknowledged
	allRead       chan struct{} // closed when as many were read
	enough        sync.Once     // closes it

	mu          sync.Mutex
	lastEvent   string
	lastProblem string
}

// Run produces, consumes and shows until ctx ends, which is no error, or Options.Records have passed. It returns the
// number of records acknowledged.
func Run(ctx context.Context, o Options) (int64, error) {
	r := &run{opt: o, allAcked: make(chan struct{}), allRead: make(chan struct{})}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer r.close()
	if err := r.connect(ctx); err != nil {
		if ctx.Err() != nil {
			return 0, nil
		}
		return 0, err
	}
	r.started = o.Now()
	var running sync.WaitGroup
	running.Go(func() { r.produce(ctx) })
	for _, member := range r.members {
		running.Go(func() { r.consume(ctx, member) })
	}
	running.Go(func() { r.show(ctx) })
	select {
	case <-ctx.Done():
	case <-r.allRead:
	}
	stop()
	running.Wait()
	r.leave()
	return r.acked.Load(), nil
}

// close ends what connect has opened.
func (r *run) close() {
	for _, client := range append(r.members, r.client) {
		if client != nil {
			client.Close()
		}
	}
}

// connect creates the topic and opens a producer and the members of the group.
func (r *run) connect(ctx context.Context) error {
	seed := kgo.SeedBrokers(r.opt.Places.Kafka)
	setup, err := kgo.NewClient(seed)
	if err != nil {
		return fmt.Errorf("connect to the broker: %w", err)
	}
	defer setup.Close()
	admin := kadm.NewClient(setup)
	if err := r.prepare(ctx, admin); err != nil {
		return err
	}
	r.client, err = kgo.NewClient(seed, kgo.ClientID("korvet-demo"), kgo.ProducerLinger(0))
	if err != nil {
		return fmt.Errorf("connect to the broker: %w", err)
	}
	r.admin = kadm.NewClient(r.client)
	return r.openMembers()
}

// prepare has the topic be there, and notes where this run's records begin.
func (r *run) prepare(ctx context.Context, admin *kadm.Client) error {
	has, err := topic(ctx, admin, r.opt.Places.Catalog != "")
	if err != nil {
		return err
	}
	r.codec = has[codecSetting]
	ends, err := admin.ListEndOffsets(ctx, Topic)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return fmt.Errorf("list offsets of topic %s: %w", Topic, err)
	}
	ends.Each(func(o kadm.ListedOffset) {
		if int(o.Partition) < Partitions {
			r.read.from[o.Partition] = o.Offset
		}
	})
	return nil
}

// topic creates the topic, and returns its settings. One that is there already keeps them, unless it is of a demo that had no tables.
func topic(ctx context.Context, admin *kadm.Client, remote bool) (map[string]string, error) {
	if _, err := admin.CreateTopic(ctx, Partitions, -1, settings(remote), Topic); err != nil && !errors.Is(err, kerr.TopicAlreadyExists) {
		return nil, fmt.Errorf("create topic %s: %w", Topic, err)
	}
	configs, err := admin.DescribeTopicConfigs(ctx, Topic)
	if err != nil {
		return nil, fmt.Errorf("read settings of topic %s: %w", Topic, err)
	}
	has := map[string]string{}
	for _, c := range configs[0].Configs {
		has[c.Key] = c.MaybeValue()
	}
	if !remote || has[remoteSetting] == "true" {
		return has, nil
	}
	var changes []kadm.AlterConfig
	for name, value := range settings(remote) {
		changes = append(changes, kadm.AlterConfig{Op: kadm.SetConfig, Name: name, Value: value})
		has[name] = *value
	}
	answers, err := admin.AlterTopicConfigs(ctx, changes, Topic)
	if err == nil {
		err = answers[0].Err
	}
	if err != nil {
		return nil, fmt.Errorf("turn on the tables of topic %s: %w", Topic, err)
	}
	return has, nil
}

// produce sends events at the rate that is asked for.
func (r *run) produce(ctx context.Context) {
	shop := NewShop(r.opt.Random)
	began := r.opt.Now()
	for sent := int64(0); ctx.Err() == nil && (r.opt.Records == 0 || sent < r.opt.Records); sent++ {
		if !r.pace(ctx, began, sent) {
			return
		}
		now := r.opt.Now()
		e := shop.Next(now)
		record := &kgo.Record{Topic: Topic, Key: []byte(e.Key), Value: e.Value, Timestamp: now}
		for _, h := range e.Headers {
			record.Headers = append(record.Headers, kgo.RecordHeader{Key: h[0], Value: []byte(h[1])})
		}
		// The context is not ctx: what was sent is acknowledged before the client closes or not at all.
		r.client.Produce(context.WithoutCancel(ctx), record, func(_ *kgo.Record, err error) { r.acknowledged(now, e, err) })
	}
}

// pace waits until the next record is due and reports whether there is to be one.
func (r *run) pace(ctx context.Context, began time.Time, sent int64) bool {
	if r.opt.Rate <= 0 {
		return true
	}
	due := began.Add(time.Duration(float64(sent) / r.opt.Rate * float64(time.Second)))
	wait := due.Sub(r.opt.Now())
	if wait <= 0 {
		return true
	}
	select {
	case <-ctx.Done():
		return false
	case <-time.After(wait):
		return true
	}
}

func (r *run) acknowledged(sent time.Time, e Event, err error) {
	if err != nil {
		r.failed.Add(1)
		r.problem(err)
		return
	}
	r.latency.add(r.opt.Now().Sub(sent))
	if r.acked.Add(1) == r.opt.Records {
		close(r.allAcked)
	}
	r.mu.Lock()
	r.lastEvent = e.Key + " " + string(e.Value)
	r.mu.Unlock()
}

func (r *run) problem(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lastProblem = err.Error()
}

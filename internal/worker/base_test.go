package worker

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/redis/rueidis"

	"github.com/korvet-io/korvet/internal/metadata"
	"github.com/korvet-io/korvet/internal/redisstream"
	"github.com/korvet-io/korvet/internal/redistest"
	"github.com/korvet-io/korvet/internal/topicconfig"
)

// base is a real Redis whose streams a test fills with records of any age, for a storage worker that the test makes.
type base struct {
	*testing.T
	redis  *redistest.Server
	client rueidis.Client
	shard  *redisstream.Shard
	schema *topicconfig.Schema
	topics list
	seen   *observer
	logged *strings.Builder
	// work has the worker do what is due.
	work func(ctx context.Context) error
}

// list is a fixed list of topics.
type list struct{ topics []*metadata.Topic }

func (l *list) All() []*metadata.Topic { return l.topics }

// observer keeps what the worker tells.
type observer struct {
	mu                       sync.Mutex
	leads, full              bool
	ticks, failures, dropped int
	sealed                   int
	trimmed, freed           int64
	bytes                    map[string]int64
}

func (o *observer) change(f func()) { o.mu.Lock(); defer o.mu.Unlock(); f() }

func (o *observer) WorkerLeads(leads bool)            { o.change(func() { o.leads = leads }) }
func (o *observer) WorkerTicked(time.Duration)        { o.change(func() { o.ticks++ }) }
func (o *observer) WorkerFailed(string)               { o.change(func() { o.failures++ }) }
func (o *observer) SegmentSealed()                    { o.change(func() { o.sealed++ }) }
func (o *observer) SegmentDropped()                   { o.change(func() { o.dropped++ }) }
func (o *observer) RecordsTrimmed(n int64)            { o.change(func() { o.trimmed += n }) }
func (o *observer) BytesFreed(n int64)                { o.change(func() { o.freed += n }) }
func (o *observer) LocalBytes(sizes map[string]int64) { o.change(func() { o.bytes = sizes }) }
func (o *observer) RedisFull(full bool)               { o.change(func() { o.full = full }) }

func openShard(t testing.TB, uri string) *redisstream.Shard {
	t.Helper()
	o, err := redisstream.ParseURI(uri)
	if err != nil {
		t.Fatal(err)
	}
	o.WriteConnections, o.ReadConnections, o.DialTimeout = 1, 2, 20*time.Second
	s := redisstream.Open(o, slog.New(slog.DiscardHandler))
	t.Cleanup(s.Close)
	return s
}

func newBase(t *testing.T, args ...string) *base {
	t.Helper()
	r := &base{T: t, redis: redistest.Start(t, args...), seen: &observer{}, logged: &strings.Builder{}}
	r.client = r.redis.Client()
	schema, problems := topicconfig.New(topicconfig.Options{})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	r.schema, r.shard = schema, openShard(t, r.redis.URI())
	return r
}

// logger writes what the test finds in logged.
func (r *base) logger() *slog.Logger { return slog.New(slog.NewTextHandler(r.logged, nil)) }

// part is one partition of a rig's topic.
type part struct {
	*base
	keys  redisstream.Keys
	topic *metadata.Topic
	next  int64 // offset
	// number is the partition's.
	number int32
}

// create makes a topic of one partition that was written to.
func (r *base) create(name string, configs map[string]string) *part {
	r.Helper()
	id := uuid.Must(uuid.NewV7())
	topic := &metadata.Topic{Name: name, ID: id, Configs: configs, Config: r.schema.Effective(name, configs)}
	r.topics.topics = append(r.topics.topics, topic)
	return r.another(topic)
}

// another makes one more partition of a topic, which was written to.
func (r *base) another(topic *metadata.Topic) *part {
	r.Helper()
	p := &part{base: r, keys: redisstream.NewKeys("korvet", topic.Name, topic.Partitions), topic: topic, number: topic.Partitions}
	topic.Partitions++
	r.do("HSET", p.keys.Leader, "topic", fmt.Sprintf("%x", topic.ID[:]), "owner", "1/x", "token", "T", "epoch", "0")
	r.do("XGROUP", "CREATE", p.keys.Stream, "x", "0", "MKSTREAM")
	r.do("XGROUP", "DESTROY", p.keys.Stream, "x")
	r.do("XSETID", p.keys.Stream, "1-18446744073709551615")
	return p
}

func (r *base) do(args ...string) rueidis.RedisMessage {
	r.Helper()
	m, err := r.client.Do(r.Context(), r.client.B().Arbitrary(args...).Build()).ToMessage()
	if err != nil && !rueidis.IsRedisNil(err) {
		r.Fatalf("%s: %v", strings.Join(args, " "), err)
	}
	return m
}

func (r *base) now() int64 { return time.Now().UnixMilli() }

// add appends n records of an age and size.
func (p *part) add(n int, age time.Duration, bytes int) {
	p.Helper()
	ms, value := p.now()-age.Milliseconds(), strings.Repeat("v", bytes)
	for n > 0 {
		var page rueidis.Commands
		for range min(n, 1000) {
			id := fmt.Sprintf("%d-%d", ms, p.next)
			page = append(page, p.client.B().Arbitrary("XADD", p.keys.Stream, id, "value", value, "timestamp", "1").Build())
			p.next++
			n--
		}
		for _, answer := range p.client.DoMulti(p.Context(), page...) {
			if err := answer.Error(); err != nil {
				p.Fatalf("add: %v", err)
			}
		}
	}
	p.do("HSET", p.keys.State("T"), "last", fmt.Sprintf("%d-%d", ms, p.next-1))
}

// seal seals the open segment as a roll does.
func (p *part) seal() {
	p.Helper()
	v := p.view()
	name := p.keys.Segment(v.Open)
	p.do("RENAME", p.keys.Stream, name)
	p.do("XGROUP", "CREATE", p.keys.Stream, "x", "0", "MKSTREAM")
	p.do("XGROUP", "DESTROY", p.keys.Stream, "x")
	p.do("XSETID", p.keys.Stream, v.Last.String())
	text := fmt.Sprintf("sealed %d %d %d %d", v.First.Seq, v.Last.Seq, v.First.Ms, v.Last.Ms)
	p.do("HSET", p.keys.Segments, "open", fmt.Sprint(v.Open+1), "sealed", fmt.Sprint(v.Last.Seq), fmt.Sprintf("s:%d", v.Open), text)
}

func (p *part) view() redisstream.Glance {
	p.Helper()
	all, err := p.shard.Glances(p.Context(), []redisstream.Keys{p.keys})
	if err != nil || all[0].Err != nil {
		p.Fatalf("glance: %v, %+v", err, all)
	}
	return all[0]
}

// expect checks where the log starts and which streams there are: the first offset of each, and -1 for an empty one.
func (p *part) expect(start int64, firsts ...int64) {
	p.Helper()
	v := p.view()
	if v.LogStart != start {
		p.Errorf("%s: the log starts at %d, want %d", p.topic.Name, v.LogStart, start)
	}
	var got []int64
	for _, stream := range v.Streams(p.keys) {
		id, found, err := p.shard.FirstAt(p.Context(), stream, 0)
		if err != nil {
			p.Fatal(err)
		}
		if !found {
			id.Seq = ^uint64(0)
		}
		got = append(got, int64(id.Seq))
	}
	if fmt.Sprint(got) != fmt.Sprint(firsts) {
		p.Errorf("%s: streams start at %v, want %v", p.topic.Name, got, firsts)
	}
	if end := redisstream.EndOffset(v.LastSeq); end != p.next {
		p.Errorf("%s: the log ends at %d, want %d", p.topic.Name, end, p.next)
	}
}

func (p *part) measured() int64 {
	p.Helper()
	v := p.view()
	weights, err := p.shard.Weigh(p.Context(), v.Streams(p.keys), 0)
	if err != nil {
		p.Fatal(err)
	}
	var total int64
	for _, w := range weights {
		total += w
	}
	return total
}

// tick has the worker do what is due.
func (r *base) tick() {
	r.Helper()
	if err := r.work(r.Context()); err != nil {
		r.Fatalf("tick: %v", err)
	}
}

// places checks where the log, its part in Redis and its part above the remote tier begin.
func (p *part) places(start, local, tiered int64) {
	p.Helper()
	if v := p.view(); v.LogStart != start || v.LocalStart != local || v.TieredEnd != tiered {
		p.Errorf("%s: log starts at %d, Redis at %d, tier ends at %d, want %d, %d, %d", p.topic.Name, v.LogStart, v.LocalStart, v.TieredEnd, start, local, tiered)
	}
}

// addSealed appends records and seals them.
func (p *part) addSealed(n int, age time.Duration, bytes int) {
	p.Helper()
	p.add(n, age, bytes)
	p.seal()
}

// hours is a setting in ms.
func hours(n int) string { return fmt.Sprint((time.Duration(n) * time.Hour).Milliseconds()) }

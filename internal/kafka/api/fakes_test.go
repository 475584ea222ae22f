package api

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/korvet-io/korvet/internal/batch"
	"github.com/korvet-io/korvet/internal/metadata"
	"github.com/korvet-io/korvet/internal/partition"
	"github.com/korvet-io/korvet/internal/record"
)

// fakeLogs keeps partitions in memory. It is the simplest thing that keeps the port's promises.
type fakeLogs struct {
	mu    sync.Mutex
	byRef map[partition.Ref]*fakeLog
	fail  map[int32]error // by partition: every call fails
	hold  bool            // appends wait for release
	held  []func()
	reads int
	asked partition.ReadRequest // the last read's
	keeps bool                  // reads answer with another buffer than the one they are given
	given [][]byte              // the buffers reads were given
	// divergeAt is where epochs below the current one end, as epoch 1.
	divergeAt int64
	appends   []partition.AppendOptions
}

type fakeLog struct {
	batches  []*batch.Batch
	ends     []int64 // offset after each batch
	logStart int64
	local    int64 // with tiered: as Bounds tells them
	tiered   int64
	epoch    int32
	watchers map[int]fakeWatcher
	nextID   int
}

type fakeWatcher struct {
	offset int64
	wake   func()
}

func newFakeLogs() *fakeLogs {
	return &fakeLogs{byRef: map[partition.Ref]*fakeLog{}, fail: map[int32]error{}}
}

func (l *fakeLogs) log(p partition.Ref) *fakeLog {
	if l.byRef[p] == nil {
		l.byRef[p] = &fakeLog{watchers: map[int]fakeWatcher{}}
	}
	return l.byRef[p]
}

func (g *fakeLog) end() int64 {
	if len(g.ends) == 0 {
		return 0
	}
	return g.ends[len(g.ends)-1]
}

func (g *fakeLog) bounds() partition.Bounds {
	return partition.Bounds{
		LogStart: g.logStart, HighWatermark: g.end(), LogEnd: g.end(), LeaderEpoch: g.epoch, LocalStart: max(g.logStart, g.local), TieredEnd: g.tiered,
		StartEpoch: g.epoch, LocalEpoch: g.epoch, TieredEpoch: g.epoch, PendingEpoch: g.epoch,
	}
}

func (l *fakeLogs) Append(p partition.Ref, b *batch.Batch, opt partition.AppendOptions, done func(partition.Appended, error)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.appends = append(l.appends, opt)
	if l.hold {
		l.held = append(l.held, func() { l.append(p, b, opt, done) })
		return
	}
	go l.append(p, b, opt, done)
}

// release lets the appends that wait happen, the last first.
func (l *fakeLogs) release() {
	l.mu.Lock()
	held := l.held
	l.held = nil
	l.mu.Unlock()
	slices.Reverse(held)
	for _, do := range held {
		do()
	}
}

func (l *fakeLogs) append(p partition.Ref, b *batch.Batch, opt partition.AppendOptions, done func(partition.Appended, error)) {
	l.mu.Lock()
	if err := l.fail[p.Partition]; err != nil {
		l.mu.Unlock()
		done(partition.Appended{}, err)
		return
	}
	g := l.log(p)
	base := g.end()
	b.Stamp(base, g.epoch)
	appendTime := int64(-1)
	if opt.LogAppendTime {
		appendTime = 1_700_000_000_000
		b.StampAppendTime(appendTime)
	}
	g.batches = append(g.batches, b)
	g.ends = append(g.ends, base+int64(b.Count))
	var due []func()
	for id, w := range g.watchers {
		if w.offset < g.end() {
			delete(g.watchers, id)
			due = append(due, w.wake)
		}
	}
	logStart := g.logStart
	l.mu.Unlock()
	for _, wake := range due {
		wake()
	}
	done(partition.Appended{BaseOffset: base, LogStartOffset: logStart, AppendTime: appendTime}, nil)
}

func (l *fakeLogs) lastRead() partition.ReadRequest {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.asked
}

func (l *fakeLogs) Read(_ context.Context, p partition.Ref, req partition.ReadRequest, dst []byte) (partition.ReadResult, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reads++
	l.asked = req
	l.given = append(l.given, dst)
	g := l.log(p)
	if l.keeps {
		dst = append([]byte(nil), dst...)
	}
	res := partition.ReadResult{Bounds: g.bounds(), Batches: dst}
	if err := l.fail[p.Partition]; err != nil {
		return res, err
	}
	if req.Offset < g.logStart || req.Offset > g.end() {
		return res, fmt.Errorf("%w: %d", partition.ErrOffsetOutOfRange, req.Offset)
	}
	for i, b := range g.batches {
		if g.ends[i] <= req.Offset {
			continue
		}
		if n := len(res.Batches) - len(dst); n+len(b.Raw) > req.MaxBytes && !(n == 0 && req.AtLeastOne) {
			break
		}
		res.Batches = append(res.Batches, b.Raw...)
	}
	return res, nil
}

func (l *fakeLogs) Prepare(partition.Ref, int64, int) {}

func (l *fakeLogs) Watch(p partition.Ref, offset int64, wake func()) func() {
	l.mu.Lock()
	defer l.mu.Unlock()
	g := l.log(p)
	if g.end() > offset {
		go wake()
		return func() {}
	}
	g.nextID++
	id := g.nextID
	g.watchers[id] = fakeWatcher{offset, wake}
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(g.watchers, id)
	}
}

// watching counts those that wait.
func (l *fakeLogs) watching() (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, g := range l.byRef {
		n += len(g.watchers)
	}
	return n
}

// poke wakes everybody although nothing happened.
func (l *fakeLogs) poke() {
	l.mu.Lock()
	var due []func()
	for _, g := range l.byRef {
		for id, w := range g.watchers {
			delete(g.watchers, id)
			due = append(due, w.wake)
		}
	}
	l.mu.Unlock()
	for _, wake := range due {
		wake()
	}
}

func (l *fakeLogs) Bounds(_ context.Context, p partition.Ref) (partition.Bounds, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.log(p).bounds(), l.fail[p.Partition]
}

// each visits the records from the log start on.
func (g *fakeLog) each(visit func(r record.Record) bool) {
	for _, b := range g.batches {
		cursor, r := b.Cursor(), record.Record{}
		for cursor.Next(&r) {
			if r.Offset >= g.logStart && !visit(r) {
				return
			}
		}
	}
}

func (l *fakeLogs) OffsetForTime(_ context.Context, p partition.Ref, ms int64) (partition.TimeOffset, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	found := partition.TimeOffset{Offset: -1, Timestamp: -1, LeaderEpoch: -1}
	l.log(p).each(func(r record.Record) bool {
		if r.Timestamp >= ms {
			found = partition.TimeOffset{Offset: r.Offset, Timestamp: r.Timestamp, LeaderEpoch: l.log(p).epoch}
		}
		return found.Offset < 0
	})
	return found, l.fail[p.Partition]
}

func (l *fakeLogs) MaxTimestamp(_ context.Context, p partition.Ref) (partition.TimeOffset, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	found := partition.TimeOffset{Offset: -1, Timestamp: -1, LeaderEpoch: -1}
	l.log(p).each(func(r record.Record) bool {
		if found.Offset < 0 || r.Timestamp > found.Timestamp {
			found = partition.TimeOffset{Offset: r.Offset, Timestamp: r.Timestamp, LeaderEpoch: l.log(p).epoch}
		}
		return true
	})
	return found, l.fail[p.Partition]
}

func (l *fakeLogs) EndOfEpoch(_ context.Context, p partition.Ref, epoch int32) (int32, int64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	g := l.log(p)
	switch {
	case epoch < 0:
		return -1, -1, l.fail[p.Partition]
	case epoch < g.epoch:
		return 1, l.divergeAt, l.fail[p.Partition]
	}
	return g.epoch, g.end(), l.fail[p.Partition]
}

func (l *fakeLogs) DeleteBefore(_ context.Context, p partition.Ref, offset int64) (int64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	g := l.log(p)
	if offset == -1 {
		offset = g.end()
	}
	if offset > g.end() {
		return -1, partition.ErrOffsetOutOfRange
	}
	g.logStart = max(g.logStart, offset)
	return g.logStart, l.fail[p.Partition]
}

func (l *fakeLogs) Size(_ context.Context, p partition.Ref) (int64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.log(p).end() * 100, l.fail[p.Partition]
}

// fakeTopics keeps topics in memory.
type fakeTopics struct {
	mu     sync.Mutex
	byName map[string]*metadata.Topic
	lives  byte
}

func newFakeTopics() *fakeTopics { return &fakeTopics{byName: map[string]*metadata.Topic{}} }

func (s *fakeTopics) Topic(_ context.Context, name string) (*metadata.Topic, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.byName[name]; t != nil {
		return t, nil
	}
	return nil, metadata.ErrUnknownTopic
}

func (s *fakeTopics) TopicByID(_ context.Context, id uuid.UUID) (*metadata.Topic, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.byName {
		if t.ID == id {
			return t, nil
		}
	}
	return nil, metadata.ErrUnknownTopicID
}

func (s *fakeTopics) All() []*metadata.Topic {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []*metadata.Topic
	for _, t := range s.byName {
		all = append(all, t)
	}
	slices.SortFunc(all, func(a, b *metadata.Topic) int { return strings.Compare(a.Name, b.Name) })
	return all
}

func (s *fakeTopics) Create(_ context.Context, name string, partitions int32, configs map[string]string) (*metadata.Topic, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byName[name] != nil {
		return nil, metadata.ErrTopicExists
	}
	s.lives++
	t := &metadata.Topic{Name: name, ID: uuid.UUID{15: s.lives}, Partitions: partitions, Configs: configs, Version: 1}
	s.byName[name] = t
	return t, nil
}

func (s *fakeTopics) Alter(_ context.Context, t *metadata.Topic, partitions int32, configs map[string]string) (*metadata.Topic, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch now := s.byName[t.Name]; {
	case now == nil || now.ID != t.ID:
		return nil, metadata.ErrUnknownTopic
	case now.Version != t.Version:
		return nil, metadata.ErrVersionConflict
	}
	next := *t
	next.Partitions, next.Configs, next.Version = partitions, configs, t.Version+1
	s.byName[t.Name] = &next
	return &next, nil
}

func (s *fakeTopics) Delete(_ context.Context, t *metadata.Topic) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := s.byName[t.Name]; now == nil || now.ID != t.ID {
		return metadata.ErrUnknownTopic
	}
	delete(s.byName, t.Name)
	return nil
}

// fakeCluster is a cluster whose brokers do not change.
type fakeCluster struct {
	nodes []metadata.Node
	epoch int32
}

func (c *fakeCluster) ID() string                               { return "AAAAAAAAAAAAAAAAAAAAAA" }
func (c *fakeCluster) Self() metadata.Node                      { return c.nodes[0] }
func (c *fakeCluster) Nodes() []metadata.Node                   { return c.nodes }
func (c *fakeCluster) LeaderEpoch(partition.Ref) int32          { return c.epoch }
func (c *fakeCluster) Produced(string, int, int, time.Duration) {}
func (c *fakeCluster) Fetched(string, int, time.Duration)       {}
func (c *fakeCluster) Failed(string, string)                    {}

// lockedRandom is a repeatable source of random bytes.
type lockedRandom struct {
	mu sync.Mutex
	r  *rand.Rand
}

func (l *lockedRandom) Read(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.r.Read(p)
}

var _ io.Reader = (*lockedRandom)(nil)

// logBuffer collects log lines.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *logBuffer) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

func (l *fakeLogs) Producers(_ context.Context, p partition.Ref) ([]partition.ProducerState, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var list []partition.ProducerState
	for _, b := range l.log(p).batches {
		if b.ProducerID >= 0 {
			list = append(list, partition.ProducerState{ID: b.ProducerID, Epoch: b.ProducerEpoch, LastSequence: b.BaseSequence + b.Count - 1, LastMs: 1000})
		}
	}
	return list, l.fail[p.Partition]
}

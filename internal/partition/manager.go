package partition

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/korvet-io/korvet/internal/batch"
	"github.com/korvet-io/korvet/internal/dictionary"
	"github.com/korvet-io/korvet/internal/redisstream"
)

// Dependencies are what a manager is made of beside its settings.
type Dependencies struct {
	Shard    Shard
	Replicas Replicator // may be nil when Settings.RedisReplicas is 0
	Remote   Remote     // nil: there is no remote tier
	// Tiered tells whether the remote tier may have records of a partition, by what is known without asking it; nil: it may, where
	// there is one.
	Tiered   func(Ref) bool
	Observer Observer
	// Dictionaries are the topics' zstd dictionaries; nil: none are used.
	Dictionaries *dictionary.Registry
	Log          *slog.Logger
	// Gone tells whether an owner's process is provably dead, so that its lease need not be waited for.
	Gone func(owner string) bool
	// MinReplicas is a topic's min.insync.replicas.
	MinReplicas func(Ref) int
	// Deleted is told when DeleteBefore has raised a log start. It must not block; it may be nil.
	Deleted func(Ref)
	// Clock replaces time and chance in a simulation; nil is the real thing.
	Clock *Clock
}

// Clock is what a simulation has instead of time and chance. With one, nothing happens by itself: the simulation calls
// Manager.Tick.
type Clock struct {
	Now       func() time.Duration // this broker's monotonic clock
	RedisTime uint64               // what fences are told as Redis's time, in ms
	Token     func() string        // never the same twice
}

// Manager holds a broker's partitions. It is safe for concurrent use.
type Manager struct {
	env     *env
	deleted func(Ref) // may be nil

	mu     sync.RWMutex
	open   map[Ref]*Partition
	closed bool

	activity sync.Mutex
	active   map[*Partition]struct{}
	started  chan struct{} // tells the sweeper that there is something to wait for

	stop chan struct{}
	done chan struct{}
}

// sweepEvery is how exact deadlines are.
const sweepEvery = 20 * time.Millisecond

// NewManager returns a manager. It asks Redis nothing until a partition is used.
func NewManager(s Settings, d Dependencies) *Manager {
	m := &Manager{
		deleted: d.Deleted,
		open:    map[Ref]*Partition{}, active: map[*Partition]struct{}{},
		started: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{}),
	}
	start := time.Now()
	m.env = &env{
		Settings: s, shard: d.Shard, replicas: d.Replicas, remote: d.Remote, tiered: d.Tiered, observer: d.Observer, dictionaries: d.Dictionaries, log: d.Log, gone: d.Gone,
		minReplicas: d.MinReplicas, budget: &budget{max: s.TailCacheBytes}, aheadSlots: make(chan struct{}, s.ReadAhead),
		now: func() time.Duration { return time.Since(start) }, token: rand.Text, busy: m.busy,
	}
	m.SetProducerExpiry(s.ProducerExpiry)
	m.SetRemoteWaits(s.RemoteMaxWait, s.RemoteSearch)
	if c := d.Clock; c != nil {
		m.env.now, m.env.redisTime, m.env.token = c.Now, c.RedisTime, c.Token
	}
	if m.env.minReplicas == nil {
		m.env.minReplicas = func(Ref) int { return 1 }
	}
	if m.env.tiered == nil {
		m.env.tiered = func(Ref) bool { return d.Remote != nil }
	}
	if d.Clock == nil {
		go m.sweep()
	} else {
		close(m.done)
	}
	return m
}

// SetProducerExpiry changes how long an idempotent producer may be idle before it is forgotten.
func (m *Manager) SetProducerExpiry(d time.Duration) { m.env.expiryMs.Store(d.Milliseconds()) }

// SetRemoteWaits changes how long a read and a search by time wait for the remote tier.
func (m *Manager) SetRemoteWaits(read, search time.Duration) {
	m.env.remoteWait.Store(int64(read))
	m.env.remoteSearch.Store(int64(search))
}

// busy puts a partition on the list of those to which time matters.
func (m *Manager) busy(p *Partition) {
	if p.swept.Swap(true) {
		return
	}
	m.activity.Lock()
	m.active[p] = struct{}{}
	m.activity.Unlock()
	select {
	case m.started <- struct{}{}:
	default:
	}
}

// sweep lets time pass for the partitions that wait for something, and sleeps when none does.
func (m *Manager) sweep() {
	defer close(m.done)
	ticker := time.NewTicker(sweepEvery)
	defer ticker.Stop()
	for {
		select {
		case <-m.started:
		case <-m.stop:
			return
		}
		ticker.Reset(sweepEvery)
		for m.Tick() {
			select {
			case <-ticker.C:
			case <-m.stop:
				return
			}
		}
		ticker.Stop()
	}
}

// Tick visits the partitions that wait for something and reports whether any still does.
func (m *Manager) Tick() bool {
	m.activity.Lock()
	visit := make([]*Partition, 0, len(m.active))
	for p := range m.active {
		visit = append(visit, p)
	}
	m.activity.Unlock()
	for _, p := range visit {
		m.activity.Lock()
		delete(m.active, p)
		m.activity.Unlock()
		p.swept.Store(false)
		if p.Tick() {
			m.busy(p)
		}
	}
	m.activity.Lock()
	defer m.activity.Unlock()
	return len(m.active) > 0
}

// get returns the partition, opening it.
func (m *Manager) get(ref Ref) (*Partition, error) {
	m.mu.RLock()
	p, closed := m.open[ref], m.closed
	m.mu.RUnlock()
	if closed {
		return nil, ErrClosed
	}
	if p != nil {
		return p, nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, ErrClosed
	}
	if p = m.open[ref]; p == nil {
		p = newPartition(ref, m.env)
		m.open[ref] = p
	}
	return p, nil
}

// Append queues a batch; see kafka/api's port Logs for this and the following methods.
func (m *Manager) Append(ref Ref, b *batch.Batch, opt AppendOptions, done func(Appended, error)) {
	p, err := m.get(ref)
	if err != nil {
		done(Appended{}, err)
		return
	}
	p.Append(b, opt, done)
}

// Read appends record batches to dst.
func (m *Manager) Read(ctx context.Context, ref Ref, req ReadRequest, dst []byte) (ReadResult, error) {
	p, err := m.get(ref)
	if err != nil {
		return ReadResult{Batches: dst}, err
	}
	return p.Read(ctx, req, dst)
}

// Watch waits for the high watermark.
func (m *Manager) Watch(ref Ref, offset int64, wake func()) (cancel func()) {
	p, err := m.get(ref)
	if err != nil {
		wake()
		return func() {}
	}
	return p.Watch(offset, wake)
}

// Bounds tells the ends of the log.
func (m *Manager) Bounds(ctx context.Context, ref Ref) (Bounds, error) {
	p, err := m.get(ref)
	if err != nil {
		return Bounds{}, err
	}
	return p.Bounds(ctx)
}

// LeaderEpoch is the leader epoch as far as it is known without asking Redis, else -1.
func (m *Manager) LeaderEpoch(ref Ref) int32 {
	m.mu.RLock()
	p := m.open[ref]
	m.mu.RUnlock()
	if p == nil {
		return -1
	}
	return p.LeaderEpoch()
}

// OffsetForTime finds the first record at or after a time.
func (m *Manager) OffsetForTime(ctx context.Context, ref Ref, ms int64) (TimeOffset, error) {
	p, err := m.get(ref)
	if err != nil {
		return nothing, err
	}
	return p.OffsetForTime(ctx, ms)
}

// MaxTimestamp finds the first record of the largest timestamp.
func (m *Manager) MaxTimestamp(ctx context.Context, ref Ref) (TimeOffset, error) {
	p, err := m.get(ref)
	if err != nil {
		return nothing, err
	}
	return p.MaxTimestamp(ctx)
}

// EndOfEpoch tells where a leader epoch ends.
func (m *Manager) EndOfEpoch(ctx context.Context, ref Ref, epoch int32) (int32, int64, error) {
	p, err := m.get(ref)
	if err != nil {
		return -1, -1, err
	}
	return p.EndOfEpoch(ctx, epoch)
}

// DeleteBefore raises the log start.
func (m *Manager) DeleteBefore(ctx context.Context, ref Ref, offset int64) (int64, error) {
	p, err := m.get(ref)
	if err != nil {
		return -1, err
	}
	start, err := p.DeleteBefore(ctx, offset)
	if err == nil && m.deleted != nil {
		m.deleted(ref)
	}
	return start, err
}

// Size tells the bytes the partition uses in Redis.
func (m *Manager) Size(ctx context.Context, ref Ref) (int64, error) {
	p, err := m.get(ref)
	if err != nil {
		return 0, err
	}
	return p.Size(ctx)
}

// DeletePartition ends one life of a partition, in memory and in Redis. It may be repeated.
func (m *Manager) DeletePartition(ctx context.Context, ref Ref) error {
	m.mu.Lock()
	p := m.open[ref]
	if p == nil {
		p = newPartition(ref, m.env)
		m.open[ref] = p // refuses whoever comes meanwhile
	}
	m.mu.Unlock()
	p.Close(ErrUnknownPartition)
	if err := p.await(ctx, p.silent); err != nil { // what is in flight would write to the state of a token again
		return readError(err)
	}
	if err := p.env.shard.Delete(ctx, p.keys, p.topicID); err != nil {
		return err
	}
	p.tidy(&effects{sweep: p.deadTokens()})
	m.mu.Lock()
	delete(m.open, ref)
	m.mu.Unlock()
	return nil
}

// DeleteTopic removes what a life of a topic has beside its partitions, once those are gone. It may be repeated.
func (m *Manager) DeleteTopic(ctx context.Context, topic string, id uuid.UUID) error {
	if m.env.dictionaries == nil {
		return nil
	}
	return m.env.dictionaries.Remove(ctx, topic, Ref{ID: id}.TopicID())
}

// Close stops taking batches, waits for those in flight until ctx ends, and gives the leases back, so that another broker
// need not wait for them. Closing again does nothing.
func (m *Manager) Close(ctx context.Context) error {
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return nil
	}
	m.closed = true
	all := make([]*Partition, 0, len(m.open))
	for _, p := range m.open {
		all = append(all, p)
	}
	m.mu.Unlock()
	var errs []error
	for _, p := range all {
		errs = append(errs, p.release(ctx))
	}
	close(m.stop)
	<-m.done
	return errors.Join(errs...)
}

// release waits until nothing is in flight, ends the partition and its lease.
func (p *Partition) release(ctx context.Context) error {
	if err := p.await(ctx, p.quiet); err != nil {
		p.Close(ErrClosed)
		return err
	}
	p.mu.Lock()
	t, leads, stamped := p.term, p.phase == leading, p.stamped
	p.mu.Unlock()
	p.Close(ErrClosed)
	if !leads || !t.conn.Alive() {
		return nil
	}
	_, err := redisstream.Await(ctx, func(done func(bool, error)) {
		redisstream.Release(t.conn, p.keys, t.token, max(stamped, t.floor), done)
	})
	return err
}

// await looks every ms whether the partition has come to that state.
func (p *Partition) await(ctx context.Context, state func() bool) error {
	for !state() {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(time.Millisecond):
		}
	}
	return nil
}

// silent tells whether no append is on its way to Redis.
func (p *Partition) silent() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.flight == nil
}

// quiet tells whether nothing is on its way to Redis or waits to be.
func (p *Partition) quiet() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.flight == nil && p.unknown == nil && p.phase != fencing && len(p.queue) == 0 && len(p.confirm.waiting) == 0
}

// Prepare begins to read what is at an offset of the remote tier, so that several such reads wait at the same time.
func (m *Manager) Prepare(ref Ref, offset int64, bytes int) {
	if p, err := m.get(ref); err == nil {
		p.Prepare(offset, bytes)
	}
}

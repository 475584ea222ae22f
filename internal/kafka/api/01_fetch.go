package api

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/korvet-io/korvet/internal/kafka/server"
	"github.com/korvet-io/korvet/internal/partition"
)

// Fetch (key 1), versions 4 to 18.
//
// v4 isolation levels (KIP-98; there are no transactions, so both read the same); v5 log start offsets (KIP-107); v7
// sessions (KIP-227); v9 leader epochs (KIP-320); v10 zstd (KIP-110): before, batches that are
// zstd are sent uncompressed, where Kafka 4 sends them as they are; v12 diverging epochs (KIP-595); v13 topic ids
// (KIP-516); v16 the current leader (KIP-951). A negative max_bytes or unknown isolation level is INVALID_REQUEST,
// where Kafka answers UNKNOWN_SERVER_ERROR.

// fetchPartition is one partition of a Fetch on its way.
type fetchPartition struct {
	*sessionPartition
	ask    partitionAsk // as of this fetch
	view   *topicView
	next   int64 // the offset to read from when there is more
	bounds partition.Bounds
	err    error
	// diverged is where the client's log leaves ours (KIP-595).
	diverged *divergence
	chunks   []chunk // its records, as parts of fetch.data
	bytes    int
	due      bool // to be read in the next pass; guarded by fetch.mu once the fetch waits
	cancel   func()
}

type divergence struct {
	epoch     int32
	endOffset int64
}

// chunk is a part of one of fetch.data.
type chunk struct{ buffer, from, to int }

// fetch is one Fetch request. It reads what there is; when that is too little it waits, without a goroutine, until a
// partition wakes it or its time is over. At any time at most one goroutine runs it.
type fetch struct {
	api        *API
	call       *call
	plan       *fetchPlan
	reply      func(server.Response, error)
	replica    int32
	committed  bool // isolation level read_committed
	began      time.Time
	passBegan  time.Time // when the partitions that were due began to be read
	partitions []fetchPartition
	data       [][]byte // all records read: pooled buffers, the last of which takes more while it is short
	bytes      int
	failed     bool // a partition has an error: answer at once
	unknown    int  // partitions that do not exist
	limited    bool // a partition has more than fits the answer
	timer      *time.Timer
	undrain    func() bool

	mu      sync.Mutex
	waiting bool // no goroutine runs it
	again   bool // something woke it while it ran
	expired bool
	done    bool
}

func (a *API) fetch(c *call, reply func(server.Response, error)) {
	f, err := a.newFetch(c, reply)
	if err != nil {
		reply(nil, err)
		return
	}
	if f == nil {
		return
	}
	if err := a.fetching.acquire(c.ctx, f.weight()); err != nil {
		reply(nil, err)
		return
	}
	// Reading may wait for Redis, so it does not hold up the connection's other requests.
	go f.run()
}

// newFetch makes a fetch of a request. It returns nil when the request was answered already, with its own refusal.
func (a *API) newFetch(c *call, reply func(server.Response, error)) (*fetch, error) {
	if err := a.checkSize(c); err != nil {
		return nil, err
	}
	if err := a.control.acquire(c.ctx, len(c.req.Body)); err != nil {
		return nil, err
	}
	defer a.control.release(len(c.req.Body))
	req := kmsg.NewPtrFetchRequest()
	if err := a.decode(c, req); err != nil {
		return nil, err
	}
	plan, err := a.planFetch(req)
	if err != nil {
		a.failed(c, "fetch", err)
		reply(&fetchRefusal{version: c.version(), err: err, req: req}, nil)
		return nil, nil
	}
	f := &fetch{
		api: a, call: c, plan: plan, reply: reply, replica: req.ReplicaID, committed: req.IsolationLevel == 1,
		began: a.now(), partitions: plan.partitions,
	}
	if c.version() >= 15 {
		f.replica = req.ReplicaState.ID
	}
	return f, nil
}

// fetchPartitionBytes is about what a partition takes while its fetch is served, and maxFetchingBytes bounds that for
// all fetches of very many partitions together: a session lets a small request name them.
const (
	fetchPartitionBytes = 256
	maxFetchingBytes    = 256 << 20
)

// weight is what the fetch takes of API.fetching.
func (f *fetch) weight() int { return min(fetchPartitionBytes*len(f.partitions), maxFetchingBytes) }

// run reads what is due until there is enough to answer, or leaves the fetch waiting.
func (f *fetch) run() {
	defer f.recover()
	for {
		f.readDue()
		if f.enough() {
			f.finish()
			return
		}
		f.watch()
		if !f.pause() {
			return
		}
	}
}

// recover turns a panic into the end of the connection.
func (f *fetch) recover() {
	if r := recover(); r != nil {
		f.end()
		f.call.log().Error("fetch panicked", "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
		f.reply(nil, errors.New("fetch panicked"))
	}
}

// pause leaves the fetch waiting, unless something happened meanwhile: then it returns true.
func (f *fetch) pause() (goOn bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.again {
		f.again = false
		return true
	}
	f.waiting = true
	return false
}

// wake marks partition i as due and goes on. It is a callback of Logs.Watch.
func (f *fetch) wake(i int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.partitions[i].due = true
	f.goOnLocked()
}

// expire ends the wait.
func (f *fetch) expire() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.expired = true
	f.goOnLocked()
}

func (f *fetch) goOnLocked() {
	switch {
	case f.done:
	case f.waiting:
		f.waiting = false
		go f.run()
	default:
		f.again = true
	}
}

// enough tells whether the answer is due: enough bytes, no room for more, an error, nothing to wait for, or no time left.
func (f *fetch) enough() bool {
	if f.bytes >= f.plan.minBytes || f.limited && f.bytes > 0 || f.failed || f.unknown == len(f.partitions) {
		return true
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.expired || f.plan.maxWait == 0
}

// watch asks to be woken by the partitions that were read to their end, and by the clock.
func (f *fetch) watch() {
	if f.timer == nil {
		f.timer = time.AfterFunc(max(f.plan.maxWait-f.api.now().Sub(f.began), 0), f.expire)
		f.undrain = context.AfterFunc(f.call.req.Conn.Draining, f.expire)
	}
	if f.bytes == 0 {
		giveFetchBuffers(f.data)
		f.data = nil
	}
	for i := range f.partitions {
		p := &f.partitions[i]
		if p.cancel == nil && p.err == nil && p.next >= p.bounds.HighWatermark {
			p.cancel = f.api.logs.Watch(p.view.ref(p.partition), p.next, func() { f.wake(i) })
		}
	}
}

// finish answers.
func (f *fetch) finish() {
	f.end()
	f.measure()
	f.reply(newFetchResponse(f, f.answered()), nil)
}

// end stops the wait for good.
func (f *fetch) end() {
	f.mu.Lock()
	over := f.done
	f.done = true
	f.mu.Unlock()
	if over {
		return
	}
	f.api.fetching.release(f.weight())
	if f.timer != nil {
		f.timer.Stop()
		f.undrain()
	}
	for i := range f.partitions {
		if p := &f.partitions[i]; p.cancel != nil {
			p.cancel()
		}
	}
}

// answered returns the partitions that the answer names: all, or in a running session those with news.
func (f *fetch) answered() []*fetchPartition {
	fs := f.plan.session
	if fs != nil {
		fs.mu.Lock()
		defer fs.mu.Unlock()
	}
	answered := make([]*fetchPartition, 0, len(f.partitions))
	served := 0
	for i := range f.partitions {
		p := &f.partitions[i]
		if p.news() || !f.plan.incremental {
			answered = append(answered, p)
		}
		if p.bytes > 0 && fs != nil {
			p.served = true
			served++
		}
	}
	if served > 0 {
		fs.rotate()
	}
	return answered
}

// news tells whether a session's client has to hear of the partition, and remembers what it hears. After an error it
// hears of it in any case.
func (p *fetchPartition) news() bool {
	sent := p.sessionPartition
	if p.err != nil || p.diverged != nil {
		sent.highWatermark, sent.logStart = -1, -1
		return true
	}
	changed := sent.highWatermark != p.bounds.HighWatermark || sent.logStart != p.bounds.LogStart
	sent.highWatermark, sent.logStart = p.bounds.HighWatermark, p.bounds.LogStart
	return changed || p.bytes > 0
}

// measure tells the metrics: of each topic once.
func (f *fetch) measure() {
	took := f.api.now().Sub(f.began)
	sum := 0
	for i := range f.partitions {
		p := &f.partitions[i]
		if p.err != nil {
			f.api.failed(f.call, "fetch", p.err)
		}
		sum += p.bytes
		last := i+1 == len(f.partitions) || f.partitions[i+1].view != p.view
		if last && sum > 0 && p.view != nil {
			f.api.metrics.Fetched(p.view.Name, sum, took)
		}
		if last {
			sum = 0
		}
	}
}

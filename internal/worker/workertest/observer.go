package workertest

import (
	"sync"
	"time"

	"github.com/korvet-io/korvet/internal/metadata"
)

// Topics is a fixed list of topics.
type Topics struct{ List []*metadata.Topic }

// All are the topics.
func (l *Topics) All() []*metadata.Topic { return l.List }

// Observer keeps what the worker tells.
type Observer struct {
	mu                       sync.Mutex
	Leads, Full              bool
	Ticks, Failures, Dropped int
	Sealed                   int
	Trimmed, Freed           int64
	Bytes                    map[string]int64
}

// Change looks at what was told, or changes it, while nothing is told.
func (o *Observer) Change(f func()) { o.mu.Lock(); defer o.mu.Unlock(); f() }

func (o *Observer) WorkerLeads(leads bool)            { o.Change(func() { o.Leads = leads }) }
func (o *Observer) WorkerTicked(time.Duration)        { o.Change(func() { o.Ticks++ }) }
func (o *Observer) WorkerFailed(string)               { o.Change(func() { o.Failures++ }) }
func (o *Observer) SegmentSealed()                    { o.Change(func() { o.Sealed++ }) }
func (o *Observer) SegmentDropped()                   { o.Change(func() { o.Dropped++ }) }
func (o *Observer) RecordsTrimmed(n int64)            { o.Change(func() { o.Trimmed += n }) }
func (o *Observer) BytesFreed(n int64)                { o.Change(func() { o.Freed += n }) }
func (o *Observer) LocalBytes(sizes map[string]int64) { o.Change(func() { o.Bytes = sizes }) }
func (o *Observer) RedisFull(full bool)               { o.Change(func() { o.Full = full }) }

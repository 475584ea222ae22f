package metrics

import (
	"maps"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// worker measures the storage worker of this process.
type worker struct {
	up, full                        prometheus.Gauge
	tickSeconds                     prometheus.Histogram
	failures                        *prometheus.CounterVec
	sealed, dropped, trimmed, freed prometheus.Counter
	localBytes                      *prometheus.GaugeVec
	maxTopics                       int
}

func newWorker(m *Metrics, maxTopics int) worker {
	w := worker{
		up:         m.gauge("korvet_storage_worker_up", "1 while this process has the storage worker's lease and its last tick succeeded; of all processes one shows 1.").WithLabelValues(),
		failures:   m.counter("korvet_storage_worker_failures_total", "What the storage worker could not do and tries again; operation is tick, look or partition.", "operation"),
		sealed:     m.counter("korvet_storage_worker_segments_sealed_total", "Open segments that the storage worker sealed; owners seal others as they write.").WithLabelValues(),
		dropped:    m.counter("korvet_storage_worker_segments_dropped_total", "Sealed segments that were dropped from Redis.").WithLabelValues(),
		trimmed:    m.counter("korvet_storage_worker_records_trimmed_total", "Records that were trimmed from streams; those of dropped segments are not among them.").WithLabelValues(),
		freed:      m.counter("korvet_storage_worker_bytes_freed_total", "Bytes of Redis's memory that dropped segments and trimmed records had taken.").WithLabelValues(),
		full:       m.gauge("korvet_storage_worker_redis_full", "1 while Redis is full and no topic's retention lets anything go: producers are refused.").WithLabelValues(),
		localBytes: m.gauge("korvet_storage_local_bytes", "Bytes of Redis's memory that a topic's records take; told by the process that has the storage worker's lease.", "topic"),
		maxTopics:  maxTopics,
	}
	w.tickSeconds = m.histogram("korvet_storage_worker_tick_seconds", "Time of one look of the storage worker at all partitions, or at those that it was woken for, and of what was due.", seconds).WithLabelValues().(prometheus.Histogram)
	return w
}

// WorkerLeads tells whether this process has the lease and could work.
func (m *Metrics) WorkerLeads(leads bool) {
	m.worker.up.Set(number(leads))
	if !leads {
		m.worker.localBytes.Reset()
		m.remote.bytes.Reset()
		m.remote.lagOffsets.Reset()
		m.archive.reset()
		m.upkeep.reset()
		m.worker.full.Set(0)
	}
}

// WorkerTicked tells how long a tick took.
func (m *Metrics) WorkerTicked(took time.Duration) { observe(m.worker.tickSeconds, took) }

// WorkerFailed counts what could not be done.
func (m *Metrics) WorkerFailed(operation string) { m.worker.failures.WithLabelValues(operation).Inc() }

// SegmentSealed counts a roll by the worker.
func (m *Metrics) SegmentSealed() { m.worker.sealed.Inc() }

// SegmentDropped counts a sealed segment that went.
func (m *Metrics) SegmentDropped() { m.worker.dropped.Inc() }

// RecordsTrimmed counts records that went from the head of a stream.
func (m *Metrics) RecordsTrimmed(records int64) { m.worker.trimmed.Add(float64(records)) }

// BytesFreed counts memory that Redis has back.
func (m *Metrics) BytesFreed(bytes int64) { m.worker.freed.Add(float64(bytes)) }

// RedisFull tells whether Redis is full and nothing can go.
func (m *Metrics) RedisFull(nothingCanGo bool) { m.worker.full.Set(number(nothingCanGo)) }

// LocalBytes tells the size of each topic. Those beyond the bound share one series.
func (m *Metrics) LocalBytes(byTopic map[string]int64) {
	m.worker.localBytes.Reset()
	for i, topic := range slices.Sorted(maps.Keys(byTopic)) {
		label := topic
		if i >= m.worker.maxTopics {
			label = OtherTopics
		}
		m.worker.localBytes.WithLabelValues(label).Add(float64(byTopic[topic]))
	}
}

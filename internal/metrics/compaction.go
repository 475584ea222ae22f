package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// compaction measures the compaction of topics by this process.
type compaction struct {
	seconds                 *prometheus.HistogramVec
	scanned, removed, freed prometheus.Counter
	rewrites                *prometheus.CounterVec
	last                    prometheus.Gauge
}

func newCompaction(m *Metrics) compaction {
	return compaction{
		seconds:  m.histogram("korvet_storage_compaction_seconds", "Time of one compaction pass over a partition; result is ok or error.", seconds, "result"),
		scanned:  m.counter("korvet_storage_compaction_scanned_records_total", "Records that compaction passes looked at; what stays of the dirty part twice.").WithLabelValues(),
		removed:  m.counter("korvet_storage_compaction_removed_records_total", "Records that compaction removed: superseded ones, tombstones whose time is over, and those without a key.").WithLabelValues(),
		rewrites: m.counter("korvet_storage_compaction_rewrites_total", "Streams written anew to give the memory of removed records back; result error: put off to the next tick.", "result"),
		freed:    m.counter("korvet_storage_compaction_freed_bytes_total", "Bytes of Redis's memory that writing streams anew gave back.").WithLabelValues(),
		last:     m.gauge("korvet_storage_compaction_last_pass_seconds", "When this process finished its newest compaction pass, in seconds since 1970; 0: not yet.").WithLabelValues(),
	}
}

// CompactionPassed tells of a compaction pass.
func (m *Metrics) CompactionPassed(took time.Duration, scanned, removed int64, err error) {
	observe(m.compaction.seconds.WithLabelValues(result(err)), took)
	m.compaction.scanned.Add(float64(scanned))
	m.compaction.removed.Add(float64(removed))
	if err == nil {
		m.compaction.last.SetToCurrentTime()
	}
}

// StreamRewritten tells of a stream that was to be written anew.
func (m *Metrics) StreamRewritten(bytes int64, err error) {
	m.compaction.rewrites.WithLabelValues(result(err)).Inc()
	m.compaction.freed.Add(float64(bytes))
}

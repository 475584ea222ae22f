package metrics

import (
	"maps"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// archive measures what this process copies to the remote tier.
type archive struct {
	seconds                *prometheus.HistogramVec
	segments, bytes        prometheus.Counter
	truncations, truncated prometheus.Counter
	failures               *prometheus.CounterVec
	lagSegments, lagOldest *prometheus.GaugeVec
	maxTopics              int
}

// copySeconds are the buckets of times that copies take, from 5 ms to 10 minutes.
var copySeconds = []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600}

func newArchive(m *Metrics, maxTopics int) archive {
	a := archive{
		seconds:     m.histogram("korvet_storage_archive_seconds", "Time to copy the records of one data file from Redis to the store; result is ok or error.", copySeconds, "result"),
		segments:    m.counter("korvet_storage_archive_segments_total", "Sealed segments that are in their topic's table.").WithLabelValues(),
		bytes:       m.counter("korvet_storage_archive_bytes_total", "Bytes of the data files that were put into tables.").WithLabelValues(),
		truncations: m.counter("korvet_storage_archive_truncations_total", "Times that rows were taken out of a table because Redis had lost the records and given their offsets to others.").WithLabelValues(),
		truncated:   m.counter("korvet_storage_archive_truncated_offsets_total", "Offsets from which they were taken.").WithLabelValues(),
		failures:    m.counter("korvet_storage_archive_failures_total", "What could not be copied and is tried again; operation is table (it cannot be read, or does not fit its log), copy, decode (a record cannot be read) or commit.", "operation"),
		lagSegments: m.gauge("korvet_storage_archive_lag_segments", "Sealed segments of a topic that are not in its table yet; told by the process that has the storage worker's lease.", "topic"),
		lagOldest:   m.gauge("korvet_storage_archive_lag_oldest_seconds", "Time since the last append to the oldest of them; 0 where there is none.", "topic"),
		maxTopics:   maxTopics,
	}
	for _, operation := range []string{"table", "copy", "decode", "commit"} {
		a.failures.WithLabelValues(operation).Add(0)
	}
	return a
}

// FileArchived tells how long one data file took.
func (m *Metrics) FileArchived(took time.Duration, err error) {
	observe(m.archive.seconds.WithLabelValues(result(err)), took)
}

// Archived counts what is in tables.
func (m *Metrics) Archived(segments int, bytes int64) {
	m.archive.segments.Add(float64(segments))
	m.archive.bytes.Add(float64(bytes))
}

// ArchiveTruncated counts a table that lost rows to another history of its log.
func (m *Metrics) ArchiveTruncated(offsets int64) {
	m.archive.truncations.Inc()
	m.archive.truncated.Add(float64(offsets))
}

// ArchiveFailed counts what is tried again.
func (m *Metrics) ArchiveFailed(operation string) {
	m.archive.failures.WithLabelValues(operation).Inc()
}

// ArchiveLag tells how far tables are behind their topics. Topics beyond the bound share one series: the sum of the segments, and
// the oldest.
func (m *Metrics) ArchiveLag(segments map[string]int64, oldest map[string]time.Duration) {
	a := &m.archive
	a.reset()
	others := 0.0
	for i, topic := range slices.Sorted(maps.Keys(segments)) {
		age := oldest[topic].Seconds()
		if i >= a.maxTopics {
			topic, others = OtherTopics, max(others, age)
			age = others
		}
		a.lagOldest.WithLabelValues(topic).Set(age)
	}
	m.remote.byTopic(a.lagSegments, segments)
}

func (a *archive) reset() {
	a.lagSegments.Reset()
	a.lagOldest.Reset()
}

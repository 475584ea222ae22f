package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// storage measures what the partitions do with Redis.
type storage struct {
	writeSeconds, readSeconds     *prometheus.HistogramVec
	writeMessages, writeBytes     prometheus.Counter
	readBytes, fences             *prometheus.CounterVec
	truncations, truncatedRecords prometheus.Counter
	corruptValues                 prometheus.Counter
	trainings, refusals           *prometheus.CounterVec
}

func newStorage(m *Metrics) storage {
	s := storage{
		writeSeconds:     m.histogram("korvet_storage_write_seconds", "Time of one batch in the log, from its queueing to its outcome; result is ok or error.", seconds, "result"),
		writeMessages:    m.counter("korvet_storage_write_messages_total", "Records appended in Redis.").WithLabelValues(),
		writeBytes:       m.counter("korvet_storage_write_bytes_total", "Bytes appended in Redis.").WithLabelValues(),
		readSeconds:      m.histogram("korvet_storage_read_seconds", "Time of one read of a log; tier is cache, local (Redis) or remote, result is ok or error.", seconds, "tier", "result"),
		readBytes:        m.counter("korvet_storage_read_bytes_total", "Bytes of record batches read, by tier.", "tier"),
		fences:           m.counter("korvet_storage_fences_total", "Takeovers of partitions, by outcome.", "result"),
		truncations:      m.counter("korvet_storage_truncations_total", "Times that a log was found shorter than it had been: Redis lost its tail.").WithLabelValues(),
		truncatedRecords: m.counter("korvet_storage_truncated_records_total", "Records that were lost so.").WithLabelValues(),
		corruptValues:    m.counter("korvet_storage_corrupt_values_total", "Reads that ended at a value which does not decode, or whose zstd dictionary is gone.").WithLabelValues(),
		trainings:        m.counter("korvet_storage_dictionary_trainings_total", "Trainings of zstd dictionaries; result is published, other (another broker was first), useless (values do not become smaller) or failed.", "result"),
		refusals:         m.counter("korvet_redis_refused_writes_total", "Batches and changes of groups that Redis refused; reason is full (maxmemory) or not_saved (it cannot write its disk).", "reason"),
	}
	for _, reason := range []string{"full", "not_saved"} {
		s.refusals.WithLabelValues(reason).Add(0)
	}
	return s
}

// WriteRefused counts a write that Redis refused.
func (m *Metrics) WriteRefused(reason string) { m.storage.refusals.WithLabelValues(reason).Inc() }

// Appended tells the outcome of one batch.
func (m *Metrics) Appended(records, bytes int, took time.Duration, err error) {
	observe(m.storage.writeSeconds.WithLabelValues(result(err)), took)
	if err == nil {
		m.storage.writeMessages.Add(float64(records))
		m.storage.writeBytes.Add(float64(bytes))
	}
}

// Read tells the outcome of one read.
func (m *Metrics) Read(tier string, bytes int, took time.Duration, err error) {
	observe(m.storage.readSeconds.WithLabelValues(tier, result(err)), took)
	m.storage.readBytes.WithLabelValues(tier).Add(float64(bytes))
}

// Fenced counts a takeover.
func (m *Metrics) Fenced(result string) { m.storage.fences.WithLabelValues(result).Inc() }

// Truncated counts a log that lost records.
func (m *Metrics) Truncated(records int64) {
	m.storage.truncations.Inc()
	m.storage.truncatedRecords.Add(float64(records))
}

// ValueCorrupt counts a read that ended at a value which does not decode.
func (m *Metrics) ValueCorrupt() { m.storage.corruptValues.Inc() }

// DictionaryTrained counts a training of a zstd dictionary.
func (m *Metrics) DictionaryTrained(result string) { m.storage.trainings.WithLabelValues(result).Inc() }

func result(err error) string {
	if err != nil {
		return "error"
	}
	return "ok"
}

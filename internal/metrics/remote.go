package metrics

import (
	"maps"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// remote measures what this process does with the remote tier.
type remote struct {
	bytes                  *prometheus.GaugeVec
	lagOffsets             *prometheus.GaugeVec
	requestSeconds         *prometheus.HistogramVec
	requestBytes, failures *prometheus.CounterVec
	reads                  *prometheus.CounterVec
	readBytes              prometheus.Counter
	indexBytes, waiting    prometheus.Gauge
	catalogSeconds         *prometheus.HistogramVec
	events                 *prometheus.CounterVec
	eventsWaiting          prometheus.Gauge
	maxTopics              int
}

func newRemote(m *Metrics, maxTopics int) remote {
	r := remote{
		bytes:          m.gauge("korvet_storage_remote_bytes", "Bytes of the data files in a topic's table; told by the process that has the storage worker's lease.", "topic"),
		lagOffsets:     m.gauge("korvet_storage_archive_lag_offsets", "Offsets between the end of what a topic's table has and the log's end, over all its partitions; the open segments' are among them. Told by the process that has the storage worker's lease.", "topic"),
		requestSeconds: m.histogram("korvet_storage_remote_request_seconds", "Time of one request to the object store; operation is read, write, list, size or delete, result is ok or error. An object that is not there, or is there already, counts as ok: both are asked for.", seconds, "operation", "result"),
		requestBytes:   m.counter("korvet_storage_remote_request_bytes_total", "Bytes of objects that requests to the store read or wrote.", "operation"),
		failures:       m.counter("korvet_storage_remote_failures_total", "Requests to the object store that failed; error_type is denied, full, short, timeout, canceled or failed.", "operation", "error_type"),
		reads:          m.counter("korvet_storage_remote_reads_total", "Reads of the log that went to the remote tier; result is ok or error.", "result"),
		readBytes:      m.counter("korvet_storage_remote_read_bytes_total", "Bytes of record batches that they gave.").WithLabelValues(),
		indexBytes:     m.gauge("korvet_storage_remote_index_cache_bytes", "Bytes of the data files' indexes that this broker keeps in memory, of at most remote.log.index.file.cache.total.size.bytes.").WithLabelValues(),
		waiting:        m.gauge("korvet_storage_remote_waiting_partitions", "Partitions that cannot be read and written because Redis has lost their log, or its end, and the store does not tell what the table has.").WithLabelValues(),
		catalogSeconds: m.histogram("korvet_catalog_request_seconds", "Time of one request to the Iceberg REST catalog; operation is method and path, with * for names, status its HTTP status.", seconds, "operation", "status"),
		events:         m.counter("korvet_storage_remote_events_total", "Records of the topic __remote_log_metadata; step is queued (by the storage worker) or published (by the partition's broker).", "step"),
		eventsWaiting:  m.gauge("korvet_storage_remote_events_waiting", "Records that wait in Redis until this broker, which leads their partitions of __remote_log_metadata, has appended them.").WithLabelValues(),
		maxTopics:      maxTopics,
	}
	for _, result := range []string{"ok", "error"} {
		r.reads.WithLabelValues(result).Add(0)
	}
	for _, step := range []string{"queued", "published"} {
		r.events.WithLabelValues(step).Add(0)
	}
	return r
}

// RemoteBytes tells the size of each topic's table. Those beyond the bound share one series.
func (m *Metrics) RemoteBytes(byTopic map[string]int64) { m.remote.byTopic(m.remote.bytes, byTopic) }

// ArchiveLagOffsets tells how far each topic's table is behind its log.
func (m *Metrics) ArchiveLagOffsets(byTopic map[string]int64) {
	m.remote.byTopic(m.remote.lagOffsets, byTopic)
}

// byTopic replaces all series of a gauge. Topics beyond the bound share one.
func (r *remote) byTopic(g *prometheus.GaugeVec, values map[string]int64) {
	g.Reset()
	for i, topic := range slices.Sorted(maps.Keys(values)) {
		label := topic
		if i >= r.maxTopics {
			label = OtherTopics
		}
		g.WithLabelValues(label).Add(float64(values[topic]))
	}
}

// StoreRequest tells of one request to the object store; kind is empty after a success.
func (m *Metrics) StoreRequest(operation string, bytes int64, took time.Duration, kind string) {
	outcome := "ok"
	if kind != "" && kind != "not_found" && kind != "exists" {
		outcome = "error"
		m.remote.failures.WithLabelValues(operation, kind).Inc()
	}
	observe(m.remote.requestSeconds.WithLabelValues(operation, outcome), took)
	m.remote.requestBytes.WithLabelValues(operation).Add(float64(bytes))
}

// RemoteRead tells of a read of the log that went to the remote tier.
func (m *Metrics) RemoteRead(bytes int, err error) {
	m.remote.reads.WithLabelValues(result(err)).Inc()
	m.remote.readBytes.Add(float64(bytes))
}

// IndexCache tells how much the kept indexes of data files take.
func (m *Metrics) IndexCache(bytes int64) { m.remote.indexBytes.Set(float64(bytes)) }

// CatalogRequest tells of one request to the REST catalog. Operations and statuses must be few.
func (m *Metrics) CatalogRequest(operation, status string, took time.Duration) {
	observe(m.remote.catalogSeconds.WithLabelValues(operation, status), took)
}

// EventsQueued counts changes of remote segments that wait for their broker.
func (m *Metrics) EventsQueued(n int) { m.remote.events.WithLabelValues("queued").Add(float64(n)) }

// EventsPublished counts those that became records, and tells how many still wait.
func (m *Metrics) EventsPublished(n int, waiting int64) {
	m.remote.events.WithLabelValues("published").Add(float64(n))
	m.remote.eventsWaiting.Set(float64(waiting))
}

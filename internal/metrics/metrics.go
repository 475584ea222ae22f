// Package metrics holds the broker's Prometheus collectors: made once, passed down, with the names that docs/metrics.md
// lists. It implements the small observer interfaces of the rooms and imports none of them.
package metrics

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Options say what is measured.
type Options struct {
	Version string
	// MaxTopics bounds the topics that have series of their own; the others share one.
	MaxTopics int
	// Topics lists the topics that exist. A topic's series vanish at the first scrape after its deletion. nil: all exist.
	Topics func() []string
	// Partitions lists the partitions' offsets at the moment of a scrape. nil: none are shown.
	Partitions func() []Partition
	// Groups lists the groups at the moment of a scrape, in the order of their names. nil: none are shown.
	Groups func() []Group
	// MaxGroups bounds the groups that have series of their own.
	MaxGroups int
	// RedisUp tells whether the messages' Redis was reached by the newest attempt. nil: it is not shown.
	RedisUp func() bool
	// Waiting counts the partitions that wait for the remote tier because Redis has lost them. nil: it is not shown.
	Waiting func() int
}

// Metrics is what the broker measures. All methods are safe for concurrent use and do not block.
type Metrics struct {
	registry   *prometheus.Registry
	topics     *topicSeries
	storage    storage
	groups     groups
	worker     worker
	compaction compaction
	remote     remote
	archive    archive
	upkeep     upkeep
	listed     []definition

	requestSeconds     *prometheus.HistogramVec
	frameBytes         *prometheus.HistogramVec
	connections        prometheus.Gauge
	pendingBytes       prometheus.Gauge
	backpressureConns  prometheus.Gauge
	backpressureTotal  *prometheus.CounterVec
	failures           *prometheus.CounterVec
	brokerUp, redisUp  prometheus.Gauge
	redisUpNow         func() bool
	waiting            func() int
	applicationVersion *prometheus.GaugeVec
}

// definition is what docs/metrics.md says of one metric.
type definition struct {
	name, kind, help string
	labels           []string
}

// seconds are the buckets of times from 50 us to 10 s.
var seconds = []float64{.00005, .0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}

// New makes the collectors.
func New(o Options) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry(), redisUpNow: o.RedisUp, waiting: o.Waiting}
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.requestSeconds = m.histogram("korvet_broker_request_seconds", "From a request's last byte read to its answer written; result is ok, error, none (no answer asked for) or closed.", seconds, "api_key", "result")
	m.frameBytes = m.histogram("korvet_broker_frame_size_bytes", "Size of whole frames; direction is in or out.", prometheus.ExponentialBuckets(64, 8, 8), "direction", "api_key")
	m.connections = m.gauge("korvet_broker_connections", "Open connections of Kafka clients.").WithLabelValues()
	m.pendingBytes = m.gauge("korvet_broker_pending_bytes", "Bytes of requests that were read and not answered yet.").WithLabelValues()
	m.backpressureConns = m.gauge("korvet_broker_backpressure_connections", "Connections that are not read because too many bytes are pending.").WithLabelValues()
	m.backpressureTotal = m.counter("korvet_broker_backpressure_transitions_total", "Times that reading stopped (pause) or went on (resume).", "action")
	m.failures = m.counter("korvet_broker_failures_total", "Errors answered to clients, and connections closed by the broker, by what was being done and why.", "operation", "error_type")
	m.brokerUp = m.gauge("korvet_broker_up", "1 while the broker serves requests.").WithLabelValues()
	if o.RedisUp != nil {
		m.redisUp = m.gauge("korvet_redis_up", "1 while the messages' Redis answers.").WithLabelValues()
	}
	m.applicationVersion = m.gauge("korvet_application_build", "Always 1.", "name", "version")
	m.applicationVersion.WithLabelValues("korvet", o.Version).Set(1)
	m.storage = newStorage(m)
	m.groups = newGroups(m)
	m.worker = newWorker(m, o.MaxTopics)
	m.compaction = newCompaction(m)
	m.remote = newRemote(m, o.MaxTopics)
	m.archive = newArchive(m, o.MaxTopics)
	m.upkeep = newUpkeep(m)
	m.topics = newTopicSeries(m, o.MaxTopics, o.Topics)
	if o.Partitions != nil {
		m.addPartitions(o)
	}
	if o.Groups != nil {
		m.addGroups(o)
	}
	return m
}

// Handler serves the metrics in Prometheus's formats.
func (m *Metrics) Handler() http.Handler {
	h := promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.topics.prune()
		if m.redisUpNow != nil {
			m.redisUp.Set(number(m.redisUpNow()))
		}
		if m.waiting != nil {
			m.remote.waiting.Set(float64(m.waiting()))
		}
		h.ServeHTTP(w, r)
	})
}

// Up tells whether the broker serves requests.
func (m *Metrics) Up(up bool) { m.brokerUp.Set(number(up)) }

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func (m *Metrics) define(kind, name, help string, labels []string) {
	m.listed = append(m.listed, definition{name: name, kind: kind, help: help, labels: labels})
}

func (m *Metrics) counter(name, help string, labels ...string) *prometheus.CounterVec {
	m.define("counter", name, help, labels)
	v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	m.registry.MustRegister(v)
	return v
}

func (m *Metrics) gauge(name, help string, labels ...string) *prometheus.GaugeVec {
	m.define("gauge", name, help, labels)
	v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
	m.registry.MustRegister(v)
	return v
}

func (m *Metrics) histogram(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	m.define("histogram", name, help, labels)
	v := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
	m.registry.MustRegister(v)
	return v
}

func observe(o prometheus.Observer, took time.Duration) { o.Observe(took.Seconds()) }

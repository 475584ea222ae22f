package metrics

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// OtherTopics is the label of the topics beyond the bound. A topic of this very name shares their series.
const OtherTopics = "_other"

// topicSeries holds the series that have a topic as label, bounded in topics.
type topicSeries struct {
	max  int
	live func() []string

	produceSeconds, fetchSeconds             *prometheus.HistogramVec
	produceRecords, produceBytes, fetchBytes *prometheus.CounterVec
	valueBytes, storedValueBytes             *prometheus.CounterVec

	mu    sync.RWMutex
	known map[string]*oneTopic
	other *oneTopic
}

// oneTopic is the series of one topic, looked up once.
type oneTopic struct {
	produceSeconds, fetchSeconds             prometheus.Observer
	produceRecords, produceBytes, fetchBytes prometheus.Counter
	valueBytes, storedValueBytes             prometheus.Counter
}

func newTopicSeries(m *Metrics, max int, live func() []string) *topicSeries {
	return &topicSeries{
		max:              max,
		live:             live,
		known:            map[string]*oneTopic{},
		produceSeconds:   m.histogram("korvet_broker_produce_seconds", "Time of an append, from a Produce request's batch to its outcome.", seconds, "topic"),
		fetchSeconds:     m.histogram("korvet_broker_fetch_seconds", "Time of a Fetch that had records of the topic, its wait for them included.", seconds, "topic"),
		produceRecords:   m.counter("korvet_broker_produce_records_total", "Records accepted.", "topic"),
		produceBytes:     m.counter("korvet_broker_produce_bytes_total", "Bytes of batches accepted, as sent.", "topic"),
		fetchBytes:       m.counter("korvet_broker_fetch_bytes_total", "Bytes of batches sent to consumers.", "topic"),
		valueBytes:       m.counter("korvet_storage_value_bytes_total", "Bytes of values that were compressed before they went to Redis.", "topic"),
		storedValueBytes: m.counter("korvet_storage_compressed_value_bytes_total", "Bytes that they became.", "topic"),
	}
}

// Produced tells what one partition of a Produce request brought, and how long its append took.
func (m *Metrics) Produced(topic string, records, bytes int, took time.Duration) {
	t := m.topics.of(topic)
	observe(t.produceSeconds, took)
	t.produceRecords.Add(float64(records))
	t.produceBytes.Add(float64(bytes))
}

// Fetched tells how long a Fetch request took that had records of the topic, and their bytes.
func (m *Metrics) Fetched(topic string, bytes int, took time.Duration) {
	t := m.topics.of(topic)
	observe(t.fetchSeconds, took)
	t.fetchBytes.Add(float64(bytes))
}

// ValuesCompressed tells the bytes of values before and after they were compressed.
func (m *Metrics) ValuesCompressed(topic string, plain, stored int) {
	t := m.topics.of(topic)
	t.valueBytes.Add(float64(plain))
	t.storedValueBytes.Add(float64(stored))
}

func (s *topicSeries) of(topic string) *oneTopic {
	s.mu.RLock()
	t, full := s.known[topic], len(s.known) >= s.max
	if t == nil && full {
		t = s.other
	}
	s.mu.RUnlock()
	if t != nil {
		return t
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.known) >= s.max && s.known[topic] == nil {
		if s.other == nil {
			s.other = s.series(OtherTopics)
		}
		return s.other
	}
	if s.known[topic] == nil {
		s.known[topic] = s.series(topic)
	}
	return s.known[topic]
}

func (s *topicSeries) series(topic string) *oneTopic {
	return &oneTopic{
		produceSeconds:   s.produceSeconds.WithLabelValues(topic),
		fetchSeconds:     s.fetchSeconds.WithLabelValues(topic),
		produceRecords:   s.produceRecords.WithLabelValues(topic),
		produceBytes:     s.produceBytes.WithLabelValues(topic),
		fetchBytes:       s.fetchBytes.WithLabelValues(topic),
		valueBytes:       s.valueBytes.WithLabelValues(topic),
		storedValueBytes: s.storedValueBytes.WithLabelValues(topic),
	}
}

// prune removes the series of topics that exist no longer.
func (s *topicSeries) prune() {
	if s.live == nil {
		return
	}
	live := map[string]bool{}
	for _, topic := range s.live() {
		live[topic] = true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for topic := range s.known {
		if live[topic] {
			continue
		}
		delete(s.known, topic)
		for _, v := range []interface{ DeleteLabelValues(...string) bool }{s.produceSeconds, s.fetchSeconds, s.produceRecords, s.produceBytes, s.fetchBytes, s.valueBytes, s.storedValueBytes} {
			v.DeleteLabelValues(topic)
		}
	}
}

package metrics

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Connections adds delta to the number of open connections.
func (m *Metrics) Connections(delta int) { m.connections.Add(float64(delta)) }

// Frame counts one whole frame.
func (m *Metrics) Frame(direction string, key int16, bytes int) {
	m.frameBytes.WithLabelValues(direction, kmsg.NameForKey(key)).Observe(float64(bytes))
}

// Request tells how long a request took.
func (m *Metrics) Request(key int16, result string, took time.Duration) {
	observe(m.requestSeconds.WithLabelValues(kmsg.NameForKey(key), result), took)
}

// Pending tells the bytes of requests that were read and not answered yet.
func (m *Metrics) Pending(bytes int64) { m.pendingBytes.Set(float64(bytes)) }

// Backpressure counts a transition.
func (m *Metrics) Backpressure(action string) { m.backpressureTotal.WithLabelValues(action).Inc() }

// BackpressureConnections adds delta to the number of connections that wait for reading to go on.
func (m *Metrics) BackpressureConnections(delta int) { m.backpressureConns.Add(float64(delta)) }

// Failure counts a connection that the broker closed.
func (m *Metrics) Failure(operation, errorType string) {
	m.failures.WithLabelValues(operation, errorType).Inc()
}

// Failed counts an error that a client was answered.
func (m *Metrics) Failed(operation, errorType string) { m.Failure(operation, errorType) }

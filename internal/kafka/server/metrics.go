package server

import "time"

// Metrics is told what the listener does. Its methods are called from many goroutines and must not block.
type Metrics interface {
	// Connections adds delta to the number of open connections.
	Connections(delta int)
	// Frame counts one whole frame, its size prefix included. key is the API key; direction is DirectionIn or DirectionOut.
	Frame(direction string, key int16, bytes int)
	// Request tells how long a request took from its last byte read to its answer written, and its result: ResultOk,
	// ResultError, ResultNone (acks=0) or ResultClosed.
	Request(key int16, result string, took time.Duration)
	// Pending tells the bytes of requests that were read and not answered yet.
	Pending(bytes int64)
	// Backpressure counts a transition: ActionPause when reading stops, ActionResume when it goes on.
	Backpressure(action string)
	// BackpressureConnections adds delta to the number of connections that wait for reading to go on.
	BackpressureConnections(delta int)
	// Failure counts a connection that the server closed, by what it was doing and why.
	Failure(operation, errorType string)
}

// The labels' values.
const (
	DirectionIn  = "in"
	DirectionOut = "out"

	ResultOk     = "ok"
	ResultError  = "error"
	ResultNone   = "none"
	ResultClosed = "closed"

	ActionPause  = "pause"
	ActionResume = "resume"
)

// noMetrics is used when no Metrics are given.
type noMetrics struct{}

func (noMetrics) Connections(int)                      {}
func (noMetrics) Frame(string, int16, int)             {}
func (noMetrics) Request(int16, string, time.Duration) {}
func (noMetrics) Pending(int64)                        {}
func (noMetrics) Backpressure(string)                  {}
func (noMetrics) BackpressureConnections(int)          {}
func (noMetrics) Failure(string, string)               {}

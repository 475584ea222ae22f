// Package system starts and stops what the benchmark measures: korvet with a Redis of its own, and Apache Kafka where a
// script that runs it is at hand. All of them listen on loopback only.
package system

import "context"

// System is a Kafka broker under test. Its methods are not safe for concurrent use.
type System interface {
	Name() string
	// Open makes the broker ready for clients. It may start from nothing or keep what a former Open started.
	Open(ctx context.Context) error
	// Cold makes the next read from offset 0 one that a broker's cache of fresh records cannot answer, where there is one.
	Cold(ctx context.Context) error
	// Restart stops the broker properly, keeps its data and starts it again; began is called right before the start.
	Restart(ctx context.Context, began func()) error
	// Close frees what would disturb the measurement of another system.
	Close() error
	// Shutdown stops everything and removes the data.
	Shutdown() error
	// Address is the bootstrap server.
	Address() string
	// Processes are those whose resources are measured, by their part: broker, redis.
	Processes() map[string]int
	// TopicSettings are what a topic needs to leave nothing behind when it is deleted.
	TopicSettings() map[string]*string
}

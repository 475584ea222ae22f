package api

import "time"

// Metrics is told what the data APIs do. Its methods are called from many goroutines and must not block.
type Metrics interface {
	// Produced tells what one partition of a Produce request brought, and how long its append took.
	Produced(topic string, records, bytes int, took time.Duration)
	// Fetched tells how long a Fetch request took that had records of the topic, its wait for them included, and their bytes.
	Fetched(topic string, bytes int, took time.Duration)
	// Failed counts an error that a client was answered, by operation (produce, fetch ...) and Kafka's name of the error.
	Failed(operation, errorType string)
}

package main

import "github.com/spf13/cobra"

func newWorker(e *env) *cobra.Command {
	return newProcess(e, "worker", "Run the storage worker without a broker",
		`Run the storage worker alone: retention, compaction and rolling of idle segments of all topics on the Redis that
korvet.redis.uri names. Brokers run one, too, unless korvet.storage.worker.enabled=false; of all processes one works at a
time. It is the same as korvet server with korvet.broker.enabled=false.`, "--korvet.broker.enabled=false")
}

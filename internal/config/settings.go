package config

import (
	"math"
	"sync"
)

// settings is the one table of settings, in the order in which they are shown.
var settings = sync.OnceValue(func() []setting {
	rows := []setting{
		{name: "korvet.namespace", def: "korvet", field: func(c *Config) any { return &c.Namespace }, check: namespace,
			doc: "Prefix of every Redis key."},
	}
	rows = append(rows, brokerSettings()...)
	rows = append(rows, groupSettings()...)
	rows = append(rows, redisSettings("korvet.redis.", "", func(c *Config) *Redis { return &c.Redis })...)
	rows = append(rows, redisSettings("korvet.storage.local.redis.", "korvet.redis.", func(c *Config) *Redis { return &c.Messages })...)
	rows = append(rows, otherSettings()...)
	rows = append(rows, compressionSettings()...)
	rows = append(rows, remoteSettings()...)
	rows = append(rows, upkeepSettings()...)
	rows = append(rows, catalogSettings()...)
	rows = append(rows, remoteKafkaSettings()...)
	return append(rows, laterSettings()...)
})

func brokerSettings() []setting {
	return []setting{
		{name: "korvet.broker.enabled", def: "true", field: func(c *Config) any { return &c.Broker.Enabled },
			doc: "Serve Kafka clients. false: the process runs the storage worker alone, as `korvet worker` does."},
		{name: "korvet.broker.id", kafka: "broker.id", def: "0", field: func(c *Config) any { return &c.Broker.ID }, check: between(0, math.MaxInt32),
			doc: "Unique per broker. Of two brokers with one id the one that started later stays."},
		{name: "korvet.broker.host", def: "0.0.0.0", field: func(c *Config) any { return &c.Broker.Host }, check: listenHost,
			doc: "Address that the Kafka listener binds."},
		{name: "korvet.broker.port", def: "9092", field: func(c *Config) any { return &c.Broker.Port }, check: port,
			doc: "Port of the Kafka listener; 0 picks a free one."},
		{name: "korvet.broker.advertised-host", field: func(c *Config) any { return &c.Broker.AdvertisedHost }, check: advertisedHost,
			doc: "Host that clients are told to connect to. Unset: `korvet.broker.host`, or localhost where that is all addresses."},
		{name: "korvet.broker.advertised-port", def: "0", field: func(c *Config) any { return &c.Broker.AdvertisedPort }, check: port,
			doc: "Port that clients are told to connect to; 0: the port that is listened on."},
		{name: "korvet.broker.max-request-bytes", kafka: "socket.request.max.bytes", def: "100MB", field: func(c *Config) any { return &c.Broker.MaxRequestBytes }, check: between(1024, math.MaxInt32),
			doc: "A connection that sends a larger request is closed."},
		{name: "korvet.broker.max-control-request-bytes", def: "8MB", field: func(c *Config) any { return &c.Broker.MaxControlRequestBytes }, check: between(64<<10, 1<<30),
			doc: "The same for requests other than Produce, which take many times their size when decoded; those above 64 KiB also share it."},
		{name: "korvet.broker.max-decompressed-bytes", def: "256MB", field: func(c *Config) any { return &c.Broker.MaxDecompressedBytes }, check: between(1<<20, math.MaxInt32),
			doc: "Decompressed records of all batches that are not yet appended: further compressed ones wait."},
		{name: "korvet.broker.max-pending-bytes", def: "100MB", field: func(c *Config) any { return &c.Broker.MaxPendingBytes }, check: atLeast(1024),
			doc: "Requests not yet answered, of all connections: above it sockets are no longer read."},
		{name: "korvet.broker.resume-pending-bytes", def: "50MB", field: func(c *Config) any { return &c.Broker.ResumePendingBytes }, check: atLeast(0),
			doc: "Below it they are read again."},
		{name: "korvet.broker.max-in-flight-requests", def: "64", field: func(c *Config) any { return &c.Broker.MaxInFlightRequests }, check: between(1, 100_000),
			doc: "Requests of one connection that are served at a time; further ones wait in its socket."},
		{name: "korvet.broker.max-connections", kafka: "max.connections", dynamic: true, def: "10000", field: func(c *Config) any { return &c.Broker.MaxConnections }, check: between(1, math.MaxInt32),
			doc: "Connections of Kafka clients; further ones wait."},
		{name: "korvet.broker.max-connections-per-ip", kafka: "max.connections.per.ip", dynamic: true, def: "0", field: func(c *Config) any { return &c.Broker.MaxConnectionsPerIP }, check: between(0, math.MaxInt32),
			doc: "Connections from one address; further ones are closed. 0: no limit of their own."},
		{name: "korvet.broker.connections-max-idle-ms", kafka: "connections.max.idle.ms", def: "10m", field: func(c *Config) any { return &c.Broker.ConnectionsMaxIdle }, check: atLeast(1000),
			doc: "A connection without a request for so long is closed."},
		{name: "korvet.broker.frame-timeout", def: "30s", field: func(c *Config) any { return &c.Broker.FrameTimeout }, check: atLeast(1000),
			doc: "A connection whose request has begun and is not complete after so long is closed."},
		{name: "korvet.broker.response-queue-timeout", def: "10s", field: func(c *Config) any { return &c.Broker.ResponseQueueTimeout }, check: atLeast(100),
			doc: "A client that does not take an answer for so long is disconnected."},
		{name: "korvet.broker.shutdown-timeout", def: "8s", field: func(c *Config) any { return &c.Broker.ShutdownTimeout }, check: atLeast(0),
			doc: "How long a stopping broker waits until requests in flight are answered."},
		{name: "korvet.broker.fetch-max-wait", def: "0ms", field: func(c *Config) any { return &c.Broker.FetchMaxWait }, check: atLeast(0),
			doc: "Upper bound of the wait that a Fetch asks for; 0: none."},
		{name: "korvet.broker.fetch-max-bytes", kafka: "fetch.max.bytes", def: "55MB", field: func(c *Config) any { return &c.Broker.FetchMaxBytes }, check: between(1024, math.MaxInt32),
			doc: "Upper bound of the records of one Fetch answer."},
		{name: "korvet.broker.fetch-partition-max-bytes", def: "0", field: func(c *Config) any { return &c.Broker.FetchPartitionMaxBytes }, check: between(0, math.MaxInt32),
			doc: "Upper bound of the bytes of one partition that a Fetch asks for; 0: none."},
		{name: "korvet.broker.max-incremental-fetch-session-cache-slots", kafka: "max.incremental.fetch.session.cache.slots", def: "1000", field: func(c *Config) any { return &c.Broker.FetchSessions }, check: between(0, 1_000_000),
			doc: "Fetch sessions (KIP-227) that are kept."},
		{name: "korvet.broker.tail-cache-bytes", def: "64MB", field: func(c *Config) any { return &c.Broker.TailCacheBytes }, check: atLeast(0),
			doc: "Recent appends that are kept in memory, of all partitions. Consumers within it cost Redis nothing."},
		{name: "korvet.broker.read-ahead-answers", def: "16", field: func(c *Config) any { return &c.Broker.ReadAheadAnswers }, check: between(0, 10_000),
			doc: "Fetch answers that are read from Redis before consumers of older records ask for them, each at most as large as the fetch before allowed. 0: none."},
		{name: "korvet.broker.read-ahead-kept", def: "5s", field: func(c *Config) any { return &c.Broker.ReadAheadKept }, check: between(10, 3_600_000),
			doc: "Such an answer that nobody asked for in so long is dropped."},
		{name: "korvet.broker.produce-timeout", def: "5s", field: func(c *Config) any { return &c.Broker.ProduceTimeout }, check: atLeast(0),
			doc: "A write without outcome for so long is answered REQUEST_TIMED_OUT; the client's timeout counts if it is shorter. 0: the client's alone."},
		{name: "korvet.broker.max-batch-records", def: "20000", field: func(c *Config) any { return &c.Broker.MaxBatchRecords }, check: between(1, 1_000_000),
			doc: "A record batch with more records is refused with MESSAGE_TOO_LARGE."},
		{name: "korvet.broker.max-batch-decompressed-bytes", def: "16MB", field: func(c *Config) any { return &c.Broker.MaxBatchDecompressedBytes }, check: between(1024, 1<<30),
			doc: "A record batch that is larger when decompressed is refused with MESSAGE_TOO_LARGE. A value that Redis keeps compressed and that is larger counts as damaged."},
		{name: "korvet.broker.producer-id-expiration-ms", kafka: "producer.id.expiration.ms", dynamic: true, def: "1d", field: func(c *Config) any { return &c.Broker.ProducerIDExpiration }, check: atLeast(1),
			doc: "An idempotent producer that is idle for so long is forgotten."},
		{name: "korvet.broker.auto-create-topics-enable", kafka: "auto.create.topics.enable", def: "true", field: func(c *Config) any { return &c.Broker.AutoCreateTopics },
			doc: "Create a topic when a client asks for one that is not there. A matching pattern of `korvet.topics` decides otherwise."},
		{name: "korvet.broker.num-partitions", kafka: "num.partitions", def: "1", field: func(c *Config) any { return &c.Broker.NumPartitions }, check: between(1, 10_000),
			doc: "Partitions of a topic that is created without a number of them."},
		{name: "korvet.broker.lease-duration", def: "3s", field: func(c *Config) any { return &c.Broker.LeaseDuration }, check: between(500, 600_000),
			doc: "How long a partition belongs to its broker after its last append. After a broker's death writes wait for the rest of it."},
		{name: "korvet.broker.heartbeat-interval", def: "2s", field: func(c *Config) any { return &c.Broker.HeartbeatInterval }, check: between(100, 600_000),
			doc: "How often a broker says that it lives."},
		{name: "korvet.broker.stale-after", def: "6s", field: func(c *Config) any { return &c.Broker.StaleAfter }, check: between(200, 3_600_000),
			doc: "A broker that did not say so for so long is taken for dead."},
	}
}

// redisSettings are the rows of one Redis. parent, when not empty, is the group whose values are the defaults.
func redisSettings(group, parent string, of func(*Config) *Redis) []setting {
	rows := []setting{
		{name: "uri", field: func(c *Config) any { return &of(c).URI }, check: redisURI,
			doc: "`redis://[user:password@]host[:port][/database]`; `rediss://` for TLS; `redis+unix:///path` for a socket."},
		{name: "host", def: "localhost", field: func(c *Config) any { return &of(c).Host }, check: listenHost,
			doc: "Host, when there is no uri."},
		{name: "port", def: "6379", field: func(c *Config) any { return &of(c).Port }, check: between(1, 65535),
			doc: "Port, when there is no uri."},
		{name: "username", field: func(c *Config) any { return &of(c).Username },
			doc: "User, when the uri has none."},
		{name: "password", field: func(c *Config) any { return &of(c).Password }, secret: true,
			doc: "Password, when the uri has none."},
		{name: "cluster", def: "false", later: true, field: func(c *Config) any { return &of(c).Cluster },
			doc: "Redis Cluster; uri is then a list."},
		{name: "timeout", def: "1m", field: func(c *Config) any { return &of(c).Timeout }, check: atLeast(10),
			doc: "How long a command may take before its connection is given up."},
		{name: "replicas", def: "0", field: func(c *Config) any { return &of(c).Replicas }, check: between(0, 100),
			doc: "How many replicas Redis is run with. min.insync.replicas counts up to 1 + that."},
		{name: "circuit-breaker.enabled", def: "true", field: func(c *Config) any { return &of(c).CircuitBreaker },
			doc: "Fail fast while Redis is down."},
		{name: "circuit-breaker.open-duration", def: "30s", field: func(c *Config) any { return &of(c).CircuitOpenDuration }, check: atLeast(10),
			doc: "Upper bound of the pause between two probes of a Redis that is down."},
		{name: "data-dir", field: func(c *Config) any { return &of(c).DataDir },
			doc: "Where a child Redis keeps its data, which runs when no Redis is named and none answers on localhost:6379. Unset: `korvet/server` in the user's data directory."},
	}
	if parent != "" {
		rows = rows[:len(rows)-1] // a child Redis holds both
	}
	for i := range rows {
		if parent != "" {
			rows[i].inherits = parent + rows[i].name
		}
		rows[i].name = group + rows[i].name
	}
	return rows
}

func otherSettings() []setting {
	return []setting{
		{name: "korvet.storage.local.write.connections", def: "8", field: func(c *Config) any { return &c.Storage.WriteConnections }, check: between(1, 256),
			doc: "Connections that write to the messages' Redis. A partition always uses the same one."},
		{name: "korvet.storage.worker.enabled", def: "true", field: func(c *Config) any { return &c.Storage.Worker.Enabled },
			doc: "Run the storage worker (retention, compaction, rolling of idle segments) in this process. Of all that run one, one works at a time; with false in all of them nothing is ever removed."},
		{name: "korvet.storage.worker.tick-interval", kafka: "remote.log.manager.task.interval.ms", def: "1m", field: func(c *Config) any { return &c.Storage.Worker.Tick }, check: between(100, 86_400_000),
			doc: "How often it looks at all partitions. It is woken at once by DeleteRecords and by a full Redis."},
		{name: "korvet.storage.worker.lease-duration", def: "2m", field: func(c *Config) any { return &c.Storage.Worker.Lease }, check: between(200, 86_400_000),
			doc: "How long the others wait for a worker that died before one of them takes over. Must exceed the tick."},
		{name: "korvet.storage.worker.compaction.memory-bytes", kafka: "log.cleaner.dedupe.buffer.size", def: "128MB", field: func(c *Config) any { return &c.Storage.Worker.CompactionBytes }, check: between(1<<20, 1<<40),
			doc: "Memory of compaction passes for the keys they find, 24 bytes each; one key in four stays free. A pass that finds more ends early and the next goes on. Several threads share it."},
		{name: "korvet.storage.worker.compaction.threads", kafka: "log.cleaner.threads", def: "1", field: func(c *Config) any { return &c.Storage.Worker.CompactionThreads }, check: between(1, 64),
			doc: "Compaction passes that run at a time, over different partitions. Retention does not wait for any."},
		{name: "korvet.http.host", def: "0.0.0.0", field: func(c *Config) any { return &c.HTTP.Host }, check: listenHost,
			doc: "Address that the HTTP listener (/livez, /readyz, /metrics) binds."},
		{name: "korvet.http.port", def: "8080", field: func(c *Config) any { return &c.HTTP.Port }, check: port,
			doc: "Its port; 0 picks a free one."},
		{name: "korvet.http.pprof", def: "false", field: func(c *Config) any { return &c.HTTP.Pprof },
			doc: "Serve Go's profiles there, below /debug/pprof/. They show the broker's inside and cost it time: not for open networks."},
		{name: "korvet.log.level", def: "info", field: func(c *Config) any { return &c.Log.Level }, check: logLevels,
			doc: "debug, info, warn or error, then levels of single components: `info,server=debug`. They are server, api, coordinator, dictionary, partition, redisstream, metadata, worker, remote, catalog and redis (the child)."},
		{name: "korvet.log.format", def: "text", field: func(c *Config) any { return &c.Log.Format }, check: oneOf("text", "json"),
			doc: "text or json."},
		{name: "korvet.metrics.max-groups", def: "1000", field: func(c *Config) any { return &c.Metrics.MaxGroups }, check: between(0, 1_000_000),
			doc: "Groups that have series of their own in /metrics."},
		{name: "korvet.metrics.max-topics", def: "1000", field: func(c *Config) any { return &c.Metrics.MaxTopics }, check: between(0, 1_000_000),
			doc: "Topics that have series of their own in /metrics; the others share the label `_other`."},
	}
}

// laterSettings are the settings of the product that this version does not have. Each accepts its default only, so
// that nobody believes to have what is not there.
func laterSettings() []setting {
	var rows []setting
	for _, r := range []struct{ name, def, doc string }{
		{"korvet.broker.tls", "false", "TLS for Kafka clients."},
		{"korvet.broker.cert-file", "", "Certificate of the Kafka listener."},
		{"korvet.broker.key-file", "", "Its key."},
		{"korvet.broker.key-password", "", "Password of the key."},
		{"korvet.broker.trust-cert-file", "", "Certificates that clients are checked against."},
		{"korvet.broker.client-auth-required", "false", "Clients need a certificate."},
		{"korvet.broker.sasl.enabled", "false", "Clients log in."},
		{"korvet.broker.sasl.mechanisms", "SCRAM-SHA-256", "How they may."},
		{"korvet.broker.acl.enabled", "false", "Access control."},
	} {
		rows = append(rows, setting{name: r.name, def: r.def, doc: r.doc, later: true, secret: secretName(r.name)})
	}
	return rows
}

// laterGroups are groups of settings of which this version has none.
var laterGroups = []string{"korvet.schema-registry.", "korvet.admin.", "korvet.ui."}

package config

import (
	"math"
	"net/url"
	"strings"
	"time"
)

// Remote is the remote tier.
type Remote struct {
	Path          string // a URL: file, s3, gs, abfs or abfss; empty: there is none
	LogPartitions int32  // of __remote_log_metadata
	S3            S3
	RowGroupSize  Bytes // of records as they are before they are encoded
	FileSize      Bytes // of data files, about
	BloomFilter   bool  // on keys
	CopyMaxBytes  int64 // a second that are copied at most
	CopyThreads   int   // partitions that are copied at a time
	FetchMaxWait  time.Duration
	IndexCache    Bytes
	ReadCache     Bytes         // for records read last and in advance
	MetadataAge   time.Duration // after which what is known of a table is read anew
	EndWait       time.Duration // for a takeover to learn what the table has
	ListTimeout   time.Duration // for ListOffsets
	Metadata      Bytes         // of tables' metadata files that are kept in memory
	Catalog       Catalog
	JSON          JSONColumns
	Upkeep        Upkeep
}

// JSONColumns are the typed columns of JSON values.
type JSONColumns struct {
	Columns   int // of a table
	NameBytes int // of the name of a field that has one
}

// S3 is how an S3-compatible store is reached. What is empty is the AWS SDK's to find.
type S3 struct {
	Region          string
	Endpoint        string
	PathStyle       bool
	AccessKeyID     string
	SecretAccessKey string
	Timeout         time.Duration // of one request, with its body
	Attempts        int           // of one request before it fails
}

// remoteSettings are the rows of the remote tier.
func remoteSettings() []setting {
	of := func(c *Config) *Remote { return &c.Storage.Remote }
	const group = "korvet.storage.remote."
	return []setting{
		{name: group + "path", field: func(c *Config) any { return &of(c).Path }, check: remotePath,
			doc: "Where sealed segments of topics with `remote.storage.enable=true` are copied to: `file:///directory`, `s3://bucket/prefix`, `gs://bucket/prefix` or `abfs://container@account.dfs.core.windows.net/prefix` ([object stores](object-stores.md) has which are tested). The same for every broker and worker. Unset: there is no remote tier. See [tiered storage](tiered-storage.md)."},
		{name: group + "s3.region", field: func(c *Config) any { return &of(c).S3.Region },
			doc: "Region of the bucket. Unset: as the AWS SDK finds it, else us-east-1."},
		{name: group + "s3.endpoint", field: func(c *Config) any { return &of(c).S3.Endpoint }, check: endpoint,
			doc: "URL of an S3-compatible server. Unset: AWS."},
		{name: group + "s3.path-style-access", def: "false", field: func(c *Config) any { return &of(c).S3.PathStyle },
			doc: "Name the bucket in the path, not in the host. Most servers other than AWS need it."},
		{name: group + "s3.access-key-id", field: func(c *Config) any { return &of(c).S3.AccessKeyID }, secret: true,
			doc: "Access key, together with the secret one. Unset: the AWS SDK's chain (its environment variables, its files, the machine's role)."},
		{name: group + "s3.secret-access-key", field: func(c *Config) any { return &of(c).S3.SecretAccessKey }, secret: true,
			doc: "Secret access key."},
		{name: group + "s3.request-timeout", def: "30s", field: func(c *Config) any { return &of(c).S3.Timeout }, check: between(100, 3_600_000),
			doc: "How long one request to the store may take, with its body: 8 MiB at most when it is written, what is read at once when it is read. A request that takes longer is tried again."},
		{name: group + "s3.max-attempts", def: "5", field: func(c *Config) any { return &of(c).S3.Attempts }, check: between(1, 100),
			doc: "How often a request to the store is tried, with pauses that are drawn by chance up to 5 s, before what needs it fails: refusals 429 and 5xx, connections that break, bodies that are cut."},
		{name: group + "iceberg.row-group-size", def: "16MB", field: func(c *Config) any { return &of(c).RowGroupSize }, check: between(64<<10, 1<<30),
			doc: "Records of a row group of a data file, before they are encoded. One is in memory for each partition that is copied, and a seek of a consumer reads a part of one."},
		{name: group + "iceberg.target-file-size", def: "128MB", field: func(c *Config) any { return &of(c).FileSize }, check: between(64<<10, 1<<40),
			doc: "Size of a data file, about: adjacent segments of a partition are gathered up to it."},
		{name: group + "iceberg.key-bloom-filter", def: "false", field: func(c *Config) any { return &of(c).BloomFilter },
			doc: "Write a bloom filter of the keys into data files, so that engines that look for one key read fewer of them."},
		{name: group + "iceberg.json.max-columns", def: "256", field: func(c *Config) any { return &of(c).JSON.Columns }, check: between(0, 2000),
			doc: "Typed columns of a table at most, of topics with `remote.storage.iceberg.value.format=json`. Fields beyond them are in `value` alone."},
		{name: group + "iceberg.json.max-name-bytes", def: "128", field: func(c *Config) any { return &of(c).JSON.NameBytes }, check: between(1, 1024),
			doc: "Bytes of the name of a field that gets a typed column at most. Fields with longer names are in `value` alone."},
		{name: group + "read-cache-bytes", def: "128MB", field: func(c *Config) any { return &of(c).ReadCache }, check: atLeast(0),
			doc: "Memory for records of the remote tier that were read last or in advance, decoded. Consumers that replay side by side share it."},
		{name: group + "metadata-max-age", def: "30s", field: func(c *Config) any { return &of(c).MetadataAge }, check: between(0, 86_400_000),
			doc: "When a read finds that what the broker knows of a table is older than this, it is read anew beside the read: so long consumers may still be given records that an engine deleted through another broker or another catalog. Through this broker's own catalog it takes effect at once. 0: at each read."},
		{name: group + "failover-max-wait", def: "2s", field: func(c *Config) any { return &of(c).EndWait }, check: between(0, 60_000),
			doc: "How long a broker that finds another Redis than before waits for the store to tell where each topic's table ends, before it leads its partitions: records that Redis lost and the table has then stay in the log. When the store does not answer, the log goes on where Redis ends, unless Redis is known to have lost the log or its end: then it waits for the store, and this bounds each try (2 s at least). See [durability](durability.md)."},
		{name: group + "iceberg.metadata-cache-bytes", def: "32MB", field: func(c *Config) any { return &of(c).Metadata }, check: atLeast(0),
			doc: "Tables' newest metadata files that are kept in memory. Some engines ask for a table's at every query, and the storage worker needs it at every tick: those that have no room cost it requests to the store. What is kept is some times as large in memory."},
	}
}

// remoteKafkaSettings are those that Kafka's remote log manager has, too, under its names.
func remoteKafkaSettings() []setting {
	of := func(c *Config) *Remote { return &c.Storage.Remote }
	return []setting{
		{name: "korvet.broker.remote-log-manager-copy-max-bytes-per-second", kafka: "remote.log.manager.copy.max.bytes.per.second", dynamic: true, def: "9223372036854775807", field: func(c *Config) any { return &of(c).CopyMaxBytes }, check: atLeast(1),
			doc: "Bytes that the storage worker writes to data files of the remote tier in a second at most, copying and merging together. The default is no limit."},
		{name: "korvet.broker.remote-log-metadata-topic-num-partitions", def: "50", field: func(c *Config) any { return &of(c).LogPartitions }, check: between(1, 10_000),
			doc: "Partitions of the internal topic `__remote_log_metadata`, when it is made: Kafka's `remote.log.metadata.topic.num.partitions`. See [remote segments as records](remote-log-metadata.md)."},
		{name: "korvet.broker.remote-log-manager-copier-thread-pool-size", kafka: "remote.log.manager.copier.thread.pool.size", dynamic: true, pool: true, def: "10", field: func(c *Config) any { return &of(c).CopyThreads }, check: between(1, 1000),
			doc: "Partitions that are copied to the remote tier at a time. A change while the broker runs is to half of what it was at least and to twice as many at most, as in Kafka."},
		{name: "korvet.broker.remote-fetch-max-wait-ms", kafka: "remote.fetch.max.wait.ms", dynamic: true, def: "500ms", field: func(c *Config) any { return &of(c).FetchMaxWait }, check: between(1, math.MaxInt32),
			doc: "How long a Fetch waits for the remote tier before it is answered with what there is."},
		{name: "korvet.broker.remote-list-offsets-request-timeout-ms", kafka: "remote.list.offsets.request.timeout.ms", dynamic: true, def: "30s", field: func(c *Config) any { return &of(c).ListTimeout }, check: between(1, math.MaxInt32),
			doc: "How long ListOffsets waits for the remote tier before it is answered REQUEST_TIMED_OUT."},
		{name: "korvet.broker.remote-log-index-file-cache-total-size-bytes", kafka: "remote.log.index.file.cache.total.size.bytes", dynamic: true, def: "64MB", field: func(c *Config) any { return &of(c).IndexCache }, check: atLeast(1),
			doc: "Memory for what was read of data files' ends: where their row groups and pages are."},
	}
}

// remotePath checks what can be checked without looking: whether the place can be used shows when it is opened.
func remotePath(v any) string {
	text := v.(string)
	if text == "" {
		return ""
	}
	const form = "must be file:///directory, s3://bucket/prefix, gs://bucket/prefix or abfs://container@account.dfs.core.windows.net/prefix"
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return form
	case u.Scheme == "abfs" || u.Scheme == "abfss":
		if _, secret := u.User.Password(); secret || u.User.Username() == "" || !strings.Contains(u.Host, ".") || u.RawQuery != "" || u.Fragment != "" {
			return "must name a container and an account: abfs://container@account.dfs.core.windows.net/prefix"
		}
	case u.RawQuery != "" || u.Fragment != "" || u.User != nil || strings.ContainsAny(text, "%\\*?#"):
		return form + ", without %, ?, #, *, @ and \\"
	case u.Scheme == "file" && (u.Host != "" || !strings.HasPrefix(u.Path, "/")):
		return "must name an absolute directory: file:///directory"
	case u.Scheme == "file" && strings.Trim(u.Path, "/") == "":
		return "must not be the root directory"
	case (u.Scheme == "s3" || u.Scheme == "gs") && u.Host == "":
		return "must name a bucket: " + u.Scheme + "://bucket/prefix"
	case u.Scheme != "file" && u.Scheme != "s3" && u.Scheme != "gs":
		return form
	}
	for _, part := range strings.Split(strings.Trim(u.Path, "/"), "/") {
		if part == "." || part == ".." || part == "" && strings.Trim(u.Path, "/") != "" {
			return "must not hold //, . or .. as a folder"
		}
	}
	return ""
}

func endpoint(v any) string {
	text := v.(string)
	if text == "" {
		return ""
	}
	if u, err := url.Parse(text); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		return "must be http://host[:port] or https://host[:port]"
	}
	return ""
}

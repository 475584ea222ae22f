package config

import "time"

// Catalog is the Iceberg REST catalog on the HTTP port.
type Catalog struct {
	Type            string        // korvet, rest, sql, glue or hive: what holds the tables
	URI             string        // of the one that is not korvet's
	Properties      string        // for it: name=value, by commas
	Timeout         time.Duration // of one request to it
	DeleteFiles     bool          // that only its past versions name, or none
	Enabled         bool
	Token           string // of which engines know the secret; empty: anybody
	ReadOnly        bool
	MaxRequestBytes Bytes
	CompareBytes    Bytes // of memory
	CommitTimeout   time.Duration
	Vended          Vended
}

// Vended is what engines are told to reach the store of the tables.
type Vended struct {
	Enabled         bool
	Endpoint        string // empty: that of the broker
	AccessKeyID     string // empty: engines have keys of their own
	SecretAccessKey string
}

func catalogSettings() []setting {
	of := func(c *Config) *Catalog { return &c.Storage.Remote.Catalog }
	const group = "korvet.storage.remote.catalog."
	return []setting{
		{name: group + "type", def: "korvet", field: func(c *Config) any { return &of(c).Type }, check: oneOf("korvet", "rest", "sql", "glue", "hive"),
			doc: "What holds the tables: `korvet`, their own folders, or a catalog that you run. The same for every broker and worker, and not to be changed while there are tables. See [other catalogs](table-maintenance.md#other-catalogs)."},
		{name: group + "uri", field: func(c *Config) any { return &of(c).URI }, secret: true,
			doc: "Where that catalog is: `http://host:8181` (rest), `sqlite:///file`, `postgres://user:password@host/database` or `mysql://user:password@tcp(host:3306)/database` (sql), `thrift://host:9083` (hive)."},
		{name: group + "properties", field: func(c *Config) any { return &of(c).Properties }, secret: true,
			doc: "More that it needs, as `name=value,name=value`: `warehouse`, `token`, `credential`, `scope` (rest), `glue.region` (glue)."},
		{name: group + "request-timeout", def: "1m", field: func(c *Config) any { return &of(c).Timeout }, check: between(100, 3_600_000),
			doc: "How long one request to another catalog may take. What needed it is then tried again, as when it refuses: copying at the next tick, a fetch with the consumer's next one."},
		{name: group + "delete-files", def: "true", field: func(c *Config) any { return &of(c).DeleteFiles },
			doc: "With another catalog, delete what expired snapshots and crashed commits leave in a table's folder, as in tables of korvet's own. `false` where files there may belong to what the catalog's newest version of the table does not tell: branches of the whole catalog, a table that another catalog has as well. `gc.enabled=false` says so of one table. See [other catalogs](table-maintenance.md#other-catalogs)."},
		{name: group + "enabled", def: "true", field: func(c *Config) any { return &of(c).Enabled },
			doc: "Serve the remote tier's tables as an Iceberg REST catalog on the HTTP port, below `/iceberg`. Only with `korvet.storage.remote.path`. See [querying](querying.md)."},
		{name: group + "token", field: func(c *Config) any { return &of(c).Token }, secret: true,
			doc: "Bearer token that engines have to send to the catalog. Unset: whoever reaches the HTTP port may use it."},
		{name: group + "read-only", def: "false", field: func(c *Config) any { return &of(c).ReadOnly },
			doc: "Refuse every commit of engines: no maintenance, no deletion of rows through this broker."},
		{name: group + "max-request-bytes", def: "4MB", field: func(c *Config) any { return &of(c).MaxRequestBytes }, check: between(64<<10, 1<<30),
			doc: "A larger request to the catalog is refused. An engine's commit is some KB; one that expires many snapshots has about 100 bytes for each."},
		{name: group + "compare-bytes", def: "64MB", field: func(c *Config) any { return &of(c).CompareBytes }, check: between(1<<20, 64<<30),
			doc: "About the memory that a broker takes to compare the rows that an engine's commit adds with those that go; one commit does so at a time. A commit with more than one file for each 256 KB of it that lie over each other, by offset, is refused."},
		{name: group + "commit-timeout", def: "10m", field: func(c *Config) any { return &of(c).CommitTimeout }, check: atLeast(1000),
			doc: "A commit of an engine whose rows are not compared by then is answered 409. What was compared is remembered, so that the same commit gets further when the engine repeats it."},
		{name: group + "vended.enabled", def: "false", field: func(c *Config) any { return &of(c).Vended.Enabled },
			doc: "Tell engines with each table how its S3 store is reached: endpoint, region, path style and, where they are set, the keys below."},
		{name: group + "vended.endpoint", field: func(c *Config) any { return &of(c).Vended.Endpoint }, check: endpoint,
			doc: "URL of the store as engines reach it. Unset: `korvet.storage.remote.s3.endpoint`."},
		{name: group + "vended.access-key-id", field: func(c *Config) any { return &of(c).Vended.AccessKeyID }, secret: true,
			doc: "Access key that is handed out, together with the secret one. Let it be one that may only read the bucket, not the broker's."},
		{name: group + "vended.secret-access-key", field: func(c *Config) any { return &of(c).Vended.SecretAccessKey }, secret: true,
			doc: "Its secret access key."},
	}
}

package config

import "time"

// Upkeep is how the remote tier's tables are kept in order.
type Upkeep struct {
	SnapshotMaxAge   time.Duration
	SnapshotMinCount int
	SnapshotMaxCount int
	OrphanMaxAge     time.Duration
	MergeEnabled     bool
	MergeMinFiles    int
}

func upkeepSettings() []setting {
	of := func(c *Config) *Upkeep { return &c.Storage.Remote.Upkeep }
	const group = "korvet.storage.remote.iceberg."
	const hour, year = 3_600_000, 366 * 86_400_000
	return []setting{
		{name: group + "snapshot-max-age", def: "120h", field: func(c *Config) any { return &of(c).SnapshotMaxAge }, check: between(hour, year),
			doc: "How long queries can go back to a snapshot of a table. A table's own property `history.expire.max-snapshot-age-ms` counts instead where it has one. See [table maintenance](table-maintenance.md)."},
		{name: group + "snapshot-min-count", def: "10", field: func(c *Config) any { return &of(c).SnapshotMinCount }, check: between(1, 1000),
			doc: "Snapshots that stay however old they are. A table's property `history.expire.min-snapshots-to-keep` counts instead."},
		{name: group + "snapshot-max-count", def: "200", field: func(c *Config) any { return &of(c).SnapshotMaxCount }, check: between(1, 10_000),
			doc: "More snapshots than these do not stay, however young they are: every commit writes a list of all. The oldest also go while a table's metadata file is above 512 KiB."},
		{name: group + "orphan-max-age", def: "72h", field: func(c *Config) any { return &of(c).OrphanMaxAge }, check: between(hour, year),
			doc: "Files in a table's folders that no version of the table names are deleted once they are so old. It must exceed the longest time that an engine takes from its first file to its commit."},
		{name: group + "merge.enabled", def: "true", field: func(c *Config) any { return &of(c).MergeEnabled },
			doc: "Rewrite small adjacent data files of a partition into one, and files of which engines deleted rows without these."},
		{name: group + "merge.min-files", def: "16", field: func(c *Config) any { return &of(c).MergeMinFiles }, check: between(2, 1000),
			doc: "So many adjacent small files are merged although they do not fill one of `target-file-size` yet. Fewer: queries open fewer files, and the same records are rewritten more often."},
	}
}

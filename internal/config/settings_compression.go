package config

import "time"

// Compression is how values are stored in the local tier.
type Compression struct {
	Codec         string // of new topics
	SampleRecords int    // a dictionary is trained on so many values ...
	SampleBytes   Bytes  // ... or so many bytes of them, whichever comes first
	MaxBytes      Bytes  // size of a dictionary
	Retrain       time.Duration
}

// storageCodecs are those of storage.compression.type.
var storageCodecs = oneOf("none", "gzip", "snappy", "lz4", "zstd")

// compressionSettings are the rows of values at rest.
func compressionSettings() []setting {
	of := func(c *Config) *Compression { return &c.Storage.Compression }
	const group = "korvet.storage.local.compression."
	return []setting{
		{name: group + "codec", def: "none", field: func(c *Config) any { return &of(c).Codec }, check: storageCodecs,
			doc: "Codec of values in Redis for topics that are created from now on, where neither they nor a pattern name one: none, gzip, snappy, lz4 or zstd. Topics that exist keep theirs."},
		{name: group + "dictionary.sample-records", def: "1000", field: func(c *Config) any { return &of(c).SampleRecords }, check: between(100, 100_000),
			doc: "Values that a topic's zstd dictionary is trained on."},
		{name: group + "dictionary.sample-bytes", def: "8MB", field: func(c *Config) any { return &of(c).SampleBytes }, check: between(64<<10, 256<<20),
			doc: "Bytes of values that it is trained on at most. All topics that are sampled at a time take up to eight times as much."},
		{name: group + "dictionary.max-bytes", def: "32KB", field: func(c *Config) any { return &of(c).MaxBytes }, check: between(1024, 1<<20),
			doc: "Size of a dictionary. Beyond 32 KiB they hardly compress better and take longer."},
		{name: group + "dictionary.retrain-interval", def: "1h", field: func(c *Config) any { return &of(c).Retrain }, check: atLeast(1),
			doc: "Time between two trainings of a topic at least: after one that failed or did not help, and before a dictionary is replaced that does worse than it did."},
	}
}

package model

import (
	"fmt"
	"maps"
	"strconv"

	"github.com/korvet-io/korvet/internal/compress"
	"github.com/korvet-io/korvet/internal/partition"
)

// choice is a topic setting and the values that programs give it; "" is its default.
type choice struct {
	name   string
	values []string
}

// choices are the settings that may change while the topic is in use. The times are about as long as a program.
var choices = []choice{
	{"retention.ms", []string{"", "-1", "30", "200", "1000"}},
	{"retention.bytes", []string{"", "", "0", "20000", "200000"}},
	{"segment.bytes", []string{"", "-1", "1048576"}},
	{"segment.ms", []string{"", "10", "20", "100"}},
	{"cleanup.policy", []string{"", "", "", "compact", "compact,delete"}},
	{"min.cleanable.dirty.ratio", []string{"", "0", "0"}},
	{"min.compaction.lag.ms", []string{"", "", "50"}},
	{"delete.retention.ms", []string{"", "0", "100"}},
	{"message.timestamp.type", []string{"", "CreateTime", "LogAppendTime"}},
}

func (w *world) set(settings map[string]string, c choice) {
	if value := c.values[w.rnd.IntN(len(c.values))]; value != "" {
		settings[c.name] = value
	} else {
		delete(settings, c.name)
	}
}

// atCreation are the ways to store values, as a topic's creation pins them.
var atCreation = []map[string]string{
	stored("none", false), stored("gzip", false), stored("snappy", false), stored("lz4", false), stored("zstd", false), stored("zstd", true), stored("zstd", true),
}

func stored(codec string, dictionary bool) map[string]string {
	return map[string]string{"storage.compression.type": codec, "storage.compression.dictionary.enabled": strconv.FormatBool(dictionary)}
}

// anySettings are chance's.
func (w *world) anySettings() map[string]string {
	settings := maps.Clone(atCreation[w.rnd.IntN(len(atCreation))])
	for _, c := range choices {
		if w.rnd.IntN(2) == 0 {
			w.set(settings, c)
		}
	}
	return settings
}

// values is how the topic's values are stored, as the broker's API passes it on.
func (w *world) values() partition.Values {
	codec, err := compress.Parse(w.topic.Config.StorageCompression)
	if err != nil {
		panic(err) // the schema accepts no other
	}
	return partition.Values{Codec: codec, Dictionary: w.topic.Config.StorageDictionary}
}

// segment is when the owner seals the open segment, likewise.
func (w *world) segment() partition.SegmentPolicy {
	c := &w.topic.Config
	if !c.Segmented || c.Compact {
		return partition.SegmentPolicy{}
	}
	return partition.SegmentPolicy{Bytes: c.SegmentBytes, Ms: c.SegmentMs}
}

// alter changes one setting of the topic.
func (w *world) alter() (Latitude, error) {
	settings := maps.Clone(w.topic.Configs)
	if settings == nil {
		settings = map[string]string{}
	}
	c := choices[w.rnd.IntN(len(choices))]
	w.set(settings, c)
	w.say("alter %s to %q", c.name, settings[c.name])
	return Latitude{}, w.alterTo(settings)
}

// alterTo gives the topic other settings.
func (w *world) alterTo(settings map[string]string) error {
	topic, err := w.store.Alter(w.ctx, w.topic, w.topic.Partitions, settings)
	if err != nil {
		return fmt.Errorf("alter topic: %w", err)
	}
	w.topic = topic
	return nil
}

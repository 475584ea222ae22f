package model

import (
	"errors"
	"fmt"
	"maps"
	"strconv"

	"github.com/korvet-io/korvet/internal/compress"
	"github.com/korvet-io/korvet/internal/metadata"
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

// remoteChoices are those of topics that are in the remote tier, or come to be.
var remoteChoices = []choice{
	{"remote.storage.enable", []string{"true", "true", ""}},
	{"remote.log.delete.on.disable", []string{"", "true", "true"}},
	{"remote.log.copy.disable", []string{"", "", "true"}},
	{"local.retention.ms", []string{"", "1", "1", "1", "50"}},
	{"local.retention.bytes", []string{"", "", "0", "10000", "100000"}},
	{"retention.ms", []string{"", "-1", "300", "2000"}},
	{"retention.bytes", []string{"", "", "50000", "200000", "500000"}},
	{"remote.copy.lag.ms", []string{"", "", "", "-1", "1"}},
	{"remote.copy.lag.bytes", []string{"", "", "1000"}},
	{"remote.storage.iceberg.value.format", []string{"", "json"}},
	{"segment.ms", []string{"", "10", "20", "100"}},
	{"message.timestamp.type", []string{"", "CreateTime", "LogAppendTime"}},
	{"message.timestamp.type", []string{"CreateTime", "LogAppendTime"}}, // more often: both kinds of records side by side
	{"cleanup.policy", []string{"", "", "", "compact"}},
}

// choices are those of the program's topic.
func (w *world) choices() []choice {
	if w.remote.wanted && w.rnd.IntN(4) > 0 {
		return remoteChoices
	}
	return choices
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

// anySettings are chance's, those that a topic may be created with.
func (w *world) anySettings() map[string]string {
	for {
		settings := maps.Clone(atCreation[w.rnd.IntN(len(atCreation))])
		if w.remote.wanted && w.rnd.IntN(4) > 0 {
			settings["remote.storage.enable"], settings["local.retention.ms"] = "true", "1"
		}
		for _, c := range w.choices() {
			if w.rnd.IntN(2) == 0 && c.name != "remote.storage.enable" {
				w.set(settings, c)
			}
		}
		if _, err := w.schema.Create("t", settings); err == nil {
			return settings
		}
	}
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

// alter changes one setting of the topic, or asks for a change that is refused.
func (w *world) alter() (Latitude, error) {
	settings := maps.Clone(w.topic.Configs)
	if settings == nil {
		settings = map[string]string{}
	}
	choices := w.choices()
	c := choices[w.rnd.IntN(len(choices))]
	w.set(settings, c)
	w.say("alter %s to %q", c.name, settings[c.name])
	return Latitude{}, w.alterIfPermitted(settings)
}

// alterIfPermitted gives the topic other settings, unless that is refused.
func (w *world) alterIfPermitted(settings map[string]string) error {
	settings, err := w.schema.Alter("t", w.topic.Configs, settings)
	if err == nil {
		err = w.alterTo(settings)
		if err != nil && !errors.Is(err, metadata.ErrTableLeaving) {
			return err
		}
	}
	if err != nil {
		w.say("that is refused: %v", err)
	}
	return nil
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

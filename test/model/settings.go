package model

import (
	"fmt"
	"maps"
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

// anySettings are chance's.
func (w *world) anySettings() map[string]string {
	settings := map[string]string{}
	for _, c := range choices {
		if w.rnd.IntN(2) == 0 {
			w.set(settings, c)
		}
	}
	return settings
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
	topic, err := w.store.Alter(w.ctx, w.topic, w.topic.Partitions, settings)
	if err != nil {
		return Latitude{}, fmt.Errorf("alter topic: %w", err)
	}
	w.topic = topic
	return Latitude{}, nil
}

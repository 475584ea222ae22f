package config

import (
	"errors"
	"fmt"
	"math"
	"path"
	"regexp"
	"strconv"
	"strings"
)

const (
	topicsName   = "korvet.topics"
	mostPatterns = 1000
)

var topicSetting = regexp.MustCompile(`^korvet\.topics\[(\d{1,9})\]\.(.+)$`)

// topicField is one field of a pattern.
type topicField struct {
	name  string
	doc   string
	later bool
	set   func(*TopicPattern, string) error
}

var topicFields = []topicField{
	{name: "name", doc: "Glob of topic names: `*` is any text, `?` any character.", set: setPatternName},
	{name: "auto-create", doc: "Whether a topic of such a name is created when a client asks for it.", set: func(p *TopicPattern, text string) error {
		b, err := parseBool(text)
		p.AutoCreate = &b
		return err
	}},
	{name: "partitions", doc: "Partitions of such a topic when its creation names no number.", set: func(p *TopicPattern, text string) error {
		n, err := parseInt(text, 32)
		if err == nil && (n < 1 || n > 10_000) {
			err = errors.New("must be 1 to 10000")
		}
		partitions := int32(n)
		p.Partitions = &partitions
		return err
	}},
	{name: "compression", later: true},
	{name: "storage-compression-type", doc: "Codec of the values of such a topic in Redis when its creation names none: none, gzip, snappy, lz4 or zstd.", set: func(p *TopicPattern, text string) error {
		if reason := storageCodecs(text); reason != "" {
			return errors.New(reason)
		}
		p.put("storage.compression.type", text)
		return nil
	}},
	{name: "retention-time", doc: "The topic's `retention.ms`, as a duration; -1: for ever.", set: patternTime("retention.ms", -1)},
	{name: "retention-bytes", doc: "Its `retention.bytes`; -1: no limit.", set: patternBytes("retention.bytes", -1, math.MaxInt64)},
	{name: "local-retention-time", doc: "Its `local.retention.ms`, as a duration; -2: as long as `retention.ms`; -1: for ever.", set: patternLocalTime},
	{name: "local-retention-bytes", doc: "Its `local.retention.bytes`; -2: as much as `retention.bytes`; -1: no limit.", set: patternLocalBytes},
	{name: "segment-time", doc: "Its `segment.ms`, as a duration.", set: patternTime("segment.ms", 1)},
	{name: "segment-bytes", doc: "Its `segment.bytes`; -1: one stream.", set: patternBytes("segment.bytes", 1<<20, math.MaxInt32)},
	{name: "remote-storage-enabled", doc: "Whether such a topic is copied to the remote tier (`remote.storage.enable`), unless its creation says otherwise, it is compacted or one of Kafka's own. Stored as the topic's own when it is created: topics that exist keep theirs. true needs `korvet.storage.remote.path`.", set: func(p *TopicPattern, text string) error {
		b, err := parseBool(text)
		p.put("remote.storage.enable", strconv.FormatBool(b))
		return err
	}},
	{name: "remote-value-format", doc: "Its `remote.storage.iceberg.value.format`: raw, or json for typed columns.", set: func(p *TopicPattern, text string) error {
		if text != "raw" && text != "json" {
			return errors.New("must be raw or json")
		}
		p.put("remote.storage.iceberg.value.format", text)
		return nil
	}},
}

// patternTime sets a topic setting in ms, of at least so many.
func patternTime(setting string, least int64) func(*TopicPattern, string) error {
	return func(p *TopicPattern, text string) error {
		d, err := ParseDuration(text)
		if err == nil && d.Milliseconds() < least {
			err = fmt.Errorf("must be at least %d ms", least)
		}
		p.put(setting, strconv.FormatInt(d.Milliseconds(), 10))
		return err
	}
}

// patternBytes sets a topic setting in bytes, within bounds; -1 is allowed always.
func patternBytes(setting string, least, most int64) func(*TopicPattern, string) error {
	return func(p *TopicPattern, text string) error {
		n, err := ParseBytes(text)
		if err == nil && n != -1 && (int64(n) < least || int64(n) > most) {
			err = fmt.Errorf("must be -1, or %d to %d bytes", max(0, least), most)
		}
		p.put(setting, strconv.FormatInt(int64(n), 10))
		return err
	}
}

// patternLocalTime and patternLocalBytes take -2, too: the total.
func patternLocalTime(p *TopicPattern, text string) error {
	if text == "-2" {
		p.put("local.retention.ms", text)
		return nil
	}
	return patternTime("local.retention.ms", -1)(p, text)
}

func patternLocalBytes(p *TopicPattern, text string) error {
	if text == "-2" {
		p.put("local.retention.bytes", text)
		return nil
	}
	return patternBytes("local.retention.bytes", 0, math.MaxInt64)(p, text)
}

func (p *TopicPattern) put(setting, value string) {
	if p.Configs == nil {
		p.Configs = map[string]string{}
	}
	p.Configs[setting] = value
}

func setPatternName(p *TopicPattern, text string) error {
	if _, err := path.Match(text, ""); err != nil || text == "" || strings.ContainsAny(text, `[]\/`) {
		return errors.New("must be a topic's name or a pattern with * and ?")
	}
	p.Name = text
	return nil
}

// topicPatterns collects korvet.topics[n].* from entries, a later one wins, and returns what else is wrong.
func topicPatterns(entries []entry, v *Values) ([]TopicPattern, Problems) {
	var patterns []TopicPattern
	var problems Problems
	for _, e := range entries {
		m := topicSetting.FindStringSubmatch(e.name)
		n, err := strconv.Atoi(m[1])
		field := findTopicField(m[2])
		switch {
		case err != nil || n >= mostPatterns:
			problems = append(problems, e.problem(fmt.Sprintf("there may be %d patterns", mostPatterns)))
			continue
		case field == nil:
			problems = append(problems, e.problem(unknown(m[2], topicFieldNames())))
			continue
		case field.later:
			problems = append(problems, e.problem("not in this version"))
			continue
		}
		for len(patterns) <= n {
			patterns = append(patterns, TopicPattern{})
		}
		if err := field.set(&patterns[n], e.text); err != nil {
			problems = append(problems, e.problem(err.Error()))
		}
		v.put(Value{Name: e.name, Text: e.text, Origin: e.origin})
	}
	for n, p := range patterns {
		name := fmt.Sprintf("%s[%d].name", topicsName, n)
		if _, tried := v.lookup(name); p.Name == "" && !tried {
			problems = append(problems, Problem{Name: name, Message: "is missing: each pattern needs one, and numbers have no gaps"})
		}
	}
	return patterns, problems
}

func findTopicField(name string) *topicField {
	for i := range topicFields {
		if topicFields[i].name == name {
			return &topicFields[i]
		}
	}
	return nil
}

func topicFieldNames() []string {
	var names []string
	for _, f := range topicFields {
		names = append(names, f.name)
	}
	return names
}

package config

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// KafkaSetting is a broker setting under Kafka's name, as tools ask for it.
type KafkaSetting struct {
	Name  string
	Type  string // int, long, boolean or string
	Value string // in Kafka's units: milliseconds, bytes
	Set   bool   // by file, environment or flag
	// Dynamic tells that it may be changed while the broker runs: ParseKafka checks a new value, Overlay applies it.
	Dynamic bool
	// Pool is of a number of threads, which Kafka changes to half of what it was at least and to twice as many at most.
	Pool bool
	Doc  string
}

// Kafka lists the settings that Kafka has, too.
func (c *Config) Kafka(values *Values) []KafkaSetting {
	var list []KafkaSetting
	for _, row := range settings() {
		if row.kafka == "" {
			continue
		}
		k := KafkaSetting{Name: row.kafka, Doc: row.doc, Dynamic: row.dynamic, Pool: row.pool, Type: "int"}
		switch v := deref(row.field(c)).(type) {
		case bool:
			k.Type, k.Value = "boolean", fmt.Sprint(v)
		case string:
			k.Type, k.Value = "string", v
		case time.Duration:
			k.Type, k.Value = "long", fmt.Sprint(v.Milliseconds())
		case int64:
			k.Type, k.Value = "long", fmt.Sprint(v)
		case Bytes:
			if k.Value = fmt.Sprint(int64(v)); row.check(Bytes(math.MaxInt32+1)) == "" { // as Kafka has it: what may be larger
				k.Type = "long"
			}
		default:
			k.Value = fmt.Sprint(v)
		}
		value, _ := values.lookup(row.name)
		k.Set = value.Origin != originDefault
		list = append(list, k)
	}
	path, _ := values.lookup("korvet.storage.remote.path")
	return append(list, KafkaSetting{
		Name: "remote.log.storage.system.enable", Type: "boolean", Value: fmt.Sprint(c.Storage.Remote.Path != ""), Set: path.Origin != originDefault,
		Doc: "Whether there is a remote tier: korvet.storage.remote.path is set.",
	})
}

// ParseKafka checks a new value of a dynamic setting and returns it in Kafka's units. The error tells what is wrong with it: "must be ...".
func ParseKafka(name, value string) (string, error) {
	row := findKafka(name)
	if row == nil || !row.dynamic {
		return "", errors.New("must not be changed while the broker runs")
	}
	value = strings.TrimSpace(value)
	if reason := row.wrong(value); reason != "" {
		return "", errors.New(reason)
	}
	field := row.field(&Config{})
	if err := assign(field, value); err != nil {
		return "", err
	}
	n, _ := number(deref(field))
	return strconv.FormatInt(n, 10), nil
}

// Overlay returns the settings with dynamic ones, by Kafka's names, in place of what was loaded; of several maps the last
// wins. What is not dynamic or not valid is left as it was.
func (c *Config) Overlay(dynamic ...map[string]string) *Config {
	next := *c
	for _, values := range dynamic {
		for name, value := range values {
			if row := findKafka(name); row != nil && row.dynamic && row.wrong(value) == "" {
				_ = assign(row.field(&next), value) // wrong has tried it
			}
		}
	}
	return &next
}

func findKafka(name string) *setting {
	for i := range settings() {
		if row := &settings()[i]; row.kafka == name {
			return row
		}
	}
	return nil
}

package config

import (
	"fmt"
	"time"
)

// KafkaSetting is a broker setting under Kafka's name, as tools ask for it.
type KafkaSetting struct {
	Name  string
	Type  string // int, long, boolean or string
	Value string // in Kafka's units: milliseconds, bytes
	Set   bool   // by file, environment or flag
	Doc   string
}

// Kafka lists the settings that Kafka has, too.
func (c *Config) Kafka(values *Values) []KafkaSetting {
	var list []KafkaSetting
	for _, row := range settings() {
		if row.kafka == "" {
			continue
		}
		k := KafkaSetting{Name: row.kafka, Doc: row.doc, Type: "int"}
		switch v := deref(row.field(c)).(type) {
		case bool:
			k.Type, k.Value = "boolean", fmt.Sprint(v)
		case string:
			k.Type, k.Value = "string", v
		case time.Duration:
			k.Type, k.Value = "long", fmt.Sprint(v.Milliseconds())
		default:
			k.Value = fmt.Sprint(v)
		}
		value, _ := values.lookup(row.name)
		k.Set = value.Origin != originDefault
		list = append(list, k)
	}
	return list
}

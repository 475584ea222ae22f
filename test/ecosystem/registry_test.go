package ecosystem_test

import (
	"slices"
	"testing"
)

func TestSchemaRegistryStyleStoreKeepsItsSchemas(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	classpath, topic := install(t, "kafka"), w.prefix+"_schemas"
	open := func(name string) *child {
		t.Helper()
		c := converse(t, name, "java", append(jvm("128m"), "-cp", classpath, "SchemaStore", w.broker.Addr, topic)...)
		c.ask() // until it has read the topic to its end, for the first time that of an empty one
		return c
	}
	holds := func(c *child, want ...string) {
		t.Helper()
		if got := c.ask("all"); !slices.Equal(got, want) {
			t.Errorf("%s holds %q, want %q", c.name, got, want)
		}
	}

	first := open("first store")
	holds(first)
	if got := w.policy(topic); got != "compact 1" {
		t.Errorf("topic: %s", got)
	}
	first.ask("put", "orders-value/1", `{"type":"string"}`)
	first.ask("put", "orders-value/2", `{"type":"long"}`)
	first.ask("put", "users-value/1", `{"type":"record","name":"User","fields":[{"name":"id","type":"long"}]}`)
	first.ask("put", "orders-value/2", `{"type":"double"}`)
	first.ask("delete", "orders-value/1")
	schemas := []string{`orders-value/2 {"type":"double"}`, `users-value/1 {"type":"record","name":"User","fields":[{"name":"id","type":"long"}]}`}
	holds(first, schemas...)

	holds(open("store beside the first"), schemas...)
	first.stop()
	w.restart()
	second := open("store after a restart")
	holds(second, schemas...)
	second.ask("put", "orders-value/3", `"bytes"`)
	holds(open("last store"), slices.Insert(schemas, 1, `orders-value/3 "bytes"`)...)
}

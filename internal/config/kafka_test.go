package config

import (
	"testing"
	"time"
)

func TestKafkaSettingsAreInKafkasUnits(t *testing.T) {
	t.Chdir(t.TempDir())
	c, values, err := Load(Sources{Flags: []string{"--korvet.broker.producer-id-expiration-ms=2h", "--korvet.broker.num-partitions=3", "--korvet.storage.remote.path=file:///tier"}})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]KafkaSetting{}
	for _, k := range c.Kafka(values) {
		got[k.Name] = k
	}
	for _, want := range []KafkaSetting{
		{Name: "producer.id.expiration.ms", Type: "long", Value: "7200000", Set: true, Dynamic: true},
		{Name: "num.partitions", Type: "int", Value: "3", Set: true},
		{Name: "auto.create.topics.enable", Type: "boolean", Value: "true"},
		{Name: "fetch.max.bytes", Type: "int", Value: "57671680"},
		{Name: "remote.log.storage.system.enable", Type: "boolean", Value: "true", Set: true},
		{Name: "remote.log.manager.task.interval.ms", Type: "long", Value: "60000"},
		{Name: "remote.log.manager.copy.max.bytes.per.second", Type: "long", Value: "9223372036854775807", Dynamic: true},
		{Name: "remote.log.index.file.cache.total.size.bytes", Type: "long", Value: "67108864", Dynamic: true},
	} {
		k := got[want.Name]
		k.Doc = ""
		if k != want {
			t.Errorf("got %+v, want %+v", k, want)
		}
	}
}

func TestDynamicSettingsAreCheckedAndPutOverWhatWasLoaded(t *testing.T) {
	t.Chdir(t.TempDir())
	c, _, err := Load(Sources{Flags: []string{"--korvet.broker.max-connections=7"}})
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{"max.connections": "8", "max.connections.per.ip": "5", "num.partitions": "9", "no.such": "1"}
	own := map[string]string{"max.connections": "9", "max.connections.per.ip": "bad", "producer.id.expiration.ms": "60000"}
	got := c.Overlay(all, own).Broker
	if got.MaxConnections != 9 || got.MaxConnectionsPerIP != 5 || got.ProducerIDExpiration != time.Minute || got.NumPartitions != 1 || c.Broker.MaxConnections != 7 {
		t.Errorf("in force is %+v", got)
	}
	for _, v := range []struct{ name, value, want string }{
		{"max.connections", " 12 ", "12"}, {"remote.log.manager.copy.max.bytes.per.second", "9223372036854775807", "9223372036854775807"}, {"remote.log.manager.copy.max.bytes.per.second", "0", ""}, {"remote.log.storage.system.enable", "true", ""}, {"producer.id.expiration.ms", "2h", "7200000"},
		{"max.connections", "0", ""}, {"max.connections", "x", ""}, {"num.partitions", "2", ""}, {"", "2", ""},
	} {
		if got, err := ParseKafka(v.name, v.value); got != v.want || (err == nil) != (v.want != "") {
			t.Errorf("%s=%s: %q, %v", v.name, v.value, got, err)
		}
	}
}

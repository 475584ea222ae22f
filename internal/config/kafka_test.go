package config

import "testing"

func TestKafkaSettingsAreInKafkasUnits(t *testing.T) {
	t.Chdir(t.TempDir())
	c, values, err := Load(Sources{Flags: []string{"--korvet.broker.producer-id-expiration-ms=2h", "--korvet.broker.num-partitions=3"}})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]KafkaSetting{}
	for _, k := range c.Kafka(values) {
		got[k.Name] = k
	}
	for _, want := range []KafkaSetting{
		{Name: "producer.id.expiration.ms", Type: "long", Value: "7200000", Set: true},
		{Name: "num.partitions", Type: "int", Value: "3", Set: true},
		{Name: "auto.create.topics.enable", Type: "boolean", Value: "true"},
		{Name: "fetch.max.bytes", Type: "int", Value: "57671680"},
	} {
		k := got[want.Name]
		k.Doc = ""
		if k != want {
			t.Errorf("got %+v, want %+v", k, want)
		}
	}
}

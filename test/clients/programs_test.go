package clients_test

import (
	"path/filepath"
	"testing"
)

// sessionClient is a client behind one of the programs of this folder.
func sessionClient(name string, s *session) *client {
	return &client{name: name, version: s.version, produce: s.produce, consume: s.consume}
}

func newJava(t *testing.T, addr, dir string) *client {
	t.Helper()
	path := filepath.Join(dir, "java", "classes") + string(filepath.ListSeparator) + filepath.Join(dir, "java", "lib", "*")
	c := sessionClient("Java client", newSession(t, "java", "-Xmx1g", "-XX:+UseSerialGC", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
		"-cp", path, "ClientProgram", addr))
	c.lacks = map[string]string{
		rawSnappy:   "writes snappy in xerial framing",
		messageSet0: "dropped old message formats",
		messageSet1: "dropped old message formats",
	}
	return c
}

func newPython(t *testing.T, name, driver, addr, dir string) *client {
	t.Helper()
	return sessionClient(name, newSession(t, filepath.Join(dir, "python", "bin", "python"), "-B", filepath.Join("python", "session.py"), driver, addr))
}

func newKafkaPython(t *testing.T, addr, dir string) *client {
	t.Helper()
	c := newPython(t, "kafka-python", "use_kafka_python", addr, dir)
	c.lacks = map[string]string{rawSnappy: "writes snappy in xerial framing"}
	c.lacksTraits = map[trait]string{
		nullKeyAndValue: "refuses a record without key and value",
		nullHeaderValue: "refuses null as header value",
	}
	return c
}

func newAiokafka(t *testing.T, addr, dir string) *client {
	t.Helper()
	c := newPython(t, "aiokafka", "use_aiokafka", addr, dir)
	c.lacks = map[string]string{
		rawSnappy:   "writes snappy in xerial framing",
		messageSet0: "dropped old message formats",
		messageSet1: "dropped old message formats",
	}
	c.lacksTraits = map[trait]string{nullKeyAndValue: "refuses a record without key and value"}
	return c
}

func newConfluent(t *testing.T, addr, dir string) *client {
	t.Helper()
	c := newPython(t, "confluent-kafka", "use_confluent", addr, dir)
	c.lacks = map[string]string{
		xerialSnappy: "writes raw snappy only",
		messageSet1:  librdkafkaMessageSet1,
	}
	return c
}

func newKafkaJS(t *testing.T, addr, dir string) *client {
	t.Helper()
	c := sessionClient("KafkaJS", newSession(t, "node", filepath.Join("node", "session.js"), filepath.Join(dir, "node"), addr))
	c.consume = nil
	c.lacksConsume = "its consumers are always members of a group"
	c.lacks = map[string]string{
		xerialSnappy: "writes raw snappy only",
		messageSet0:  "has no option for old message formats: it follows what the broker offers",
		messageSet1:  "has no option for old message formats: it follows what the broker offers",
	}
	c.lacksTraits = map[trait]string{
		nullHeaderValue: "sends an empty value instead of null",
		repeatedHeaders: "groups headers by name, so that interleaved names lose their order",
	}
	return c
}

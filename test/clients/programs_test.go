package clients_test

import (
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// sessionClient is a client behind one of the programs of this folder.
func sessionClient(name string, s *session) *client {
	member := memberProgram{command: func(memberOptions) *exec.Cmd { return exec.Command(s.program, s.args...) }}
	return &client{name: name, version: s.version, produce: s.produce, consume: s.consume, since: s.since, admin: s.admin, member: member}
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
	c := newPython(t, "kafka-python", "kafka_python", addr, dir)
	c.lacks = map[string]string{rawSnappy: "writes snappy in xerial framing"}
	c.lacksConsumerProtocol = "speaks the classic protocol only"
	c.lacksTraits = map[trait]string{
		nullKeyAndValue: "refuses a record without key and value",
		nullHeaderValue: "refuses null as header value",
	}
	return c
}

func newAiokafka(t *testing.T, addr, dir string) *client {
	t.Helper()
	c := newPython(t, "aiokafka", "aiokafka", addr, dir)
	c.lacksAdmin = map[string]string{"reset": "has no call for it", "forget": "has no call for it", "ungroup": "has no call for it"}
	c.lacksConsumerProtocol = "speaks the classic protocol only"
	c.lacks = map[string]string{
		rowCooperative: "rebalances eagerly only",
		rawSnappy:      "writes snappy in xerial framing",
		messageSet0:    "dropped old message formats",
		messageSet1:    "dropped old message formats",
	}
	c.lacksTraits = map[trait]string{nullKeyAndValue: "refuses a record without key and value"}
	return c
}

func newConfluent(t *testing.T, addr, dir string) *client {
	t.Helper()
	c := newPython(t, "confluent-kafka", "confluent", addr, dir)
	c.lacksAdmin = map[string]string{"forget": "has no call for it"}
	c.lacks = map[string]string{
		xerialSnappy: "writes raw snappy only",
		messageSet1:  librdkafkaMessageSet1,
	}
	return c
}

func newKafkaJS(t *testing.T, addr, dir string) *client {
	t.Helper()
	c := sessionClient("KafkaJS", newSession(t, "node", filepath.Join("node", "session.js"), filepath.Join(dir, "node"), addr))
	c.lacksAdmin = map[string]string{"forget": "has no call for it"}
	c.lacksConsumerProtocol = "speaks the classic protocol only"
	c.lacks = map[string]string{
		rowCooperative: "rebalances eagerly only",
		rowStatic:      "has no static membership",
		xerialSnappy:   "writes raw snappy only",
		messageSet0:    "has no option for old message formats: it follows what the broker offers",
		messageSet1:    "has no option for old message formats: it follows what the broker offers",
	}
	c.seen = headersByName
	c.shows = "groups headers by name and does not show the timestamp type"
	c.lacksTraits = map[trait]string{
		nullHeaderValue: "sends an empty value instead of null",
		repeatedHeaders: "groups headers by name, so that interleaved names lose their order",
	}
	return c
}

// headersByName is how KafkaJS shows headers: each name's values together, where the name came first; names that are numbers are before the others.
func headersByName(r record) record {
	var grouped []header
	for i, h := range r.headers {
		first := slices.IndexFunc(r.headers, func(o header) bool { return o.name == h.name })
		if first < i {
			continue
		}
		for _, o := range r.headers {
			if o.name == h.name {
				grouped = append(grouped, o)
			}
		}
	}
	r.headers = grouped
	return r
}

package ecosystem_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// consoles is Java's console consumer in a group, and what the topic that it reads holds.
type consoles struct {
	*world
	classpath    string
	protocol     string
	group, topic string
	values       []string
}

func TestConsoleConsumersShareATopicInAGroup(t *testing.T) {
	t.Parallel()
	w, classpath := newWorld(t), install(t, "kafka")
	for _, protocol := range []string{"classic", "consumer"} {
		t.Run(protocol, func(t *testing.T) {
			inner := *w
			inner.t = t
			c := &consoles{world: &inner, classpath: classpath, protocol: protocol, group: w.prefix + protocol}
			c.topic = c.createTopic("console-"+protocol, 4)
			c.resumeWhereTheLastOneEnded()
			c.shareTheTopic()
		})
	}
}

// resumeWhereTheLastOneEnded runs one consumer after the other, each for a part of the records.
func (c *consoles) resumeWhereTheLastOneEnded() {
	c.t.Helper()
	c.write(100)
	first := c.start("first", "--from-beginning", "--max-messages", "60")
	<-first.exited
	second := c.start("second", "--max-messages", "40")
	<-second.exited
	c.check(60, first)
	c.check(100, first, second)
	c.awaitCommitted(c.group, c.topic)
}

// shareTheTopic runs two consumers at once, over a restart of the broker, and a third one after one of them has left.
func (c *consoles) shareTheTopic() {
	c.t.Helper()
	c.values = nil
	left, right := c.start("left"), c.start("right")
	c.awaitMembers(c.group, 2)
	c.write(100)
	c.check(100, left, right)
	for _, side := range []*child{left, right} {
		if len(c.read(side)) == 0 {
			c.t.Errorf("the consumer %s got nothing", side.name)
		}
	}
	c.restart()
	c.write(100)
	c.check(200, left, right)
	// A Java consumer commits nothing when it closes while it validates its position, which it does after a change of leader (KIP-320): its
	// question waits behind the fetch on the same connection, up to fetch.max.wait.ms.
	c.awaitCommitted(c.group, c.topic)
	left.stop()
	c.awaitMembers(c.group, 1)
	late := c.start("late")
	c.awaitMembers(c.group, 2)
	c.write(100)
	c.check(300, left, right, late)
}

func (c *consoles) start(name string, args ...string) *child {
	c.t.Helper()
	java := append(jvm("128m"), "-cp", c.classpath, "org.apache.kafka.tools.consumer.ConsoleConsumer", "--bootstrap-server", c.broker.Addr,
		"--topic", c.topic, "--group", c.group, "--command-property", "group.protocol="+c.protocol)
	return start(c.t, "console consumer "+name, "java", append(java, args...)...)
}

// write appends so many records, spread over the partitions.
func (c *consoles) write(n int) {
	c.t.Helper()
	var fresh []*kgo.Record
	for range n {
		value := fmt.Sprintf("value %d", len(c.values))
		fresh = append(fresh, record(c.topic, int32(len(c.values)%4), value))
		c.values = append(c.values, value)
	}
	c.produce(fresh...)
}

// check waits until the consumers have printed n values together: the oldest, if n is not all, in no particular order, and each once.
func (c *consoles) check(n int, consumers ...*child) {
	c.t.Helper()
	var got []string
	c.await(fmt.Sprintf("%d values", n), func() error {
		got = nil
		for _, consumer := range consumers {
			got = append(got, c.read(consumer)...)
		}
		if len(got) < n {
			return fmt.Errorf("%d values", len(got))
		}
		return nil
	})
	if len(got) > n {
		c.t.Fatalf("%d values, want %d; some came twice: %q", len(got), n, without(got, c.values))
	}
	if surplus := without(got, c.values); len(surplus) > 0 {
		c.t.Fatalf("values that came twice: %q", surplus)
	}
}

// read is what a consumer has printed.
func (c *consoles) read(consumer *child) []string {
	c.t.Helper()
	b, err := os.ReadFile(consumer.log)
	if err != nil {
		c.t.Fatalf("read output: %v", err)
	}
	lines := strings.Split(string(b[:strings.LastIndexByte(string(b), '\n')+1]), "\n")
	return slices.DeleteFunc(lines, func(line string) bool { return !strings.HasPrefix(line, "value ") })
}

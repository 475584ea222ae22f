package conformance

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestTopicIsUsableOnAnotherBrokerAtOnce creates topics on one broker and uses them through the other.
func TestTopicIsUsableOnAnotherBrokerAtOnce(t *testing.T) {
	a := startOwn(t, "--korvet.broker.id=1")
	b := beside(t, a, "--korvet.broker.id=2")
	first := dial(t, a)
	first.eventually("both brokers are known", func() bool { return len(first.metadata(12).Brokers) == 2 })
	dial(t, b).eventually("both brokers are known", func() bool { return len(dial(t, b).metadata(12).Brokers) == 2 })
	for i := range 100 {
		name := fmt.Sprintf("%s-%d", newName(), i)
		first.create(name, 1)
		m := dial(t, b).metadata(12, name)
		got := m.Topics[0]
		if got.ErrorCode != 0 || len(got.Partitions) != 1 {
			t.Fatalf("metadata of the other broker: %s", code(got.ErrorCode))
		}
		leader := dial(t, &target{addr: addressOf(t, m, got.Partitions[0].Leader), korvet: true})
		leader.eventually("leader accepts", func() bool {
			s := leader.produced(produceTo(9, topic{name: name}, -1, values("v").bytes()))
			if s == "UNKNOWN_TOPIC_OR_PARTITION" {
				t.Fatalf("leader does not know topic %s", name)
			}
			return s == "OK @0"
		})
	}
}

func addressOf(t *testing.T, m *kmsg.MetadataResponse, node int32) string {
	t.Helper()
	for _, b := range m.Brokers {
		if b.NodeID == node {
			return fmt.Sprintf("%s:%d", b.Host, b.Port)
		}
	}
	t.Fatalf("metadata does not tell the address of broker %d", node)
	return ""
}

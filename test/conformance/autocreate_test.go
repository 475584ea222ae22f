package conformance

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestAutoCreation needs a broker whose auto.create.topics.enable is on. Against one of somebody else where it is off it
// checks that nothing is created.
func TestAutoCreation(t *testing.T) {
	to := start(t)
	on := dial(t, to).autoCreates()
	if !on && !to.own.External() {
		t.Fatal("korvet's default is to create topics")
	}
	t.Run("allowed", func(t *testing.T) {
		c := dial(t, to)
		name := newName()
		req := metadataRequest(12, name)
		req.AllowAutoTopicCreation = true
		first := ask[*kmsg.MetadataResponse](c, req).Topics[0]
		want := c.expected("UNKNOWN_TOPIC_OR_PARTITION", differs("OK", "Auto-creation"))
		if !on {
			want = "UNKNOWN_TOPIC_OR_PARTITION"
		}
		if got := code(first.ErrorCode); got != want {
			t.Errorf("first answer %s, want %s", got, want)
		}
		if !on {
			return
		}
		c.awaitTopic(name, 1)
		if got := c.produced(produceTo(9, topic{name: name}, -1, values("v").bytes())); got != "OK @0" {
			t.Errorf("produce to the new topic: %s", got)
		}
	})
	for _, r := range []struct{ title, name, want string }{
		{"not allowed by the request", newName(), "UNKNOWN_TOPIC_OR_PARTITION"},
		{"invalid name", "no/such", "INVALID_TOPIC_EXCEPTION"},
	} {
		t.Run(r.title, func(t *testing.T) {
			c := dial(t, to)
			req := metadataRequest(12, r.name)
			req.AllowAutoTopicCreation = r.want == "INVALID_TOPIC_EXCEPTION"
			for range 2 {
				if got := code(ask[*kmsg.MetadataResponse](c, req).Topics[0].ErrorCode); got != r.want {
					t.Errorf("answer %s, want %s", got, r.want)
				}
			}
		})
	}
	t.Run("Metadata v0 to v3 cannot forbid it", func(t *testing.T) {
		c := dial(t, to)
		for v := range int16(4) {
			name := newName()
			c.metadata(v, name)
			if on {
				c.awaitTopic(name, 1)
			} else if got := fmt.Sprint(code(c.metadata(v, name).Topics[0].ErrorCode)); got != "UNKNOWN_TOPIC_OR_PARTITION" {
				t.Errorf("v%d: %s", v, got)
			}
		}
	})
	t.Run("produce does not create", func(t *testing.T) {
		c := dial(t, to)
		if got := c.produced(produceTo(9, topic{name: newName()}, -1, values("v").bytes())); got != "UNKNOWN_TOPIC_OR_PARTITION" {
			t.Errorf("answer %s", got)
		}
	})
}

package conformance

import (
	"fmt"
	"strings"
	"testing"
)

// TestCompactedTopicKeepsTheNewestRecordOfEachKey: as consumers see it, at the records' own offsets.
func TestCompactedTopicKeepsTheNewestRecordOfEachKey(t *testing.T) {
	to := startOwn(t, "--korvet.storage.worker.tick-interval=200ms", "--korvet.storage.worker.lease-duration=2s")
	c := dial(t, to)
	topic := c.newTopic("cleanup.policy=compact", "min.cleanable.dirty.ratio=0", "delete.retention.ms=86400000")
	put := func(word string) {
		key, value, valued := strings.Cut(word, "=")
		r := record{key: []byte(key), timestamp: now()}
		if valued {
			r.value = []byte(value)
		}
		c.must(topic, batchOf(r))
	}
	for _, word := range []string{"a=0", "b=1", "a=2", "b", "c=4", "c=5", "d=6"} {
		put(word)
	}
	read := func(offset int64) string {
		var words []string
		for _, b := range c.batches(topic, offset) {
			for _, r := range b.records {
				word := fmt.Sprintf("%d:%s", b.FirstOffset+int64(r.OffsetDelta), r.Key)
				if r.Value != nil {
					word += "=" + string(r.Value)
				}
				words = append(words, word)
			}
		}
		return strings.Join(words, " ")
	}
	const compacted = "2:a=2 3:b 5:c=5 6:d=6 "
	c.eventually("the log is compacted", func() bool {
		put("e=later") // what shares its ms with the newest append is not looked at
		return strings.HasPrefix(read(0), compacted)
	})
	if got := read(4); !strings.HasPrefix(got, "5:c=5 6:d=6") {
		t.Errorf("from an offset that is gone: %s", got)
	}
	if first, end := c.listOffset(9, topic, earliest).Offset, c.end(topic); first != 0 || end < 8 {
		t.Errorf("log is from %d to %d, want 0 to 8 or more", first, end)
	}
}

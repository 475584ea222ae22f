package tiered

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/korvet-io/korvet/internal/redistest"
)

// deleteTo raises the log start of a partition, as the client asks for it.
func (c *churn) deleteTo(partition int32, offset int64) {
	c.Helper()
	before := c.offset(c.topic, partition, earliest)
	answer, err := c.admin.DeleteRecords(c.Context(), kadm.Offsets{c.topic: {partition: kadm.Offset{Topic: c.topic, Partition: partition, At: offset}}})
	if err == nil {
		err = answer.Error()
	}
	if err != nil {
		c.Errorf("delete records up to %d: %v", offset, err)
		return
	}
	begins := c.offset(c.topic, partition, earliest)
	if low := answer[c.topic][partition].LowWatermark; begins < max(offset, before) || low < max(offset, before) || low > begins {
		c.Errorf("the log started at %d, records up to %d were deleted, answered %d: it starts at %d", before, offset, low, begins)
	}
	if err := c.fetched(c.topic, partition, begins-1); begins > 0 && !errors.Is(err, kerr.OffsetOutOfRange) {
		c.Errorf("a fetch below the log start: %v", err)
	}
}

// deleteRecords does so in the remote part, at its edges, and in Redis.
func (c *churn) deleteRecords() {
	for p := range c.partitions() {
		begins, local := c.offset(c.topic, p, earliest), c.offset(c.topic, p, earliestLocal)
		c.deleteTo(p, begins+(local-begins)/3)
		c.deleteTo(p, begins+(local-begins)/2)
		c.deleteTo(p, local)
		c.more(700)
		c.deleteTo(p, c.offset(c.topic, p, earliestLocal)+17)
		c.deleteTo(p, c.acknowledged(p))
	}
}

// retentionMs lets go nearly all, and keeps what is there then.
func (c *churn) retentionMs() {
	c.accepted(c.topic, "retention.ms=1500")
	for p := range c.partitions() {
		from := c.offset(c.topic, p, earliest)
		redistest.Eventually(c, "records to expire", func() bool { return c.offset(c.topic, p, earliest) > from+500 })
	}
	c.accepted(c.topic, "retention.ms")
	c.keeps()
}

// retentionBytes likewise, by size.
func (c *churn) retentionBytes() {
	c.more(2000)
	c.accepted(c.topic, "retention.bytes=1000000", "local.retention.bytes=0")
	for p := range c.partitions() {
		from := c.offset(c.topic, p, earliest)
		redistest.Eventually(c, "records to go by size", func() bool { return c.offset(c.topic, p, earliest) > from })
	}
	c.accepted(c.topic, "retention.bytes", "local.retention.bytes")
	c.keeps()
}

// keeps checks that the log starts stay while more is written, from when the worker has heard of it.
func (c *churn) keeps() {
	c.more(700)
	var starts []int64
	for p := range c.partitions() {
		starts = append(starts, c.offset(c.topic, p, earliest))
	}
	c.more(700)
	for p, was := range starts {
		if is := c.offset(c.topic, int32(p), earliest); is != was {
			c.Errorf("partition %d starts at %d, at %d before: nothing is to go", p, is, was)
		}
	}
}

func (c *churn) segmentBytes() {
	for _, bytes := range []int{1 << 21, 3 << 20, 1 << 20} {
		c.accepted(c.topic, fmt.Sprint("segment.bytes=", bytes))
		c.more(300)
	}
}

// localRetention keeps all in Redis, and lets it go again.
func (c *churn) localRetention() {
	for _, ms := range []string{"=800", "=3600000", "", "=0"} {
		c.accepted(c.topic, "local.retention.ms"+ms)
		c.more(700)
	}
	c.leaves(0)
}

// leaves waits until Redis has less than when it is called.
func (c *churn) leaves(partition int32) {
	c.Helper()
	c.awaitDropped(c.topic, partition, c.offset(c.topic, partition, earliestLocal)+1)
}

// timestamps has the broker stamp records, and the producer again.
func (c *churn) timestamps() {
	alterTo := func(kind string) {
		c.mu.Lock()
		c.kind = kind
		c.mu.Unlock()
	}
	for _, kind := range []string{"LogAppendTime", "CreateTime"} {
		alterTo("")
		c.accepted(c.topic, "message.timestamp.type="+kind)
		alterTo(kind)
		c.more(500)
	}
	c.leaves(0)
}

func (c *churn) copyDisable() {
	c.accepted(c.topic, "remote.log.copy.disable=true", "local.retention.ms")
	c.more(700)
	c.accepted(c.topic, "remote.log.copy.disable=false", "local.retention.ms=0")
	c.leaves(0)
}

// turnOff deletes what is remote, and begins anew.
func (c *churn) turnOff() {
	c.refused("It is invalid to disable remote storage without deleting remote data.", c.topic, "remote.storage.enable=false")
	c.more(100)
	c.accepted(c.topic, "remote.storage.enable=false", "remote.log.delete.on.disable=true", "local.retention.ms")
	for p := range c.partitions() {
		redistest.Eventually(c, "the log to start where Redis does, with nothing tiered", func() bool {
			return c.offset(c.topic, p, latestTiered) == -1 && c.offset(c.topic, p, earliest) == c.offset(c.topic, p, earliestLocal)
		})
	}
	c.more(700)
	redistest.Eventually(c, "the tier to be turned on again", func() bool {
		err := c.alter(c.topic, "remote.storage.enable=true", "remote.log.delete.on.disable", "local.retention.ms=0")
		if err != nil && !strings.Contains(err.Error(), "deleted") {
			c.Errorf("turn the tier on again: %v", err)
		}
		return err == nil || c.Failed()
	})
	c.leaves(0)
}

// anew deletes the topic while it is copied, and makes it again under its name.
func (c *churn) anew() {
	c.end()
	if _, err := c.admin.DeleteTopic(c.Context(), c.topic); err != nil {
		c.Fatal(err)
	}
	c.connect()
	c.begin(1)
	c.more(2000)
	c.leaves(0)
}

// grow adds a partition, up to six.
func (c *churn) grow() {
	if c.partitions() == 6 {
		return
	}
	q := kmsg.NewPtrCreatePartitionsRequest()
	t := kmsg.NewCreatePartitionsRequestTopic()
	t.Topic, t.Count = c.topic, c.partitions()+1
	q.TimeoutMillis, q.Topics = 20_000, append(q.Topics, t)
	answer, err := q.RequestWith(c.Context(), c.client)
	if err == nil {
		err = kerr.ErrorForCode(answer.Topics[0].ErrorCode)
	}
	if err != nil {
		c.Fatalf("add a partition: %v", err)
	}
	c.join()
	c.leaves(c.partitions() - 1)
}

// A topic is changed in every way while it is written, copied, dropped and read from its start: half of the ways on each kind of
// store, in the long form all of them in every order.
func TestATopicIsChangedWhileItIsCopied(t *testing.T) {
	t.Parallel()
	ways := map[string][]string{
		"file": {"partitions", "message.timestamp.type", "local.retention.ms", "segment.bytes", "DeleteRecords"},
		"s3":   {"remote.log.copy.disable", "retention.bytes", "anew", "remote.storage.enable", "retention.ms"},
	}
	rounds := 1
	if os.Getenv("KORVET_TEST_LONG") != "" {
		all := slices.Concat(ways["file"], ways["s3"])
		ways, rounds = map[string][]string{"file": all, "s3": all}, 5
	}
	for name, at := range places {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newChurn(t, at(t))
			c.begin(1)
			defer func() { c.end() }()
			steps := map[string]func(){
				"partitions": c.grow, "message.timestamp.type": c.timestamps, "local.retention.ms": c.localRetention, "segment.bytes": c.segmentBytes,
				"DeleteRecords": c.deleteRecords, "remote.log.copy.disable": c.copyDisable, "retention.bytes": c.retentionBytes, "anew": c.anew,
				"remote.storage.enable": c.turnOff, "retention.ms": c.retentionMs,
			}
			todo := slices.Clone(ways[name])
			for i := range rounds {
				if i > 0 {
					rand.Shuffle(len(todo), func(a, b int) { todo[a], todo[b] = todo[b], todo[a] })
				}
				for _, step := range todo {
					steps[step]()
					for p := range c.partitions() {
						c.whole(p)
					}
					t.Logf("%s: %d full reads", step, c.reads())
					if t.Failed() {
						return
					}
				}
			}
			if c.reads() == 0 {
				t.Error("nobody read a whole log")
			}
		})
	}
}

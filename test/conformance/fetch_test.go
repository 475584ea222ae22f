package conformance

import (
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// long is a wait, in ms, that no test sits through: an answer to it came because something happened.
const long = 60_000

func fetchRows() []row {
	at := func(offset int64, changes ...func(*fetchOptions)) func(*conn) string {
		return func(c *conn) string {
			t := c.newTopic()
			c.must(t, values("0", "1"), values("2", "3"))
			o := fetchAt(offset)
			o.waitMs = long
			for _, change := range changes {
				change(&o)
			}
			return c.fetched(t, o)
		}
	}
	small := func(size, partitionSize int32) func(*fetchOptions) {
		return func(o *fetchOptions) { o.maxBytes, o.partitionMaxBytes = size, partitionSize }
	}
	now := func(o *fetchOptions) { o.waitMs = 0 }
	batchAndAHalf := int32(len(values("0", "1").bytes()) * 3 / 2)
	rows := []row{
		{name: "from the start", do: at(0), want: "OK [0-1] [2-3]", rebuilt: "OK [0-3]"},
		{name: "from the second batch", do: at(2), want: "OK [2-3]"},
		{name: "inside the first batch", do: at(1), want: "OK [0-1] [2-3]", rebuilt: "OK [1-3]"},
		{name: "inside the last batch", do: at(3), want: "OK [2-3]", rebuilt: "OK [3-3]"},
		{name: "above the end", do: at(5), want: "OFFSET_OUT_OF_RANGE"},
		{name: "-1", do: at(-1), want: "OFFSET_OUT_OF_RANGE"},
		{name: "below the start", do: fetchBelowStart, want: "OFFSET_OUT_OF_RANGE"},
		{name: "last_fetched_epoch too new", do: at(0, func(o *fetchOptions) { o.fetchedEpoch = 1 << 30 }), want: "OFFSET_OUT_OF_RANGE"},
		{name: "current_leader_epoch too new", do: at(0, func(o *fetchOptions) { o.currentEpoch = 1 << 30 }), want: "UNKNOWN_LEADER_EPOCH"},
		{name: "current_leader_epoch right", do: fetchRightEpoch, want: "OK [0-0]"},
		{name: "as replica 5 that is none", do: at(0, func(o *fetchOptions) { o.replica = 5 }), want: "NOT_LEADER_OR_FOLLOWER"},
		{name: "at the end, min_bytes 0", do: at(4, func(o *fetchOptions) { o.minBytes = 0 }), want: "OK"},
		{name: "at the end, max_wait_ms 0", do: at(4, now), want: "OK"},
		{name: "at the end, min_bytes 1, short wait", do: at(4, func(o *fetchOptions) { o.waitMs = 100 }), want: "OK"},
		{name: "fewer than min_bytes there", do: at(0, func(o *fetchOptions) { o.waitMs, o.minBytes = 100, 1<<20 }), want: "OK [0-1] [2-3]", rebuilt: "OK [0-3]"},
		{name: "a produce while it waits", do: fetchWoken, want: "OK [0-0]"},
		{name: "a produce to the second partition while it waits", do: fetchWokenBySecond, want: "OK; OK [0-0]"},
		{name: "two produces until min_bytes", do: fetchWokenTwice, want: "OK [0-0] [1-1]"},
		{name: "min_bytes of 1.5 batches, partition_max_bytes the same", do: at(0, func(o *fetchOptions) { o.minBytes, o.partitionMaxBytes = batchAndAHalf, batchAndAHalf }), want: "OK [0-1] and a part of a batch", korvet: differs("OK [0-1]", "Whole batches"), rebuilt: "OK [0-0]"},
		{name: "an unknown partition beside one that waits", do: fetchBesideUnknown, want: "OK [0-0]; UNKNOWN_TOPIC_OR_PARTITION"},
		{name: "an offset out of range beside one that waits", do: fetchBesideOutOfRange, want: "OK; OFFSET_OUT_OF_RANGE"},
		{name: "unknown topic", do: fetchTopic(12, topic{name: newName()}), want: "UNKNOWN_TOPIC_OR_PARTITION"},
		{name: "unknown partition", do: fetchUnknownPartition, want: "UNKNOWN_TOPIC_OR_PARTITION"},
		{name: "unknown topic id (v13)", do: fetchTopic(13, topic{id: [16]byte{3, 3}}), want: "UNKNOWN_TOPIC_ID"},
		{name: "zero topic id (v13)", do: fetchTopic(13, topic{}), want: "UNKNOWN_TOPIC_ID"},
		{name: "partition_max_bytes 0", do: at(0, small(1<<20, 0)), want: "OK [0-1]", rebuilt: "OK [0-0]"},
		{name: "partition_max_bytes 1", do: at(0, small(1<<20, 1)), want: "OK [0-1]", rebuilt: "OK [0-0]"},
		{name: "max_bytes 0", do: at(0, small(0, 1<<20)), want: "OK [0-1]", rebuilt: "OK [0-0]"},
		{name: "max_bytes 1", do: at(0, small(1, 1<<20)), want: "OK [0-1]", rebuilt: "OK [0-0]"},
		{name: "partition_max_bytes of 1.5 batches", do: at(0, small(1<<20, batchAndAHalf)), want: "OK [0-1] and a part of a batch", korvet: differs("OK [0-1]", "Whole batches"), rebuilt: "OK [0-0]"},
		{name: "two partitions, max_bytes 1", do: fetchTwoLimited, want: "OK [0-0]; OK"},
		{name: "first partition empty, max_bytes 1", do: fetchFirstEmpty, want: "OK; OK [0-0]"},
		{name: "batch of 2 MB above all limits", do: fetchLarge, want: "OK [0-0]"},
		{name: "max_bytes -1", do: at(0, small(-1, 1<<20)), want: "UNKNOWN_SERVER_ERROR", korvet: differs("INVALID_REQUEST", "Clear errors")},
		{name: "isolation level 7", do: at(0, func(o *fetchOptions) { o.isolation = 7 }), want: "UNKNOWN_SERVER_ERROR", korvet: differs("INVALID_REQUEST", "Clear errors")},
		{name: "min_bytes above max_bytes", do: at(0, func(o *fetchOptions) { o.minBytes, o.maxBytes = 1<<30, 100 }), want: "OK [0-1] and a part of a batch", korvet: differs("OK [0-1]", "Whole batches"), rebuilt: "OK [0-0]"},
		{name: "negative wait", do: at(4, func(o *fetchOptions) { o.waitMs = -5 }), want: "OK"},
		{name: "one partition twice", do: fetchTwice, want: "OK [0-0]"},
		{name: "no topics", do: fetchNone, want: "OK, 0 topics"},
		{name: "zstd batch in v9", do: fetchZstd(9), want: "OK [0-0] codec 4", korvet: differs("OK [0-0] codec 0", "zstd for old consumers"), rebuilt: "OK [0-0] codec 0"},
		{name: "zstd batch in v10", do: fetchZstd(10), want: "OK [0-0] codec 4", rebuilt: "OK [0-0] codec 0"},
		{name: "read committed", do: fetchCommitted, want: "OK [0-0], aborted transactions null false, last stable offset 1"},
		{name: "high watermark and log start", do: fetchBounds, want: "high watermark 4, log start 1"},
	}
	return rows
}

func fetchTopic(version int16, t topic) func(*conn) string {
	return func(c *conn) string {
		o := fetchAt(0)
		o.version, o.waitMs = version, long
		return c.fetched(t, o)
	}
}

func fetchUnknownPartition(c *conn) string {
	return c.describeFetched(ask[*kmsg.FetchResponse](c, fetchAt(0).request(c.newTopic(), 3)))
}

func fetchTwice(c *conn) string {
	t := c.newTopic()
	c.must(t, values("v"))
	return c.describeFetched(ask[*kmsg.FetchResponse](c, fetchAt(0).request(t, 0, 0)))
}

func fetchNone(c *conn) string {
	req := fetchAt(0).request(topic{})
	req.Topics = nil
	resp := ask[*kmsg.FetchResponse](c, req)
	return fmt.Sprintf("%s, %d topics", code(resp.ErrorCode), len(resp.Topics))
}

func fetchBelowStart(c *conn) string {
	t := c.newTopic()
	c.must(t, values("0"), values("1"))
	c.deleted(t, 1)
	return c.fetched(t, fetchAt(0))
}

func fetchRightEpoch(c *conn) string {
	t := c.newTopic()
	c.must(t, values("0"))
	o := fetchAt(0)
	o.currentEpoch = c.metadata(12, t.name).Topics[0].Partitions[0].LeaderEpoch
	o.fetchedEpoch = o.currentEpoch
	return c.fetched(t, o)
}

// waiting sends a fetch that cannot be answered yet, and makes sure that the broker has read it.
func (c *conn) waiting(o fetchOptions, t topic, partitions ...int32) func() string {
	c.t.Helper()
	o.waitMs = long
	req := o.request(t, partitions...)
	id := c.send(req)
	return func() string {
		resp, err := c.receive(req, id)
		if err != nil {
			return outcome(err)
		}
		return c.describeFetched(resp.(*kmsg.FetchResponse))
	}
}

func fetchWoken(c *conn) string {
	t := c.newTopic()
	answer := c.waiting(fetchAt(0), t)
	c.another().must(t, values("v"))
	return answer()
}

func fetchWokenBySecond(c *conn) string {
	t := c.newTopicOf(2)
	answer := c.waiting(fetchAt(0), t, 0, 1)
	req := produceTo(9, t, -1, values("v").bytes())
	req.Topics[0].Partitions[0].Partition = 1
	c.another().produced(req)
	return answer()
}

func fetchWokenTwice(c *conn) string {
	t := c.newTopic()
	o := fetchAt(0)
	o.minBytes = int32(len(values("v").bytes())) + 1
	answer := c.waiting(o, t)
	other := c.another()
	other.must(t, values("v"), values("v"))
	return answer()
}

// fetchBesideUnknown: an error that comes again with every fetch must not make a consumer ask without pause.
func fetchBesideUnknown(c *conn) string {
	t := c.newTopic()
	answer := c.waiting(fetchAt(0), t, 0, 7)
	c.another().must(t, values("v"))
	return answer()
}

func fetchBesideOutOfRange(c *conn) string {
	t := c.newTopicOf(2)
	o := fetchAt(0)
	o.waitMs = long
	req := o.request(t, 0, 1)
	req.Topics[0].Partitions[1].FetchOffset = 5
	return c.describeFetched(ask[*kmsg.FetchResponse](c, req))
}

func (c *conn) fillTwo() topic {
	c.t.Helper()
	t := c.newTopicOf(2)
	for p := range int32(2) {
		req := produceTo(9, t, -1, values("v").bytes())
		req.Topics[0].Partitions[0].Partition = p
		c.produced(req)
	}
	return t
}

func fetchTwoLimited(c *conn) string {
	o := fetchAt(0)
	o.maxBytes = 1
	return c.describeFetched(ask[*kmsg.FetchResponse](c, o.request(c.fillTwo(), 0, 1)))
}

func fetchFirstEmpty(c *conn) string {
	t := c.fillTwo()
	o := fetchAt(0)
	o.maxBytes = 1
	req := o.request(t, 0, 1)
	req.Topics[0].Partitions[0].FetchOffset = 1
	return c.describeFetched(ask[*kmsg.FetchResponse](c, req))
}

func fetchLarge(c *conn) string {
	t := c.newTopic("max.message.bytes=4194304")
	c.must(t, values(strings.Repeat("x", 2<<20)))
	o := fetchAt(0)
	o.maxBytes, o.partitionMaxBytes = 1024, 512
	return c.fetched(t, o)
}

func fetchZstd(version int16) func(*conn) string {
	return func(c *conn) string {
		t := c.newTopic()
		c.must(t, values("v").codec(codecZstd))
		o := fetchAt(0)
		o.version = version
		resp := ask[*kmsg.FetchResponse](c, o.request(t))
		s := c.describeFetched(resp)
		batches, _ := parseBatches(c.t, resp.Topics[0].Partitions[0].RecordBatches)
		for _, b := range batches {
			s += fmt.Sprintf(" codec %d", b.Attributes&7)
		}
		return s
	}
}

func fetchCommitted(c *conn) string {
	t := c.newTopic()
	c.must(t, values("v"))
	o := fetchAt(0)
	o.isolation = 1
	resp := ask[*kmsg.FetchResponse](c, o.request(t))
	p := resp.Topics[0].Partitions[0]
	return fmt.Sprintf("%s, aborted transactions null %t, last stable offset %d", c.describeFetched(resp), p.AbortedTransactions == nil, p.LastStableOffset)
}

func fetchBounds(c *conn) string {
	t := c.newTopic()
	c.must(t, values("0"), values("1", "2", "3"))
	c.deleted(t, 1)
	p := ask[*kmsg.FetchResponse](c, fetchAt(1).request(t)).Topics[0].Partitions[0]
	return fmt.Sprintf("high watermark %d, log start %d", p.HighWatermark, p.LogStartOffset)
}

package conformance

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func describeLogDirsRows() []row {
	return []row{
		{name: "one topic after a produce", do: logDirsOf(false), want: "OK size above 0"},
		{name: "topics null means all", do: logDirsOf(true), want: "OK size above 0"},
		{name: "unknown topic", do: logDirsUnknown, want: "OK 0 topics"},
	}
}

func describeLogDirs(version int16, topics ...string) *kmsg.DescribeLogDirsRequest {
	req := kmsg.NewPtrDescribeLogDirsRequest()
	req.Version = version
	for _, name := range topics {
		t := kmsg.NewDescribeLogDirsRequestTopic()
		t.Topic = name
		t.Partitions = []int32{0}
		req.Topics = append(req.Topics, t)
	}
	return req
}

func logDirsOf(all bool) func(*conn) string {
	return func(c *conn) string {
		t := c.newTopic()
		c.must(t, values("some bytes"))
		req := describeLogDirs(4, t.name)
		if all {
			req.Topics = nil
		}
		for _, dir := range ask[*kmsg.DescribeLogDirsResponse](c, req).Dirs {
			for _, topic := range dir.Topics {
				if topic.Topic == t.name && topic.Partitions[0].Size > 0 {
					return code(dir.ErrorCode) + " size above 0"
				}
			}
		}
		return "not there"
	}
}

func logDirsUnknown(c *conn) string {
	dir := ask[*kmsg.DescribeLogDirsResponse](c, describeLogDirs(4, newName())).Dirs[0]
	return fmt.Sprintf("%s %d topics", code(dir.ErrorCode), len(dir.Topics))
}

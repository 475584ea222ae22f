package conformance

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	opSet      = kmsg.IncrementalAlterConfigOpSet
	opDelete   = kmsg.IncrementalAlterConfigOpDelete
	opAppend   = kmsg.IncrementalAlterConfigOpAppend
	opSubtract = kmsg.IncrementalAlterConfigOpSubtract
)

// change is one operation on one setting; value null is nil.
type change struct {
	name  string
	op    kmsg.IncrementalAlterConfigOp
	value *string
}

func set(name, value string) change { return change{name, opSet, &value} }

func op(name string, op kmsg.IncrementalAlterConfigOp, value string) change {
	return change{name, op, &value}
}

func incrementalAlterConfigsRows() []row {
	const retention, policy = "retention.ms", "cleanup.policy"
	return []row{
		{name: "SET", do: altered(retention, nil, set(retention, "5000")), want: "OK, retention.ms=5000 DYNAMIC_TOPIC_CONFIG"},
		{name: "SET to the default", do: altered(retention, nil, set(retention, "604800000")), want: "OK, retention.ms=604800000 DYNAMIC_TOPIC_CONFIG"},
		{name: "SET, blanks around a number", do: altered(retention, nil, set(retention, " 5000 ")), want: "OK, retention.ms=5000 DYNAMIC_TOPIC_CONFIG"},
		{name: "SET null", do: altered(retention, nil, change{retention, opSet, nil}), want: "INVALID_REQUEST, retention.ms=604800000 DEFAULT_CONFIG"},
		{name: "a setting twice in one resource", do: altered(retention, nil, set(retention, "1"), set(retention, "2")), want: "INVALID_REQUEST, retention.ms=604800000 DEFAULT_CONFIG"},
		{name: "a resource twice", do: alteredTwice, want: "INVALID_REQUEST"},
		{name: "SET unknown", do: altered(retention, nil, set("no.such.setting", "1")), want: "INVALID_CONFIG, retention.ms=604800000 DEFAULT_CONFIG"},
		{name: "SET wrong type", do: altered(retention, nil, set(retention, "soon")), want: "INVALID_CONFIG, retention.ms=604800000 DEFAULT_CONFIG"},
		{name: "SET out of range", do: altered(retention, nil, set(retention, "-2")), want: "INVALID_CONFIG, retention.ms=604800000 DEFAULT_CONFIG"},
		{name: "SET unknown choice", do: altered(policy, nil, set(policy, "shred")), want: "INVALID_CONFIG, cleanup.policy=delete DEFAULT_CONFIG"},
		{name: "SET one good, one bad", do: altered(retention, nil, set(retention, "5000"), set(policy, "shred")), want: "INVALID_CONFIG, retention.ms=604800000 DEFAULT_CONFIG"},
		{name: "DELETE of a set setting", do: altered(retention, []string{"retention.ms=1000"}, change{retention, opDelete, nil}), want: "OK, retention.ms=604800000 DEFAULT_CONFIG"},
		{name: "DELETE of an unset setting", do: altered(retention, nil, change{retention, opDelete, nil}), want: "OK, retention.ms=604800000 DEFAULT_CONFIG"},
		{name: "DELETE of an unknown setting", do: altered(retention, nil, change{"no.such.setting", opDelete, nil}), want: "OK, retention.ms=604800000 DEFAULT_CONFIG"},
		{name: "APPEND to a list", do: altered(policy, nil, op(policy, opAppend, "compact")), want: "OK, cleanup.policy=delete,compact DYNAMIC_TOPIC_CONFIG"},
		{name: "APPEND of what is there", do: altered(policy, nil, op(policy, opAppend, "delete")), want: "OK, cleanup.policy=delete DYNAMIC_TOPIC_CONFIG"},
		{name: "SUBTRACT from a list", do: altered(policy, []string{"cleanup.policy=compact,delete"}, op(policy, opSubtract, "compact")), want: "OK, cleanup.policy=delete DYNAMIC_TOPIC_CONFIG"},
		{name: "SUBTRACT of the last", do: altered(policy, nil, op(policy, opSubtract, "delete")), want: "OK, cleanup.policy= DYNAMIC_TOPIC_CONFIG"},
		{name: "SUBTRACT of what is not there", do: altered(policy, nil, op(policy, opSubtract, "compact")), want: "OK, cleanup.policy=delete DYNAMIC_TOPIC_CONFIG"},
		{name: "APPEND on a number", do: altered(retention, nil, op(retention, opAppend, "1")), want: "INVALID_CONFIG, retention.ms=604800000 DEFAULT_CONFIG"},
		{name: "SUBTRACT on a number", do: altered(retention, nil, op(retention, opSubtract, "1")), want: "INVALID_CONFIG, retention.ms=604800000 DEFAULT_CONFIG"},
		{name: "operation 9", do: altered(retention, nil, op(retention, 9, "1")), want: "UNKNOWN_SERVER_ERROR, retention.ms=604800000 DEFAULT_CONFIG", korvet: differs("INVALID_REQUEST, retention.ms=604800000 DEFAULT_CONFIG", "Clear errors")},
		{name: "no changes", do: altered(retention, nil), want: "OK, retention.ms=604800000 DEFAULT_CONFIG"},
		{name: "validate_only", do: alteredValidateOnly, want: "OK, retention.ms=604800000 DEFAULT_CONFIG"},
		{name: "unknown topic", do: alteredResource(topicResource, newName(), set(retention, "1")), want: "UNKNOWN_TOPIC_OR_PARTITION"},
		{name: "invalid topic name", do: alteredResource(topicResource, "a/b", set(retention, "1")), want: "INVALID_TOPIC_EXCEPTION"},
		{name: "empty topic name", do: alteredResource(topicResource, "", set(retention, "1")), want: "INVALID_REQUEST"},
		{name: "APPEND of an unknown choice", do: altered(policy, nil, op(policy, opAppend, "shred")), want: "INVALID_CONFIG, cleanup.policy=delete DEFAULT_CONFIG"},
		{name: "APPEND of null", do: altered(policy, nil, change{policy, opAppend, nil}), want: "INVALID_REQUEST, cleanup.policy=delete DEFAULT_CONFIG"},
		{name: "resource type 99", do: alteredResource(99, "x", set("a", "1")), want: "INVALID_REQUEST"},
		{name: "unknown broker setting", do: alteredBroker("no.such.setting"), want: "OK", korvet: differs("INVALID_REQUEST", "Broker settings")},
		{name: "broker setting that Kafka changes while it runs", do: alteredBroker("log.retention.ms"), want: "OK"},
		{name: "client metrics", do: alteredResource(kmsg.ConfigResourceTypeClientMetrics, "m", set("interval.ms", "1000")), want: "OK", korvet: differs("INVALID_REQUEST", "Client metrics")},
		{name: "broker 99", do: alteredResource(brokerResource, "99", set("log.retention.ms", "1")), want: "INVALID_REQUEST"},
		{name: "read-only broker setting", do: alteredBroker("num.partitions"), want: "INVALID_REQUEST"},
		{name: "group setting out of range", do: alteredResource(groupResource, "g", set("consumer.session.timeout.ms", "1")), want: "INVALID_CONFIG"},
		{name: "max.message.bytes counts at once", do: alteredLimit, want: "MESSAGE_TOO_LARGE, then OK @0"},
	}
}

func alterConfigs(version int16, kind kmsg.ConfigResourceType, name string, changes ...change) *kmsg.IncrementalAlterConfigsRequest {
	r := kmsg.NewIncrementalAlterConfigsRequestResource()
	r.ResourceType, r.ResourceName = kind, name
	for _, ch := range changes {
		config := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		config.Name, config.Op, config.Value = ch.name, ch.op, ch.value
		r.Configs = append(r.Configs, config)
	}
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	req.Version = version
	req.Resources = append(req.Resources, r)
	return req
}

func (c *conn) alter(req *kmsg.IncrementalAlterConfigsRequest) string {
	c.t.Helper()
	return code(ask[*kmsg.IncrementalAlterConfigsResponse](c, req).Resources[0].ErrorCode)
}

// altered changes a topic that was created with some settings, and tells the answer and how the setting shown is then.
func altered(show string, settings []string, changes ...change) func(*conn) string {
	return func(c *conn) string {
		t := c.newTopic(settings...)
		return c.alterAndShow(t, show, alterConfigs(1, topicResource, t.name, changes...))
	}
}

// alterAndShow waits until the change is visible: Kafka answers before that.
func (c *conn) alterAndShow(t topic, show string, req *kmsg.IncrementalAlterConfigsRequest) string {
	c.t.Helper()
	got := c.alter(req)
	if got == "OK" && !c.to.korvet {
		c.settle(t)
	}
	return got + ", " + c.setting(t, show)[len("OK "):]
}

// settle waits until a change that follows all before it is visible.
func (c *conn) settle(t topic) {
	c.t.Helper()
	c.alter(alterConfigs(1, topicResource, t.name, set("flush.ms", "12345")))
	c.eventually("change is visible", func() bool {
		return c.setting(t, "flush.ms") == "OK flush.ms=12345 DYNAMIC_TOPIC_CONFIG"
	})
}

func alteredTwice(c *conn) string {
	t := c.newTopic()
	req := alterConfigs(1, topicResource, t.name, set("retention.ms", "1"))
	req.Resources = append(req.Resources, req.Resources[0])
	return c.alter(req)
}

func alteredValidateOnly(c *conn) string {
	t := c.newTopic()
	req := alterConfigs(1, topicResource, t.name, set("retention.ms", "1"))
	req.ValidateOnly = true
	return c.alterAndShow(t, "retention.ms", req)
}

func alteredResource(kind kmsg.ConfigResourceType, name string, changes ...change) func(*conn) string {
	return func(c *conn) string { return c.alter(alterConfigs(1, kind, name, changes...)) }
}

// alteredBroker only validates.
func alteredBroker(setting string) func(*conn) string {
	return func(c *conn) string {
		id := fmt.Sprint(c.metadata(12).Brokers[0].NodeID)
		req := alterConfigs(1, brokerResource, id, set(setting, "1000"))
		req.ValidateOnly = true
		return c.alter(req)
	}
}

func alteredLimit(c *conn) string {
	t := c.newTopic("max.message.bytes=1024")
	big := produceTo(9, t, -1, sized(2000))
	s := c.produced(big) + ", then "
	c.alter(alterConfigs(1, topicResource, t.name, set("max.message.bytes", "4096")))
	if !c.to.korvet {
		c.settle(t)
	}
	return s + c.produced(big)
}

func alterConfigsRows() []row {
	return []row{
		{name: "what is not named goes back to its default", do: alteredFully, want: "OK, retention.ms=604800000 DEFAULT_CONFIG, cleanup.policy=compact DYNAMIC_TOPIC_CONFIG"},
		{name: "null value", do: alteredFullyChanged(func(r *kmsg.AlterConfigsRequestResource) { r.Configs[0].Value = nil }), want: "INVALID_REQUEST"},
		{name: "a setting twice", do: alteredFullyChanged(func(r *kmsg.AlterConfigsRequestResource) { r.Configs = append(r.Configs, r.Configs[0]) }), want: "INVALID_REQUEST"},
		{name: "unknown setting", do: alteredFullyUnknown, want: "INVALID_CONFIG, retention.ms=1000 DYNAMIC_TOPIC_CONFIG"},
	}
}

func alterConfigsFully(version int16, t topic, name, value string) *kmsg.AlterConfigsRequest {
	config := kmsg.NewAlterConfigsRequestResourceConfig()
	config.Name, config.Value = name, &value
	r := kmsg.NewAlterConfigsRequestResource()
	r.ResourceType, r.ResourceName = topicResource, t.name
	r.Configs = append(r.Configs, config)
	req := kmsg.NewPtrAlterConfigsRequest()
	req.Version = version
	req.Resources = append(req.Resources, r)
	return req
}

func alteredFully(c *conn) string {
	t := c.newTopic("retention.ms=1000")
	got := ask[*kmsg.AlterConfigsResponse](c, alterConfigsFully(1, t, "cleanup.policy", "compact")).Resources[0]
	if !c.to.korvet {
		c.settle(t)
	}
	return code(got.ErrorCode) + ", " + c.setting(t, "retention.ms")[len("OK "):] + ", " + c.setting(t, "cleanup.policy")[len("OK "):]
}

func alteredFullyChanged(change func(*kmsg.AlterConfigsRequestResource)) func(*conn) string {
	return func(c *conn) string {
		req := alterConfigsFully(1, c.newTopic(), "retention.ms", "5")
		change(&req.Resources[0])
		return code(ask[*kmsg.AlterConfigsResponse](c, req).Resources[0].ErrorCode)
	}
}

func alteredFullyUnknown(c *conn) string {
	t := c.newTopic("retention.ms=1000")
	got := ask[*kmsg.AlterConfigsResponse](c, alterConfigsFully(1, t, "no.such.setting", "1")).Resources[0]
	return code(got.ErrorCode) + ", " + c.setting(t, "retention.ms")[len("OK "):]
}

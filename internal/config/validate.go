package config

import (
	"fmt"
	"strings"
)

// Validate returns what is wrong between settings that are right one by one.
func (c *Config) Validate() Problems {
	var problems Problems
	add := func(wrong bool, name string, value any, message string) {
		if wrong {
			problems = append(problems, Problem{Name: name, Value: fmt.Sprint(value), Origin: "effective", Message: message})
		}
	}
	b := &c.Broker
	add(b.ResumePendingBytes > b.MaxPendingBytes, "korvet.broker.resume-pending-bytes", formatBytes(int64(b.ResumePendingBytes)),
		"must not exceed korvet.broker.max-pending-bytes, "+formatBytes(int64(b.MaxPendingBytes)))
	add(b.StaleAfter < 2*b.HeartbeatInterval, "korvet.broker.stale-after", b.StaleAfter,
		fmt.Sprintf("must be at least twice korvet.broker.heartbeat-interval, %v", b.HeartbeatInterval))
	add(b.Port != 0 && b.Port == c.HTTP.Port, "korvet.http.port", c.HTTP.Port, "must differ from korvet.broker.port")
	w := &c.Storage.Worker
	add(w.Lease <= w.Tick, "korvet.storage.worker.lease-duration", w.Lease, fmt.Sprintf("must exceed korvet.storage.worker.tick-interval, %v", w.Tick))
	add(!b.Enabled && !w.Enabled, "korvet.storage.worker.enabled", w.Enabled, "must not be false with korvet.broker.enabled=false: nothing would run")
	g := &c.Groups
	add(g.MinSession > g.MaxSession, "korvet.broker.group-min-session-timeout-ms", g.MinSession,
		fmt.Sprintf("must not exceed korvet.broker.group-max-session-timeout-ms, %v", g.MaxSession))
	add(g.ConsumerHeartbeat >= g.ConsumerSession, "korvet.broker.group-consumer-heartbeat-interval-ms", g.ConsumerHeartbeat,
		fmt.Sprintf("must be below korvet.broker.group-consumer-session-timeout-ms, %v", g.ConsumerSession))
	r := &c.Storage.Remote
	add(r.Path != "" && strings.ContainsFunc(c.Namespace, notInFolder), "korvet.namespace", c.Namespace, "must be of letters, digits, -, _ and . with korvet.storage.remote.path: a folder there is called so")
	add(r.Path != "" && strings.Trim(c.Namespace, ".") == "", "korvet.namespace", c.Namespace, "must not be dots alone with korvet.storage.remote.path: a folder there is called so")
	add((r.S3.AccessKeyID == "") != (r.S3.SecretAccessKey == ""), "korvet.storage.remote.s3.access-key-id", mask, "must be set together with korvet.storage.remote.s3.secret-access-key")
	k := &r.Catalog
	add(k.Type != "korvet" && k.Type != "glue" && k.URI == "", "korvet.storage.remote.catalog.uri", "", "must be set with korvet.storage.remote.catalog.type="+k.Type)
	add(k.Type == "korvet" && k.URI != "", "korvet.storage.remote.catalog.uri", mask, "is of another catalog, and korvet.storage.remote.catalog.type is korvet")
	add(strings.ContainsFunc(k.Properties, isControl) || !properties(k.Properties), "korvet.storage.remote.catalog.properties", mask, "must be name=value,name=value")
	v := &r.Catalog.Vended
	add((v.AccessKeyID == "") != (v.SecretAccessKey == ""), "korvet.storage.remote.catalog.vended.access-key-id", mask, "must be set together with korvet.storage.remote.catalog.vended.secret-access-key")
	add(v.AccessKeyID != "" && v.AccessKeyID == r.S3.AccessKeyID, "korvet.storage.remote.catalog.vended.access-key-id", mask, "must not be the broker's own key, korvet.storage.remote.s3.access-key-id: whoever reads tables could change and delete them")
	for n, p := range c.Topics {
		add(r.Path == "" && p.Configs["remote.storage.enable"] == "true", fmt.Sprintf("%s[%d].remote-storage-enabled", topicsName, n), true, "needs korvet.storage.remote.path")
	}
	return problems
}

func notInFolder(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_' && r != '.'
}

func isControl(r rune) bool { return r < ' ' }

// properties tells whether text is name=value, by commas.
func properties(text string) bool {
	for part := range strings.SplitSeq(text, ",") {
		if name, _, ok := strings.Cut(part, "="); text != "" && (!ok || strings.TrimSpace(name) == "") {
			return false
		}
	}
	return true
}

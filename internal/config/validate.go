package config

import "fmt"

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
	return problems
}

package redischeck

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// visible tells of an INFO that is refused, without which a broker does not start.
func visible(f Facts, _ Use) []Finding {
	if f.InfoErr == nil {
		return nil
	}
	return one(Finding{Check: "info", Level: Error, Seen: "cannot see it: INFO is refused (" + f.InfoErr.Error() + ")",
		Why: "a broker learns from INFO which Redis it talks to and whether it keeps what it is given", Cure: "let its user run INFO: ACL SETUSER <user> +info"})
}

// settings tells of a CONFIG that is refused: the checks that need it say nothing.
func settings(f Facts, _ Use) []Finding {
	if f.ConfigErr == nil {
		return nil
	}
	return one(Finding{Check: "config", Level: Warning, Seen: "cannot see its settings: CONFIG GET is refused (" + f.ConfigErr.Error() + ")",
		Why:  "a managed Redis, or a user without the right, hides them: " + strings.Join(configNames[:], ", ") + " were not checked",
		Cure: "look them up where it is managed, or check once as a user that may run CONFIG"})
}

// version wants a Redis that has every command, or a Valkey.
func version(f Facts, _ Use) []Finding {
	product, number := "Redis", f.Info["redis_version"]
	if v := f.Info["valkey_version"]; v != "" {
		product, number = "Valkey", v
	}
	found := Finding{Check: "version", Level: OK, Seen: product + " " + number}
	switch {
	case number == "":
		found.Level, found.Seen = Warning, "cannot see its version"
		found.Why = "6.2 or later is needed"
	case f.Info["dragonfly_version"] != "":
		found.Level, found.Seen = Error, "Dragonfly "+f.Info["dragonfly_version"]
		found.Why = "a batch must be appended whole or not at all, and its EXEC was reported to stop halfway when memory ends"
		found.Cure = "use Redis 6.2.14 or later, or Valkey"
	case product == "Redis" && older(number, 6, 2, 0):
		found.Level = Error
		found.Why = "it is too old: 6.2 or later is needed"
		found.Cure = "use 6.2.14 or later"
	case product == "Redis" && older(number, 6, 2, 14):
		found.Level = Warning
		found.Why = "korvet is tested with 6.2.14 and later: earlier 6.2 releases have bugs in streams"
		found.Cure = "use 6.2.14 or later"
	}
	return one(found)
}

// older compares a dotted version. What is no number counts as new.
func older(version string, than ...int) bool {
	for i, part := range strings.SplitN(version, ".", len(than)) {
		n, err := strconv.Atoi(part)
		if err != nil {
			return false
		}
		if n != than[i] {
			return n < than[i]
		}
	}
	return false
}

// trims tells of a Redis that removes more than it is told to.
func trims(f Facts, _ Use) []Finding {
	switch f.Trims {
	case "":
		return nil
	case trimsRight:
		return one(Finding{Check: "trims", Level: OK, Seen: "XTRIM MINID removes what it is told to"})
	}
	return one(Finding{Check: "trims", Level: Error, Seen: fmt.Sprintf("it trims streams wrongly: XTRIM MINID removed and left %s instead of %s entries", f.Trims, trimsRight),
		Why: "retention would remove records that are to stay", Cure: "use 6.2.14 or later"})
}

// untried tells that the trial of trims was refused. The version is judged all the same.
func untried(f Facts, _ Use) []Finding {
	if f.TrimsErr == nil {
		return nil
	}
	return one(Finding{Check: "trims", Level: Warning, Seen: "cannot see how it trims: " + f.TrimsErr.Error(),
		Why: "the trial writes to a stream of its own for a moment, and that was refused"})
}

// role wants a master outside of a cluster.
func role(f Facts, _ Use) []Finding {
	mode := f.Info["redis_mode"]
	if mode == "" {
		mode = f.Info["server_mode"]
	}
	switch {
	case mode == "sentinel":
		return one(Finding{Check: "role", Level: Error, Seen: "it is a Sentinel", Why: "it holds no data", Cure: "name the master in korvet.redis.uri"})
	case mode == "cluster" || f.Info["cluster_enabled"] == "1":
		return one(Finding{Check: "role", Level: Error, Seen: "it is a node of a cluster", Why: "this version of korvet does not go by slots", Cure: "use a Redis without cluster-enabled"})
	case f.Info["role"] == "slave":
		return one(Finding{Check: "role", Level: Error, Seen: "it is a replica of " + f.Info["master_host"] + ":" + f.Info["master_port"], Why: "it refuses writes", Cure: "name the master in korvet.redis.uri, or a name that follows it"})
	case f.Info["loading"] == "1":
		return one(Finding{Check: "role", Level: Warning, Seen: "it is loading its data", Why: "until it is done nothing can be read or written"})
	}
	return one(Finding{Check: "role", Level: OK, Seen: "it is a master"})
}

// replicas compares those that are there with those that korvet and Redis were told of.
func replicas(f Facts, u Use) []Finding {
	connected := int(f.number("connected_slaves"))
	needed, _ := f.setting("min-replicas-to-write")
	seen := fmt.Sprintf("%d connected, korvet.redis.replicas is %d", connected, u.Replicas)
	switch {
	case needed > int64(connected):
		return one(Finding{Check: "replicas", Level: Error, Seen: fmt.Sprintf("%d connected, min-replicas-to-write is %d", connected, needed),
			Why: "it refuses every append (NOREPLICAS) while they are missing", Cure: "bring the replicas back, or", Settings: []string{"min-replicas-to-write " + strconv.Itoa(connected)}})
	case connected < u.Replicas:
		return one(Finding{Check: "replicas", Level: Warning, Seen: seen,
			Why: "topics with min.insync.replicas above " + strconv.Itoa(connected+1) + " refuse acks=all", Cure: "bring the replicas back, or lower korvet.redis.replicas"})
	case connected > u.Replicas && u.Messages:
		return one(Finding{Check: "replicas", Level: OK, Seen: seen,
			Why: "acks=all does not wait for replicas: what they have not received is lost when one is promoted", Cure: fmt.Sprintf("korvet.redis.replicas: %d and min.insync.replicas above 1 make it wait", connected)})
	}
	return one(Finding{Check: "replicas", Level: OK, Seen: seen})
}

// Above these the median round trip is told of: an append waits for one at least.
const (
	slowRoundTrip = 2 * time.Millisecond
	farRoundTrip  = 20 * time.Millisecond
)

func latency(f Facts, _ Use) []Finding {
	if len(f.RoundTrips) == 0 {
		return nil
	}
	sorted := slices.Sorted(slices.Values(f.RoundTrips))
	median, worst := sorted[len(sorted)/2], sorted[len(sorted)-1]
	found := Finding{Check: "latency", Level: OK, Seen: fmt.Sprintf("a round trip takes %.2f ms (median of %d), at most %.2f ms", ms(median), len(sorted), ms(worst))}
	switch {
	case median > farRoundTrip:
		found.Level, found.Cure = Warning, "run the brokers beside their Redis: this is another region's distance, or a Redis that is overloaded"
	case median > slowRoundTrip:
		found.Level, found.Cure = Warning, "run the brokers near their Redis; redis-cli --latency and SLOWLOG GET tell whether Redis itself is slow"
	}
	if found.Level == Warning {
		found.Why = "a produce request waits for one round trip at least, and a partition has one append in flight"
	}
	return one(found)
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// clients looks at what ends connections, and at how many there may be.
func clients(f Facts, _ Use) []Finding {
	var found []Finding
	if idle, known := f.setting("timeout"); known && idle > 0 {
		found = append(found, Finding{Check: "timeout", Level: Warning, Seen: fmt.Sprintf("idle connections are closed after %d s", idle),
			Why: "brokers connect anew, and every partition fences again before its next append", Settings: []string{"timeout 0"}})
	}
	if keepalive, known := f.setting("tcp-keepalive"); known && keepalive == 0 {
		found = append(found, Finding{Check: "tcp-keepalive", Level: Warning, Seen: "connections of machines that are gone are kept",
			Why: "firewalls drop silent connections unseen, and those of dead brokers count until maxclients is reached", Settings: []string{"tcp-keepalive 300"}})
	}
	if most, now := f.number("maxclients"), f.number("connected_clients"); most > 0 && now*10 >= most*9 {
		found = append(found, Finding{Check: "maxclients", Level: Warning, Seen: fmt.Sprintf("%d of %d connections are in use", now, most),
			Why: "a broker that gets none cannot serve", Settings: []string{fmt.Sprintf("maxclients %d", 2*most)}})
	}
	if len(found) == 0 && len(f.Config) > 0 {
		return one(Finding{Check: "connections", Level: OK, Seen: fmt.Sprintf("%d of %d, idle ones stay", f.number("connected_clients"), f.number("maxclients"))})
	}
	return found
}

package redischeck

import (
	"fmt"
	"strconv"
	"strings"
)

const mib = 1 << 20

// eviction wants a Redis that keeps keys without a time to live.
func eviction(f Facts, _ Use) []Finding {
	policy := f.Info["maxmemory_policy"]
	found := Finding{Check: "eviction", Level: OK, Seen: "maxmemory-policy is " + policy}
	evicted := f.number("evicted_keys")
	switch {
	case policy == "":
		found.Level, found.Seen = Warning, "cannot see maxmemory-policy"
		found.Why = "allkeys-* would evict whole streams when memory ends"
		found.Cure = "make sure that it is noeviction"
	case strings.HasPrefix(policy, "allkeys-"):
		found.Level = Error
		found.Why = "when memory ends it evicts whole streams: acknowledged records"
		found.Settings = []string{"maxmemory-policy noeviction"}
	case evicted > 0:
		found.Level, found.Seen = Warning, fmt.Sprintf("maxmemory-policy is %s now, %d keys were evicted since it started", policy, evicted)
		found.Why = "with an earlier policy of allkeys-* some of them may have been streams"
	}
	return one(found)
}

// memory wants a limit that is known, and room below it.
func memory(f Facts, _ Use) []Finding {
	limit, used, total := f.number("maxmemory"), f.number("used_memory"), f.number("total_system_memory")
	if _, told := f.Info["maxmemory"]; !told {
		return one(Finding{Check: "maxmemory", Level: Warning, Seen: "cannot see maxmemory", Why: "at the limit appends are refused; without one the system kills Redis when memory ends"})
	}
	found := Finding{Check: "maxmemory", Level: OK, Seen: fmt.Sprintf("%s of %s are used", size(used), size(limit))}
	suggested := "maxmemory 4gb"
	if total > 0 {
		suggested = fmt.Sprintf("maxmemory %dmb", max(64, total*6/10/mib))
	}
	switch {
	case limit == 0:
		found.Level, found.Seen = Warning, fmt.Sprintf("no maxmemory, %s are used", size(used))
		found.Why = "it grows until the system kills it. At a limit appends are refused, reads and retention go on, and nothing is lost"
		found.Cure = "leave room for the fork of snapshots and AOF rewrites: at most 60 % of the machine's or container's memory"
		found.Settings = []string{suggested}
	case used >= limit:
		found.Level, found.Why = Error, "it is full: appends are refused until retention or somebody frees memory"
		found.Cure = "raise maxmemory, or lower retention.ms and retention.bytes, or trim topics (korvet topics trim)"
	case used*10 >= limit*9:
		found.Level, found.Why = Warning, "above the limit appends are refused"
		found.Cure = "raise maxmemory, or lower retention.ms and retention.bytes, or trim topics (korvet topics trim)"
	case total > 0 && limit > total:
		found.Level, found.Seen = Warning, fmt.Sprintf("maxmemory is %s, the machine has %s", size(limit), size(total))
		found.Why = "the system kills Redis before the limit is reached"
		found.Settings = []string{suggested}
	}
	return one(found)
}

// fragmentation looks at memory that is lost to the allocator or to the swap, once there is enough to judge.
func fragmentation(f Facts, _ Use) []Finding {
	ratio, err := strconv.ParseFloat(f.Info["mem_fragmentation_ratio"], 64)
	used := f.number("used_memory")
	if err != nil || used < 64*mib {
		return nil
	}
	found := Finding{Check: "fragmentation", Level: OK, Seen: fmt.Sprintf("%.2f bytes of memory are taken for each one in use", ratio)}
	switch {
	case ratio > 1.5:
		found.Level, found.Why = Warning, "the rest is in holes between keys, or was freed and is not given back yet"
		found.Cure = "where Redis was built with jemalloc"
		found.Settings = []string{"activedefrag yes"}
	case ratio < 0.9:
		found.Level, found.Why = Warning, "a part is swapped out: reading it stops everybody"
		found.Cure = "give it more memory, or lower maxmemory"
	}
	return one(found)
}

// Limits of a stream's nodes: see nodes.
const (
	bestNodeBytes   = 16384
	bestNodeEntries = 1000
	slowNodeBytes   = 65536
)

// nodes looks at how many records share a node of a stream. Measured: 16384 bytes and 1000 entries take 10 to 18 % less
// memory than the defaults for records compressed with a dictionary; at 65536 bytes the read of one entry takes three
// times as long.
func nodes(f Facts, u Use) []Finding {
	bytes, known := f.setting("stream-node-max-bytes")
	entries, knownToo := f.setting("stream-node-max-entries")
	if !u.Messages || !known || !knownToo {
		return nil
	}
	best := []string{"stream-node-max-bytes " + strconv.Itoa(bestNodeBytes), "stream-node-max-entries " + strconv.Itoa(bestNodeEntries)}
	found := Finding{Check: "stream nodes", Level: OK, Seen: fmt.Sprintf("at most %d bytes and %d entries in a node of a stream", bytes, entries)}
	switch {
	case bytes == 0 || bytes >= slowNodeBytes:
		found.Level, found.Why = Warning, "a node is read as a whole: with 65536 bytes the read of a single record takes three times as long"
		found.Settings = best
	case bytes < 4096:
		found.Level, found.Why = Warning, "every node has an overhead: small ones take more memory"
		found.Settings = best
	case bytes < bestNodeBytes || entries > 0 && entries < bestNodeEntries:
		found.Why = "larger nodes take 10 to 18 % less memory for small or compressed records; the setting counts for what is appended after it"
		found.Settings = best
	}
	return one(found)
}

// forks looks at what stops Redis for a moment when it writes a snapshot or a new append-only file.
func forks(f Facts, _ Use) []Finding {
	var found []Finding
	if f.Config["disable-thp"] == "no" {
		found = append(found, Finding{Check: "huge pages", Level: Warning, Seen: "transparent huge pages are not switched off (disable-thp no)",
			Why: "after a fork each write copies 2 MB instead of 4 KB: appends stall and memory grows while a snapshot or AOF rewrite runs", Cure: "it takes effect at the next start", Settings: []string{"disable-thp yes"}})
	}
	if took := f.number("latest_fork_usec"); took > 200_000 {
		found = append(found, Finding{Check: "fork", Level: Warning, Seen: fmt.Sprintf("the last fork stopped it for %d ms", took/1000),
			Why: "every snapshot and AOF rewrite does so", Cure: "use smaller instances, switch huge pages off, and save snapshots less often"})
	}
	if waiting := f.number("lazyfree_pending_objects"); waiting > 10_000 {
		found = append(found, Finding{Check: "lazyfree", Level: Warning, Seen: fmt.Sprintf("%d objects wait to be freed", waiting),
			Why: "segments are dropped with UNLINK, in the background, which lags behind here: memory comes back later"})
	}
	return found
}

// size writes bytes for people.
func size(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= mib:
		return fmt.Sprintf("%.1f MiB", float64(n)/mib)
	}
	return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
}

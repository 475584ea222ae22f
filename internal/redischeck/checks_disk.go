package redischeck

import "fmt"

// persistence tells what a stop of Redis loses (docs/durability.md).
func persistence(f Facts, _ Use) []Finding {
	aof, told := f.Info["aof_enabled"]
	found := Finding{Check: "persistence", Level: OK}
	fsync := f.Config["appendfsync"]
	switch {
	case !told:
		found.Level, found.Seen = Warning, "cannot see whether there is an append-only file"
		found.Why = "without one, what it acknowledged since its last snapshot is lost when it stops"
	case aof == "0":
		found.Level, found.Seen = Warning, "no append-only file"
		if save, known := f.Config["save"]; known && save == "" {
			found.Seen = "neither an append-only file nor snapshots"
		}
		found.Why = "what it acknowledged since its last snapshot is lost when it stops"
		found.Settings = []string{"appendonly yes", "appendfsync everysec"}
	case fsync == "no":
		found.Level, found.Seen = Warning, "append-only file, appendfsync no"
		found.Why = "a power cut loses what the system had not written yet, half a minute or more"
		found.Settings = []string{"appendfsync everysec"}
	case fsync == "always" && f.Config["no-appendfsync-on-rewrite"] == "yes":
		found.Level, found.Seen = Warning, "append-only file, appendfsync always, but not while it is rewritten (no-appendfsync-on-rewrite yes)"
		found.Why = "a power cut during a rewrite or a snapshot loses acknowledged records"
		found.Settings = []string{"no-appendfsync-on-rewrite no"}
	case fsync == "everysec":
		found.Seen = "append-only file, appendfsync everysec: a crash or power cut loses at most two seconds"
	case fsync == "always":
		found.Seen = "append-only file, appendfsync always: neither a crash nor a power cut loses anything"
	default:
		found.Seen = "append-only file"
	}
	return one(found)
}

// disk tells of writes to it that failed or were too slow.
func disk(f Facts, _ Use) []Finding {
	var found []Finding
	bad := func(level Level, seen, why, cure string) {
		found = append(found, Finding{Check: "disk", Level: level, Seen: seen, Why: why, Cure: cure})
	}
	const look = "look at Redis's log and the free space of its disk; "
	if s := f.Info["aof_last_write_status"]; s != "" && s != "ok" {
		bad(Error, "the last write to the append-only file failed", "it refuses every append (MISCONF) until that works again", look+"it tries again by itself")
	}
	if s := f.Info["rdb_last_bgsave_status"]; s != "" && s != "ok" {
		bad(Error, "the last snapshot failed", "with stop-writes-on-bgsave-error, the default, it refuses every append (MISCONF) until one works", look+"then BGSAVE. Where fork fails for want of memory: sysctl vm.overcommit_memory=1")
	}
	if s := f.Info["aof_last_bgrewrite_status"]; s != "" && s != "ok" {
		bad(Warning, "the last rewrite of the append-only file failed", "the file grows until one works, and a start takes longer", look+"then BGREWRITEAOF")
	}
	if n := f.number("aof_delayed_fsync"); n > 0 {
		bad(Warning, fmt.Sprintf("appends waited %d times for the disk", n), "with appendfsync everysec writes stop while a sync takes longer than two seconds", "use a faster disk, or one that nobody else uses")
	}
	return found
}

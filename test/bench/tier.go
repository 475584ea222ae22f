package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/korvet-io/korvet/test/bench/load"
)

// The tier measure is about korvet alone: how fast records are copied into a topic's table, and what consumers of them get that
// Redis does not have any more, against the same from the tail cache and from Redis.

const (
	tierSize = 100 // bytes of a record's value
	// tierSeeks is how many fetches at random offsets are timed.
	tierSeeks = 200
	// tierPatience bounds how long records may take to leave Redis.
	tierPatience = 5 * time.Minute
	// tierSegment is the size of segments: the last one stays in Redis.
	tierSegment = "16777216"
)

// runTier measures the tier in rounds.
func (r *runner) runTier(ctx context.Context) error {
	if !r.wanted["tier"] || r.korvet == nil {
		return nil
	}
	path := r.TierPath
	if path == "" {
		path = "file://" + filepath.Join(r.dir, "tier")
	}
	before := r.korvet.Settings
	defer func() { r.korvet.Settings = before }()
	for round := -r.Warmup; round < r.Rounds; round++ {
		place := fmt.Sprintf("%s/%d", path, round+r.Warmup) // an empty Redis over the tables of another is refused
		r.korvet.Settings = append(slices.Clone(before), quickWorker, "--korvet.storage.worker.lease-duration=5s", "--korvet.storage.remote.path="+place,
			"--korvet.broker.tail-cache-bytes=1GB")
		err := r.visitGroups(ctx, r.korvet, round >= 0, func(m *measurement, ctx context.Context) error {
			return m.tiers(ctx, round+r.Warmup)
		})
		if err != nil {
			return fmt.Errorf("round %d, tier: %w", round, err)
		}
	}
	return nil
}

// tiers takes one log through the tiers, and reads it in each.
func (m *measurement) tiers(ctx context.Context, round int) error {
	records := m.StorageVolume / 5 / tierSize
	return m.withStored(ctx, func(topic string) error {
		spec := m.storageSpec("produce", topic, records)
		spec.RecordSize = tierSize
		if _, err := m.client(ctx, "fill", spec); err != nil {
			return err
		}
		tail, err := m.readTier(ctx, "tail", spec, false)
		if err != nil {
			return err
		}
		if _, err := m.readTier(ctx, "redis", spec, true); err != nil {
			return err
		}
		end, err := m.copyTier(ctx, topic)
		if err != nil {
			return err
		}
		cold, err := m.readTier(ctx, "cold", spec, true)
		if err != nil {
			return err
		}
		m.add("tier.read.ratio", cold/tail)
		if err := m.seekTier(ctx, topic, end); err != nil {
			return err
		}
		return m.besideTier(ctx, spec, round)
	}, "segment.bytes", tierSegment, "retention.ms", "-1", "local.retention.ms", "1")
}

// readTier reads the log from its beginning; cold: after a restart.
func (m *measurement) readTier(ctx context.Context, where string, spec load.Spec, cold bool) (float64, error) {
	if cold {
		if err := m.system.Cold(ctx); err != nil {
			return 0, err
		}
	}
	spec.Role = "consume"
	result, err := m.client(ctx, "tier: read, "+where, spec)
	m.add("tier.read."+where, result.ConsumedPerSecond)
	return result.ConsumedPerSecond, err
}

// copyTier turns the tier on, and waits until all sealed segments have left Redis. It returns the end of what the table has.
func (m *measurement) copyTier(ctx context.Context, topic string) (end int64, err error) {
	m.progress("%-7s tier     copy", m.name)
	before, err := m.archived(ctx)
	if err != nil {
		return 0, err
	}
	if err := load.AlterTopic(ctx, m.system.Address(), topic, "remote.storage.enable", "true"); err != nil {
		return 0, err
	}
	for deadline := time.Now().Add(tierPatience); ; {
		last, err := load.Offset(ctx, m.system.Address(), topic, load.LatestTiered)
		if err != nil {
			return 0, err
		}
		local, err := load.Offset(ctx, m.system.Address(), topic, load.EarliestLocal)
		if err != nil {
			return 0, err
		}
		lag, err := m.counter(ctx, "korvet_storage_archive_lag_segments")
		if err != nil && !errors.Is(err, errNoMetric) {
			return 0, err
		}
		if end = last + 1; end > 0 && local >= end && lag == 0 {
			break
		}
		if time.Now().After(deadline) {
			return 0, fmt.Errorf("topic %s has not left Redis within %v: the table ends at %d, Redis begins at %d", topic, tierPatience, end, local)
		}
		if err := wait(ctx, 100*time.Millisecond); err != nil {
			return 0, err
		}
	}
	after, err := m.archived(ctx)
	if err != nil {
		return 0, err
	}
	m.add("tier.copy", float64(end)/(after-before))
	return end, nil
}

// archived is how long the writing of data files has taken so far, in seconds.
func (m *measurement) archived(ctx context.Context) (float64, error) {
	took, err := m.counter(ctx, "korvet_storage_archive_seconds_sum")
	if errors.Is(err, errNoMetric) {
		return 0, nil
	}
	return took, err
}

// seekTier times fetches at random offsets: after a restart, when nothing is known of the files, and again.
func (m *measurement) seekTier(ctx context.Context, topic string, end int64) error {
	if err := m.system.Cold(ctx); err != nil {
		return err
	}
	for _, state := range []string{"first", "again"} {
		m.progress("%-7s tier     seeks, %s", m.name, state)
		took, err := load.Seeks(ctx, m.system.Address(), topic, end, tierSeeks)
		if err != nil {
			return err
		}
		m.add("tier.seek."+state+".p50", took.P50)
		m.add("tier.seek."+state+".p99", took.P99)
	}
	return nil
}

// besideTier takes the latency of acknowledgements at a part of the broker's capacity: without the tier, while what is produced
// is copied and dropped, while one consumer reads the old log from the table, too, as many records a second as are produced, and
// while it reads as fast as it can.
func (m *measurement) besideTier(ctx context.Context, old load.Spec, round int) error {
	capacity, err := m.storedCapacity(ctx)
	if err != nil {
		return err
	}
	p99 := map[string]float64{}
	for _, name := range rotated([]string{"quiet", "copied", "busy", "flatout"}, round) {
		settings := []string{"segment.bytes", "4194304"}
		if name != "quiet" {
			settings = append(settings, "remote.storage.enable", "true", "local.retention.ms", "1")
		}
		err := m.withStored(ctx, func(topic string) error {
			rate := storagePart * capacity
			spec := m.storageSpec("produce", topic, int(rate*(m.StorageFor.Seconds()+1)))
			spec.Rate, spec.StampEvery = rate, max(1, int(rate/2000))
			spec.Unmeasured = int(rate) / spec.StampEvery
			stop := func() error { return nil }
			switch name {
			case "busy":
				stop = readAgain(ctx, old, rate)
			case "flatout":
				stop = readAgain(ctx, old, 0)
			}
			result, err := m.client(ctx, fmt.Sprintf("tier: %.0f records/s, %s", rate, name), spec)
			m.add("tier."+name+".ack.p50", result.Acknowledged.P50)
			m.add("tier."+name+".ack.p99", result.Acknowledged.P99)
			p99[name] = result.Acknowledged.P99
			return errors.Join(err, stop())
		}, settings...)
		if err != nil {
			return err
		}
	}
	m.add("tier.copied.ratio", p99["copied"]/p99["quiet"])
	m.add("tier.p99.ratio", p99["busy"]/p99["quiet"])
	m.add("tier.flatout.ratio", p99["flatout"]/p99["quiet"])
	return nil
}

// readAgain reads a log over and over until it is stopped, so many records a second; 0: as fast as it goes.
func readAgain(ctx context.Context, spec load.Spec, rate float64) (stop func() error) {
	reading, cancel := context.WithCancel(ctx)
	spec.Role, spec.Rate = "consume", rate
	done := make(chan error, 1)
	go func() {
		var err error
		for err == nil {
			_, err = load.Run(reading, spec)
		}
		if reading.Err() != nil {
			err = nil
		}
		done <- err
	}()
	return func() error {
		cancel()
		return <-done
	}
}

// tierMetrics lists what the tier measure records.
func tierMetrics() []metric {
	return []metric{
		{"tier.copy", "tier: copying one partition of 100 B, records by the time of data files", perSecond, false},
		{"tier.read.tail", "tier: read 100 B from the tail cache", perSecond, false},
		{"tier.read.redis", "tier: read 100 B from Redis", perSecond, false},
		{"tier.read.cold", "tier: read 100 B from the table", perSecond, false},
		{"tier.read.ratio", "tier: read from the table, of the tail cache's rate", count, false},
		{"tier.seek.first.p50", "tier: fetch at a random cold offset after a restart, p50", milliseconds, false},
		{"tier.seek.first.p99", "tier: fetch at a random cold offset after a restart, p99", milliseconds, false},
		{"tier.seek.again.p50", "tier: fetch at a random cold offset again, p50", milliseconds, false},
		{"tier.seek.again.p99", "tier: fetch at a random cold offset again, p99", milliseconds, false},
		{"tier.quiet.ack.p50", "tier: acknowledgement p50 at 30 % of capacity, no tier", milliseconds, false},
		{"tier.copied.ack.p50", "tier: acknowledgement p50 at 30 % of capacity, copying", milliseconds, false},
		{"tier.copied.ack.p99", "tier: acknowledgement p99 at 30 % of capacity, copying", milliseconds, false},
		{"tier.copied.ratio", "tier: p99 with copying, of that without", count, false},
		{"tier.busy.ack.p50", "tier: acknowledgement p50 at 30 % of capacity, copying and one cold reader", milliseconds, false},
		{"tier.quiet.ack.p99", "tier: acknowledgement p99 at 30 % of capacity, no tier", milliseconds, false},
		{"tier.busy.ack.p99", "tier: acknowledgement p99 at 30 % of capacity, copying and one cold reader", milliseconds, false},
		{"tier.p99.ratio", "tier: p99 with copying and a cold reader, of that without", count, false},
		{"tier.flatout.ack.p99", "tier: acknowledgement p99 at 30 % of capacity, copying and one cold reader as fast as it can", milliseconds, false},
		{"tier.flatout.ratio", "tier: p99 with copying and a cold reader as fast as it can, of that without", count, false},
	}
}

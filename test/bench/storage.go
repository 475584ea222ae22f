package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/korvet-io/korvet/test/bench/load"
	"github.com/korvet-io/korvet/test/bench/rawredis"
)

// The storage measure is about korvet alone: what segments, values at rest and the storage worker cost, each against the same
// without, in turns within a round.

const (
	storageSize = 1 << 10 // bytes of a record's value
	// storagePart is the part of its capacity that the broker is given while the worker is at work.
	storagePart = 0.3
	// compactedSize is the value's size of what is compacted, of which one in ten stays.
	compactedSize = 200
	// quickWorker has the worker look every second, so that it is at work within the seconds of a measure.
	quickWorker = "--korvet.storage.worker.tick-interval=1s"
)

// runStorage measures storage in rounds, in each of which the parts go through their variants in another order.
func (r *runner) runStorage(ctx context.Context) error {
	if !r.wanted["storage"] || r.korvet == nil {
		return nil
	}
	before := r.korvet.Settings
	r.korvet.Settings = append(slices.Clone(before), quickWorker)
	defer func() { r.korvet.Settings = before }()
	for round := -r.Warmup; round < r.Rounds; round++ {
		for _, part := range []func(*measurement, context.Context, int) error{
			(*measurement).besideWorker, (*measurement).acrossSegments, (*measurement).atRest, (*measurement).compaction,
		} {
			err := r.visitGroups(ctx, r.korvet, round >= 0, func(m *measurement, ctx context.Context) error { return part(m, ctx, round+r.Warmup) })
			if err != nil {
				return fmt.Errorf("round %d, storage: %w", round, err)
			}
		}
	}
	return nil
}

// storageSpec is a load of one producer or consumer on a topic of one partition.
func (m *measurement) storageSpec(role, topic string, records int) load.Spec {
	return load.Spec{
		Role: role, Address: m.system.Address(), Topic: topic, Partitions: 1, Producers: 1, Records: records, RecordSize: storageSize,
		Compressible: m.Compressible, Codec: m.Codec, Acks: m.Acks, Linger: 5 * time.Millisecond,
	}
}

// withStored calls do with a new topic of one partition and these settings, and deletes it afterwards.
func (m *measurement) withStored(ctx context.Context, do func(topic string) error, settings ...string) error {
	m.topics++
	topic := fmt.Sprintf("bench-%d", m.topics)
	all := map[string]*string{}
	for i := 0; i < len(settings); i += 2 {
		all[settings[i]] = &settings[i+1]
	}
	if err := load.CreateTopic(ctx, m.system.Address(), topic, 1, all); err != nil {
		return err
	}
	if err := do(topic); err != nil {
		return err
	}
	return load.DeleteTopic(ctx, m.system.Address(), topic)
}

func (m *measurement) client(ctx context.Context, what string, spec load.Spec) (load.Result, error) {
	m.progress("%-7s storage  %s", m.name, what)
	return startClient(ctx, kafkaJob(spec))
}

// acrossSegments reads the same volume out of one stream and out of segments.
func (m *measurement) acrossSegments(ctx context.Context, round int) error {
	records, rates := m.StorageVolume/storageSize, map[string]float64{}
	for _, v := range rotated([]struct{ name, bytes string }{{"one", "-1"}, {"16m", "16777216"}, {"1m", "1048576"}}, round) {
		err := m.withStored(ctx, func(topic string) error {
			if _, err := m.client(ctx, "fill, segment.bytes="+v.bytes, m.storageSpec("produce", topic, records)); err != nil {
				return err
			}
			if err := m.system.Cold(ctx); err != nil {
				return err
			}
			result, err := m.client(ctx, "read, segment.bytes="+v.bytes, m.storageSpec("consume", topic, records))
			rates[v.name] = result.ConsumedPerSecond
			m.add("storage.read."+v.name, result.ConsumedPerSecond)
			return err
		}, "segment.bytes", v.bytes, "retention.ms", "-1")
		if err != nil {
			return err
		}
	}
	m.add("storage.read.16m.ratio", rates["16m"]/rates["one"])
	m.add("storage.read.1m.ratio", rates["1m"]/rates["one"])
	return nil
}

// atRest writes and reads structured JSON as it is and as zstd frames with a trained dictionary.
func (m *measurement) atRest(ctx context.Context, round int) error {
	produced, consumed := map[string]float64{}, map[string]float64{}
	records := m.StorageVolume / storageSize / 5
	for _, codec := range rotated([]string{"none", "zstd"}, round) {
		err := m.withStored(ctx, func(topic string) error {
			spec := m.storageSpec("produce", topic, 2_000)
			spec.JSON, spec.Linger = true, 10*time.Millisecond
			trained, err := m.train(ctx, topic, codec, spec)
			if err != nil {
				return err
			}
			spec.Records, spec.From = records, trained
			result, err := m.client(ctx, "produce JSON, "+codec, spec)
			if err != nil {
				return err
			}
			produced[codec] = result.ProducedPerSecond
			m.add("storage.json.produce."+codec, result.ProducedPerSecond)
			if err := m.system.Cold(ctx); err != nil {
				return err
			}
			spec.Role = "consume"
			result, err = m.client(ctx, "read JSON, "+codec, spec)
			consumed[codec] = result.ConsumedPerSecond
			m.add("storage.json.catchup."+codec, result.ConsumedPerSecond)
			return err
		}, "storage.compression.type", codec, "segment.bytes", "-1", "retention.ms", "-1")
		if err != nil {
			return err
		}
	}
	m.add("storage.json.produce.ratio", produced["zstd"]/produced["none"])
	m.add("storage.json.catchup.ratio", consumed["zstd"]/consumed["none"])
	return nil
}

// train writes records until the topic has a dictionary and uses it, and returns how many. Without a codec once is enough.
func (m *measurement) train(ctx context.Context, topic, codec string, spec load.Spec) (written int64, err error) {
	redis, err := rawredis.Dial(ctx, m.korvet.Redis.Address())
	if err != nil {
		return 0, err
	}
	defer redis.Close()
	for deadline := time.Now().Add(time.Minute); ; {
		if _, err := m.client(ctx, "train, "+codec, spec); err != nil {
			return 0, err
		}
		written += int64(spec.Records)
		used, err := redis.Do("EXISTS", "korvet:storage:zdict:{korvet:storage:local:"+topic+":0}")
		if err != nil {
			return 0, err
		}
		if codec == "none" || used == ":1" {
			return written, nil
		}
		if time.Now().After(deadline) {
			return 0, fmt.Errorf("topic %s uses no dictionary after %d records", topic, written)
		}
	}
}

// compaction lets a log be compacted that was written before, one record in ten being the newest of its key.
func (m *measurement) compaction(ctx context.Context, _ int) error {
	records := m.StorageVolume / storageSize / 5
	return m.withStored(ctx, func(topic string) error {
		spec := m.storageSpec("produce", topic, records)
		spec.RecordSize, spec.Keys = compactedSize, max(1, records/10)
		if _, err := m.client(ctx, "fill what is to be compacted", spec); err != nil {
			return err
		}
		if err := load.AlterTopic(ctx, m.system.Address(), topic, "cleanup.policy", "compact"); err != nil {
			return err
		}
		m.progress("%-7s storage  compaction", m.name)
		took, scanned := 0.0, 0.0
		for deadline := time.Now().Add(time.Minute); took == 0; {
			if err := wait(ctx, 50*time.Millisecond); err != nil {
				return err
			}
			var err error
			if took, err = m.counter(ctx, "korvet_storage_compaction_seconds_sum"); err != nil && !errors.Is(err, errNoMetric) {
				return err
			}
			if scanned, err = m.counter(ctx, "korvet_storage_compaction_scanned_records_total"); err != nil {
				return err
			}
			if time.Now().After(deadline) {
				return fmt.Errorf("topic %s was not compacted within a minute", topic)
			}
		}
		m.add("storage.compaction.rate", scanned/2/took) // a first pass looks at each twice
		return nil
	}, "segment.bytes", "-1", "retention.ms", "-1", "min.cleanable.dirty.ratio", "0.01")
}

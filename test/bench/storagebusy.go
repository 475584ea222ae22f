package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/korvet-io/korvet/test/bench/load"
	"github.com/korvet-io/korvet/test/bench/rawredis"
)

// besideRate is how many records a second go to each of the two topics beside the measured one, whether the worker works on
// them or not.
const besideRate = 1000

// workOf is what has the worker do something or nothing: settings of the measured topic, of one that is compacted and of one
// whose head is trimmed.
type workOf struct {
	name                      string
	measured, keyed, headless []string
}

var (
	idleWorker = workOf{
		"quiet", []string{"segment.bytes", "-1", "retention.ms", "-1"}, []string{"segment.bytes", "-1", "retention.ms", "-1"}, []string{"segment.bytes", "-1", "retention.ms", "-1"},
	}
	busyWorker = workOf{
		"busy", []string{"segment.bytes", "4194304", "retention.bytes", "16777216"},
		[]string{"cleanup.policy", "compact", "min.cleanable.dirty.ratio", "0.01"}, []string{"segment.bytes", "-1", "retention.bytes", "1048576"},
	}
)

// storedCapacity is how many records a second the broker takes while the storage worker has nothing to do.
func (m *measurement) storedCapacity(ctx context.Context) (perSecond float64, err error) {
	err = m.withStored(ctx, func(topic string) error {
		result, err := m.client(ctx, "capacity", m.storageSpec("produce", topic, m.StorageVolume/storageSize/5))
		perSecond = result.ProducedPerSecond
		return err
	}, "segment.bytes", "-1")
	return perSecond, err
}

// besideWorker takes the latency of acknowledgements at a part of the broker's capacity: once while the storage worker has
// nothing to do, and once while it seals and drops segments of 4 MiB, trims a stream and compacts a log.
func (m *measurement) besideWorker(ctx context.Context, round int) error {
	capacity, err := m.storedCapacity(ctx)
	if err != nil {
		return err
	}
	p99 := map[string]float64{}
	for _, work := range rotated([]workOf{idleWorker, busyWorker}, round) {
		result, err := m.paceBeside(ctx, work, storagePart*capacity)
		if err != nil {
			return err
		}
		m.add("storage."+work.name+".ack.p50", result.Acknowledged.P50)
		m.add("storage."+work.name+".ack.p99", result.Acknowledged.P99)
		p99[work.name] = result.Acknowledged.P99
	}
	m.add("storage.p99.ratio", p99["busy"]/p99["quiet"])
	return nil
}

// paceBeside produces at a rate to a topic, and a little to two others.
func (m *measurement) paceBeside(ctx context.Context, work workOf, rate float64) (result load.Result, err error) {
	before, err := m.worked(ctx)
	if err != nil {
		return result, err
	}
	seconds := m.StorageFor.Seconds() + 1
	err = m.withStored(ctx, func(topic string) error {
		return m.withStored(ctx, func(keyed string) error {
			return m.withStored(ctx, func(headless string) error {
				old := m.storageSpec("produce", keyed, m.StorageVolume/storageSize/10)
				old.RecordSize, old.Keys = compactedSize, 10_000
				if _, err := m.client(ctx, "fill what is beside, "+work.name, old); err != nil {
					return err
				}
				if err := m.slowlog(ctx); err != nil {
					return err
				}
				spec := m.storageSpec("produce", topic, int(rate*seconds))
				spec.Rate, spec.StampEvery = rate, max(1, int(rate/2000))
				spec.Unmeasured = int(rate) / spec.StampEvery
				beside := m.storageSpec("produce", keyed, int(besideRate*seconds))
				beside.Rate, beside.Keys = besideRate, 10_000
				trimmed := beside
				trimmed.Topic = headless
				errs := make(chan error, 2)
				for _, one := range []load.Spec{beside, trimmed} {
					go func() { _, err := load.Run(ctx, one); errs <- err }()
				}
				var err error
				result, err = m.client(ctx, fmt.Sprintf("%.0f records/s, worker %s", rate, work.name), spec)
				return errors.Join(err, <-errs, <-errs)
			}, work.headless...)
		}, work.keyed...)
	}, work.measured...)
	if err != nil || work.name != busyWorker.name {
		return result, err
	}
	after, err := m.worked(ctx)
	for i, name := range workerCounters {
		m.add("storage.worked."+name.short, after[i]-before[i])
		if err == nil && after[i] == before[i] {
			m.note("storage: the worker counts no %s: the ratio of p99 is about less than it says", name.metric)
		}
	}
	if err != nil {
		return result, err
	}
	return result, m.addSlowest(ctx)
}

// workerCounters tell that the worker was at work.
var workerCounters = []struct{ short, metric string }{
	{"dropped", "korvet_storage_worker_segments_dropped_total"}, {"trimmed", "korvet_storage_worker_records_trimmed_total"},
	{"compacted", "korvet_storage_compaction_removed_records_total"},
}

func (m *measurement) worked(ctx context.Context) ([]float64, error) {
	values := make([]float64, len(workerCounters))
	for i, c := range workerCounters {
		var err error
		if values[i], err = m.counter(ctx, c.metric); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// slowlog has Redis note the commands from now on that take more than a millisecond.
func (m *measurement) slowlog(ctx context.Context) error {
	redis, err := rawredis.Dial(ctx, m.korvet.Redis.Address())
	if err != nil {
		return err
	}
	defer redis.Close()
	for _, words := range [][]string{
		{"CONFIG", "SET", "slowlog-log-slower-than", "1000"}, {"CONFIG", "SET", "slowlog-max-len", "100000"}, {"SLOWLOG", "RESET"},
	} {
		if _, err := redis.Do(words...); err != nil {
			return err
		}
	}
	return nil
}

// slowest is run in Redis, since SLOWLOG's own answer is a deep one. Appends count by themselves: how many records they have is
// the producer's choice.
const slowest = `local most, over = 0, 0
for _, e in ipairs(redis.call('SLOWLOG', 'GET', 100000)) do
  local name = string.upper(e[4][1])
  if name ~= 'XADD' and name ~= 'SLOWLOG' then
    most = math.max(most, e[3])
    if e[3] > 5000 then over = over + 1 end
  end
end
return most .. ' ' .. over`

func (m *measurement) addSlowest(ctx context.Context) error {
	redis, err := rawredis.Dial(ctx, m.korvet.Redis.Address())
	if err != nil {
		return err
	}
	defer redis.Close()
	text, err := redis.Text("EVAL", slowest, "0")
	if err != nil {
		return fmt.Errorf("read SLOWLOG: %w", err)
	}
	most, over, _ := strings.Cut(text, " ")
	for name, value := range map[string]string{"storage.slowest": most, "storage.over": over} {
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return fmt.Errorf("read SLOWLOG: %q", text)
		}
		if name == "storage.slowest" {
			n /= 1000 // us
		}
		m.add(name, n)
	}
	return nil
}

// storageMetrics lists what the storage measure records.
func storageMetrics() []metric {
	return []metric{
		{"storage.quiet.ack.p50", "storage: acknowledgement p50 at 30 % of capacity, worker idle", milliseconds, false},
		{"storage.busy.ack.p50", "storage: acknowledgement p50 at 30 % of capacity, worker busy", milliseconds, false},
		{"storage.quiet.ack.p99", "storage: acknowledgement p99 at 30 % of capacity, worker idle", milliseconds, false},
		{"storage.busy.ack.p99", "storage: acknowledgement p99 at 30 % of capacity, worker busy", milliseconds, false},
		{"storage.p99.ratio", "storage: p99 with the worker busy, of that with it idle", count, false},
		{"storage.slowest", "storage: longest command of Redis but XADD meanwhile", milliseconds, false},
		{"storage.over", "storage: commands of Redis but XADD above 5 ms meanwhile", count, false},
		{"storage.worked.dropped", "storage: segments dropped meanwhile", count, true},
		{"storage.worked.trimmed", "storage: records trimmed meanwhile", count, true},
		{"storage.worked.compacted", "storage: records removed by compaction meanwhile", count, true},
		{"storage.read.one", "storage: read from one stream", perSecond, false},
		{"storage.read.16m", "storage: read over segments of 16 MiB", perSecond, false},
		{"storage.read.1m", "storage: read over segments of 1 MiB", perSecond, false},
		{"storage.read.16m.ratio", "storage: read over segments of 16 MiB, of one stream's rate", count, false},
		{"storage.read.1m.ratio", "storage: read over segments of 1 MiB, of one stream's rate", count, false},
		{"storage.json.produce.none", "storage: produce 1 KiB of JSON, plain", perSecond, false},
		{"storage.json.produce.zstd", "storage: produce 1 KiB of JSON, zstd with a dictionary", perSecond, false},
		{"storage.json.produce.ratio", "storage: produce JSON with zstd and dictionary, of the plain rate", count, false},
		{"storage.json.catchup.none", "storage: catch-up consume of 1 KiB of JSON, plain", perSecond, false},
		{"storage.json.catchup.zstd", "storage: catch-up consume of 1 KiB of JSON, zstd with a dictionary", perSecond, false},
		{"storage.json.catchup.ratio", "storage: catch-up of JSON with zstd and dictionary, of the plain rate", count, false},
		{"storage.compaction.rate", "storage: compaction, records of the log by a pass's time", perSecond, false},
	}
}

package readers_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/korvet-io/korvet/internal/iceberg/storetest"
	"github.com/korvet-io/korvet/test/harness"
)

// busyTopic is one whose table engines change all the time.
const busyTopic = "busy"

// Bounds of a busy topic, in records of a partition.
const (
	busyBatch   = 500
	mostWaiting = 20_000 // for being copied: producers go no faster
	lateField   = 10_000 // from this offset on values have a field more
)

// busy is a topic that is produced to and copied as fast as it goes, while engines commit about once a second: they delete single
// records, rewrite files and expire snapshots. A consumer reads it from its start all the while.
type busy struct {
	*world
	t     *testing.T
	rng   *rand.Rand
	limit int // commits of an engine

	mu        sync.Mutex
	next      [partitions]int64          // what was produced
	copied    [partitions]int64          // what the table has had
	tried     [partitions]map[int64]bool // what an engine may have deleted
	deleted   [partitions]map[int64]bool // what one has
	commits   map[string]int             // by engine
	conflicts map[string]int             // what was to be repeated
	errors    []error                    // what was not right
	replays   int
}

// busyCommits is how many commits each engine makes in the long form, which is the only one: it starts Spark.
const busyCommits = 4

// Engines that commit all the time take nothing from copying and consumers, and copying nothing from them (pitfall C80): on a
// directory and on a store. Copies are two seconds apart: engines try a
// commit a few times only, and where copies come faster than that they may all be in vain.
func TestEnginesCommitAllTheTimeWhileKorvetCopies(t *testing.T) {
	if !long() {
		return
	}
	home := install(t, "engines")
	install(t, "spark")
	for _, place := range []string{"file", "s3"} {
		t.Run(place, func(t *testing.T) {
			path, args, s := "file://"+t.TempDir(), []string{}, engineSettings{Home: home}
			if place == "s3" {
				server := storetest.Start(t)
				path, args = server.Location()+"/tier", onStore(server)
				s.Vended, s.Server = true, server.Endpoint
			}
			w := newWorld(t, path, "", append(args, "--korvet.storage.worker.tick-interval=2s")...)
			s.URI = w.uri()
			var all []*engine
			for _, name := range []string{"pyiceberg", "duckdb", "spark"} {
				all = append(all, newEngine(t, name, s))
			}
			w.commitsAllTheTime(t, all, home, busyCommits)
		})
	}
}

// commitsAllTheTime lets engines make so many commits each.
func (w *world) commitsAllTheTime(t *testing.T, all []*engine, home string, limit int) {
	b := &busy{world: w, t: t, rng: rand.New(rand.NewPCG(80, 6)), limit: limit, commits: map[string]int{}, conflicts: map[string]int{}}
	configs := map[string]*string{}
	for name, value := range map[string]string{"remote.storage.enable": "true", "segment.ms": "1000", "segment.bytes": "4194304", "local.retention.ms": "1", "remote.storage.iceberg.value.format": "json"} {
		configs[name] = &value
	}
	if _, err := w.admin.CreateTopic(t.Context(), partitions, 1, configs, busyTopic); err != nil {
		t.Fatal(err)
	}
	running, stop := context.WithCancel(t.Context())
	var others sync.WaitGroup
	for p := range partitions {
		b.tried[p], b.deleted[p] = map[int64]bool{}, map[int64]bool{}
		others.Go(func() { b.produceAll(running, p) })
		others.Go(func() { b.consumeAgain(running, p) })
	}
	others.Go(func() { b.watch(running) })
	eventually(t, func() error { return b.risenAbove([partitions]int64{}) })
	began, from := time.Now(), b.ends()
	ended := make(chan struct{})
	go func() {
		b.act(all)
		close(ended)
	}()
	rounds := 0
	for done := false; !done; rounds++ { // copying goes on whatever engines do
		before := b.ends()
		eventually(t, func() error { return b.risenAbove(before) })
		select {
		case <-ended:
			done = true
		default:
		}
	}
	to, took := b.ends(), time.Since(began)
	stop()
	others.Wait()
	b.check(home)
	t.Logf("in %v engines made commits %v, repeated %v; copied up to %v from %v, %d times more; a consumer has read %d times a partition; %d failures of copying",
		took.Round(time.Second), b.commits, b.conflicts, to, from, rounds, b.replays, b.metric(`korvet_storage_archive_failures_total\{[^}]*\}`))
}

// wrong notes what was not right.
func (b *busy) wrong(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.errors = append(b.errors, fmt.Errorf(format, args...))
}

func (b *busy) ends() [partitions]int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.copied
}

// risenAbove wants all partitions to be copied further.
func (b *busy) risenAbove(before [partitions]int64) error {
	now := b.ends()
	for p := range now {
		if now[p] <= before[p] {
			return fmt.Errorf("partition %d is copied up to %d as before", p, now[p])
		}
	}
	return nil
}

// watch notes what was copied. It never becomes less.
func (b *busy) watch(ctx context.Context) {
	for every := time.NewTicker(200 * time.Millisecond); ctx.Err() == nil; {
		select {
		case <-every.C:
		case <-ctx.Done():
			every.Stop()
			return
		}
		s, err := b.lookAt(busyTopic)
		if err != nil {
			if !strings.Contains(err.Error(), "404") { // until the first commit
				b.wrong("look at the table: %w", err)
			}
			continue
		}
		b.mu.Lock()
		for p, end := range s.ends {
			if end < b.copied[p] {
				b.errors = append(b.errors, fmt.Errorf("partition %d is copied up to %d, after %d", p, end, b.copied[p]))
			}
			b.copied[p] = end
		}
		b.mu.Unlock()
	}
}

// busyValue is the one of a record.
func busyValue(p int, offset int64) string {
	late := ""
	if offset >= lateField {
		late = fmt.Sprintf(`,"late":%d.5`, offset)
	}
	return fmt.Sprintf(`{"o":%d,"city":"city %d"%s,"text":"%0100d"}`, offset, offset%17, late, offset*7919+int64(p))
}

// produceAll appends to a partition as fast as it is copied.
func (b *busy) produceAll(ctx context.Context, p int) {
	for ctx.Err() == nil {
		b.mu.Lock()
		first, waiting := b.next[p], b.next[p]-b.copied[p]
		b.mu.Unlock()
		if waiting > mostWaiting {
			time.Sleep(10 * time.Millisecond)
			continue
		}
		var list []*kgo.Record
		for o := first; o < first+busyBatch; o++ {
			list = append(list, &kgo.Record{Topic: busyTopic, Partition: int32(p), Value: []byte(busyValue(p, o))})
		}
		for i, r := range b.client.ProduceSync(b.t.Context(), list...) {
			if r.Err != nil || r.Record.Offset != first+int64(i) {
				b.wrong("produce record %d of partition %d: %d, %w", first+int64(i), p, r.Record.Offset, r.Err)
				return
			}
		}
		b.mu.Lock()
		b.next[p] += busyBatch
		b.mu.Unlock()
	}
}

// consumeAgain reads a partition from its start, again and again.
func (b *busy) consumeAgain(ctx context.Context, p int) {
	for ctx.Err() == nil {
		b.mu.Lock()
		end := b.next[p]
		b.mu.Unlock()
		if _, err := b.consumeTo(ctx, p, end); err != nil && ctx.Err() == nil {
			b.wrong("%w", err)
			return
		}
		b.mu.Lock()
		b.replays++
		b.mu.Unlock()
	}
}

// consumeTo reads a partition up to an end. Only what an engine may have deleted may be missing: it returns that.
func (b *busy) consumeTo(ctx context.Context, p int, end int64) (missing []int64, err error) {
	from := map[string]map[int32]kgo.Offset{busyTopic: {int32(p): kgo.NewOffset().At(0)}}
	c, err := kgo.NewClient(kgo.SeedBrokers(b.broker.Addr), kgo.ConsumePartitions(from), kgo.ConsumeResetOffset(kgo.NoResetOffset()))
	if err != nil {
		return nil, fmt.Errorf("make consumer: %w", err)
	}
	defer c.Close()
	for next := int64(0); next < end; {
		fetches := c.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return nil, fmt.Errorf("consume partition %d at %d: %w", p, next, err)
		}
		for _, r := range fetches.Records() {
			b.mu.Lock()
			for ; next < r.Offset && b.tried[p][next]; next++ {
				missing = append(missing, next)
			}
			b.mu.Unlock()
			if r.Offset != next || string(r.Value) != busyValue(p, next) {
				return nil, fmt.Errorf("partition %d: offset %d where %d was expected", p, r.Offset, next)
			}
			next++
		}
	}
	return missing, nil
}

// check compares what is there at the end with what was produced and not deleted.
func (b *busy) check(home string) {
	b.t.Helper()
	if len(b.errors) > 0 {
		b.t.Fatalf("%d things were wrong, first %v", len(b.errors), b.errors[0])
	}
	eventually(b.t, func() error {
		s, err := b.lookAt(busyTopic)
		for p, end := range b.next {
			if err == nil && s.ends[int32(p)] != end {
				err = fmt.Errorf("partition %d is copied up to %d of %d", p, s.ends[int32(p)], end)
			}
		}
		return err
	})
	for p := range partitions {
		eventually(b.t, func() error {
			missing, err := b.consumeTo(b.t.Context(), p, b.next[p])
			for _, o := range missing {
				if !b.deleted[p][o] {
					b.t.Fatalf("offset %d of partition %d is gone: nobody has deleted it", o, p)
				}
			}
			if err == nil && len(missing) != len(b.deleted[p]) { // Redis has some still
				err = fmt.Errorf("partition %d: %d records are gone, %d were deleted", p, len(missing), len(b.deleted[p]))
			}
			return err
		})
	}
	b.checkTable(home)
	harness.Command(b.t, append([]string{"tables", "verify", busyTopic, "--redis-uri", "redis://" + b.broker.RedisAddr}, b.args...)...)
	if n := b.metric(`korvet_catalog_request_seconds_count\{[^}]*status="5[^}]*\}`); n > 0 {
		b.t.Errorf("the catalog has answered %d requests with 5xx", n)
	}
}

// metric is the sum of the broker's metrics of a pattern.
func (b *busy) metric(pattern string) (sum int) {
	b.t.Helper()
	_, all := b.broker.Get("/metrics")
	for _, m := range regexp.MustCompile(`(?m)^`+pattern+` (\d+)$`).FindAllStringSubmatch(all, -1) {
		n, err := strconv.Atoi(m[1])
		if err != nil {
			b.t.Fatal(err)
		}
		sum += n
	}
	return sum
}

// checkTable has DuckDB count: each row once, with its typed columns.
func (b *busy) checkTable(home string) {
	b.t.Helper()
	rows, err := b.query(home, `SELECT "partition" AS p, count(*)::BIGINT AS n, count(DISTINCT "offset")::BIGINT AS d, count(late)::BIGINT AS late,
		count(*) FILTER (WHERE o IS DISTINCT FROM "offset" OR city IS DISTINCT FROM 'city ' || ("offset" % 17))::BIGINT AS bad FROM korvet.korvet.busy GROUP BY 1 ORDER BY 1`)
	if err != nil || len(rows) != partitions {
		b.t.Fatalf("%v, %v", rows, err)
	}
	for p, r := range rows {
		want := map[string]int64{"p": int64(p), "n": b.next[p], "late": max(0, b.next[p]-lateField)}
		for o := range b.deleted[p] {
			want["n"]--
			if o >= lateField {
				want["late"]--
			}
		}
		want["d"], want["bad"] = want["n"], 0
		for name, n := range want {
			if r[name] != float64(n) {
				b.t.Errorf("partition %d: %s is %v, want %d", p, name, r[name], n)
			}
		}
	}
}

// busyActs are an engine's commits, by how many it has made: what it does, and the row that it deletes, if any.
var busyActs = map[string]func(b *busy, e *engine, n int) error{
	"duckdb": (*busy).deleteOne,
	"pyiceberg": func(b *busy, e *engine, n int) error {
		if n%3 == 2 {
			_, err := e.try("maintain", map[string]any{"table": busyTopic})
			return err
		}
		return b.deleteOne(e, n)
	},
	"spark": func(b *busy, e *engine, n int) error {
		of := fmt.Sprintf("(table => 'korvet.korvet.%s', where => '`partition` = %d', ", busyTopic, n/4%partitions)
		switch n % 4 {
		case 0:
			return e.run("CALL korvet.system.rewrite_data_files" + of + "options => map('min-input-files', '2', 'delete-file-threshold', '1'))")
		case 1:
			return b.deleteOne(e, n)
		case 2:
			return e.run("CALL korvet.system.expire_snapshots(table => 'korvet.korvet." + busyTopic + "', older_than => TIMESTAMP '2100-01-01 00:00:00', retain_last => 1)")
		}
		return e.run("CALL korvet.system.rewrite_data_files" + of + "options => map('rewrite-all', 'true'))")
	},
}

// deleteOne deletes one of the rows that were copied.
func (b *busy) deleteOne(e *engine, _ int) error {
	b.mu.Lock()
	p := b.rng.IntN(partitions)
	o := b.rng.Int64N(b.copied[p] - 1) // the last one tells a consumer where the log ends
	for b.tried[p][o] {
		o = b.rng.Int64N(b.copied[p] - 1)
	}
	b.tried[p][o] = true
	b.mu.Unlock()
	_, err := e.try("delete", map[string]any{"table": busyTopic, "partition": p, "low": o, "high": o + 1})
	b.mu.Lock()
	defer b.mu.Unlock()
	if err == nil {
		b.deleted[p][o] = true
	} else {
		delete(b.tried[p], o)
	}
	return err
}

// act has engines commit about once a second, one after the other: two that delete and rewrite at once are in each other's way.
func (b *busy) act(all []*engine) {
	every := time.NewTicker(time.Second)
	defer every.Stop()
	for n := range b.limit {
		for _, e := range all {
			if do := busyActs[e.name]; do == nil || b.acts(e, n, do, every) {
				continue
			}
			return
		}
	}
}

// acts has an engine make a commit, which it tries again where copying came between.
func (b *busy) acts(e *engine, n int, do func(*busy, *engine, int) error, every *time.Ticker) bool {
	for tried := 1; ; tried++ {
		err := do(b, e, n)
		<-every.C
		b.mu.Lock()
		if err == nil {
			b.commits[e.name]++
		} else {
			b.conflicts[e.name]++
		}
		b.mu.Unlock()
		if err == nil {
			return true
		}
		between := func(text string) bool { return strings.Contains(err.Error(), text) }
		if !slices.ContainsFunc(slices.Concat(repeated, overtaken), between) || tried == 20 {
			b.wrong("commit %d of %s, tried %d times: %w", n, e.name, tried, err)
			return false
		}
		b.t.Logf("%s: commit %d is to be repeated: %.300v", e.name, n, err)
	}
}

// overtaken is what engines say where another one has committed, or has deleted files of expired snapshots under them.
var overtaken = []string{"409", "Found new conflicting"}

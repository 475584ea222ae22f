package faults

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/korvet-io/korvet/internal/iceberg/chain"
	"github.com/korvet-io/korvet/internal/iceberg/store"
	"github.com/korvet-io/korvet/internal/iceberg/tables"
	"github.com/korvet-io/korvet/test/harness"
)

// noisy appends so many records to each of two partitions, of values that no codec makes smaller.
func (l *ledger) noisy(t *testing.T, addr, topic string, n int) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.DefaultProduceTopic(topic), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchCompression(kgo.NoCompression()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	var list []*kgo.Record
	for i := range 2 * n {
		value := make([]byte, 10_000)
		for k := range value {
			value[k] = byte(rand.Uint32())
		}
		list = append(list, &kgo.Record{Value: value, Partition: int32(i % 2)})
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for _, r := range client.ProduceSync(ctx, list...) {
		if r.Err != nil {
			t.Fatalf("produce to %s: %v", topic, r.Err)
		}
		l.kept = append(l.kept, keptRecord{r.Record.Partition, r.Record.Offset, r.Record.Timestamp.UnixMilli(), string(r.Record.Value)})
	}
}

// series is the sum of a metric's series with a label.
func (w *world) series(name, label string) (sum float64) {
	w.t.Helper()
	_, text := w.broker.Get("/metrics")
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, name+"{") && strings.Contains(line, label) {
			var n float64
			if _, err := fmt.Sscan(line[strings.LastIndexByte(line, ' ')+1:], &n); err != nil {
				w.t.Fatal(err)
			}
			sum += n
		}
	}
	return sum
}

const storeFails = "the store of the remote tier fails"

// The disk of a file:// tier gets full while data files are written to it. Producers, and consumers of what Redis and the disk have,
// notice nothing, nothing leaves Redis that is not in the table, and it is told. Once there is room all of it is copied: each record is
// in the table once, no part of a file was ever to be seen, and what is left of files that came into no table goes when it is old.
func TestAFullDiskUnderTheTier(t *testing.T) {
	d := newDisk(t, 32<<20)
	t.Logf("the tier's directory refuses files: %s", d.kind)
	lake := "--korvet.storage.remote.path=file://" + d.dir
	w := newWorld(t, harness.Options{Args: []string{
		lake, "--korvet.storage.worker.tick-interval=200ms", "--korvet.storage.worker.lease-duration=2s", "--korvet.storage.remote.iceberg.row-group-size=64KB",
	}})
	err := w.probe().CreateTopic("tiered", 2, map[string]string{
		"remote.storage.enable": "true", "segment.bytes": "1048576", "segment.ms": "700", "local.retention.ms": "1000",
	})
	if err != nil {
		t.Fatal(err)
	}
	l := &ledger{}
	l.noisy(t, w.broker.Addr, "tiered", 300)
	eventually(t, "all records to be in the remote tier alone", func() error { return w.onlyOpenSegments("tiered") })
	if err := d.refuse(); err != nil {
		t.Fatal(err)
	}
	readers := w.replay(d)
	for range 4 {
		l.noisy(t, w.broker.Addr, "tiered", 100)
	}
	eventually(t, "the refusal to be told", func() error {
		failures, waiting := w.series("korvet_storage_remote_failures_total", `error_type="`+d.kind+`"`), w.series("korvet_storage_archive_lag_segments", `topic="tiered"`)
		status, ready := w.broker.Get("/readyz")
		if failures == 0 || waiting < 4 || status != http.StatusOK || !strings.Contains(ready, storeFails) {
			return fmt.Errorf("%g requests failed, %g segments wait, /readyz answers %d %s", failures, waiting, status, ready)
		}
		return nil
	})
	readers()
	if d.reads {
		l.checkAll(t, seen(t, w.broker.Addr, "tiered"))
		d.requireNothingPartial(t)
	}
	if !strings.Contains(w.broker.Logs(), storeFails) {
		t.Error("the log does not say that the store fails")
	}
	w.faults++
	if err := d.take(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "all to be in the remote tier alone", func() error { return w.onlyOpenSegments("tiered") })
	eventually(t, "nothing to be told any more", func() error {
		if _, ready := w.broker.Get("/readyz"); strings.Contains(ready, storeFails) || w.series("korvet_storage_archive_lag_segments", `topic="tiered"`) > 0 {
			return fmt.Errorf("/readyz answers %s", ready)
		}
		return nil
	})
	l.checkAll(t, seen(t, w.broker.Addr, "tiered"))
	requireWholeTable(t, w, len(l.kept), lake)
	d.requireNothingPartial(t)
	w.broker.Stop() // an age that files do not have is not its
	d.requireNoOrphans(t)
	requireWholeTable(t, w, len(l.kept), lake)
}

// requireNothingPartial looks at what somebody sees who opens the tables by their path.
func (d *disk) requireNothingPartial(t *testing.T) {
	t.Helper()
	d.requireWholeFiles(t)
	d.requireNothingUnfinished(t)
}

// replay has a consumer read the topic from its start, again and again, and somebody look at the files, until it is called off.
func (w *world) replay(d *disk) (end func()) {
	ctx, stop := context.WithCancel(w.t.Context())
	var all sync.WaitGroup
	all.Go(func() {
		for ctx.Err() == nil {
			if d.reads {
				requireNoGap(w.t, seen(w.t, w.broker.Addr, "tiered"))
				d.requireWholeFiles(w.t)
			}
		}
	})
	return func() {
		stop()
		all.Wait()
	}
}

// requireNoOrphans makes all files old, has those swept that are in no version of the table, and fails the test unless the rest is what the
// table names.
func (d *disk) requireNoOrphans(t *testing.T) {
	t.Helper()
	folders, err := os.ReadDir(d.dir + "/korvet")
	if err != nil || len(folders) != 1 {
		t.Fatalf("tables are in %v, %v", folders, err)
	}
	data := d.dir + "/korvet/" + folders[0].Name() + "/data/partition=0/"
	for _, name := range []string{".unfinished-1", "of-nobody.parquet"} { // what a process that was killed leaves
		if err := os.WriteFile(data+name, []byte("left"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	old := time.Now().Add(-100 * time.Hour)
	for _, name := range d.files(t, "") {
		if err := os.Chtimes(name, old, old); err != nil {
			t.Fatal(err)
		}
	}
	objects, err := store.Open(t.Context(), "file://"+d.dir, store.S3{})
	if err != nil {
		t.Fatal(err)
	}
	location := "file://" + d.dir + "/korvet/" + folders[0].Name()
	table := tables.Open(&chain.Chain{Store: objects, Hint: chain.NoHint{}, Location: location, Now: time.Now}, "korvet", "tiered")
	state, err := table.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	swept, err := table.Sweep(t.Context(), state.Fence, 72*time.Hour)
	if err != nil || swept.Orphans < 2 {
		t.Fatalf("swept %+v, %v", swept, err)
	}
	d.requireNothingUnfinished(t)
	files, err := table.Files(t.Context(), state)
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for _, list := range files.Data {
		for _, f := range list {
			named[strings.TrimPrefix(f.Location, "file://")] = true
		}
	}
	left := d.files(t, ".parquet")
	for _, name := range left {
		if !named[name] {
			t.Errorf("%s is in no table", name)
		}
	}
	t.Logf("%d orphans of %d bytes were swept; the table has %d data files", swept.Orphans, swept.Bytes, len(left))
}

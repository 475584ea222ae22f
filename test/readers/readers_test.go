// Package readers_test lets engines, unchanged, read the tables of a broker's remote tier, and compares what they read with what was produced. Each attaches to the
// broker's catalog with its URL alone.
//
//	KORVET_TEST_LONG=1      Spark and Trino, too, and their maintenance
//	KORVET_TEST_JAVA_HOME   a Java 24 or later for Trino
//
// Package harness's other variables hold, too. What is not there and cannot be installed fails its test.
package readers_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/korvet-io/korvet/internal/iceberg/storetest"
)

// short are the engines that run in every test.
var short = []string{"pyiceberg", "duckdb", "clickhouse", "datafusion", "polars"}

// lacks says what an engine has no call for, or, reading one partition, does by opening every file.
var lacks = map[string][]string{"datafusion": {"snapshot", "read_partition"}, "trino": {"by_path"}}

func can(e *engine, do string) bool { return !slices.Contains(lacks[e.name], do) }

func long() bool { return os.Getenv("KORVET_TEST_LONG") == "1" }

// engines starts sessions of the engines that are to be tested.
func engines(t *testing.T, s engineSettings) []*engine {
	t.Helper()
	s.Home = install(t, "engines")
	names := short
	if long() {
		install(t, "spark")
		install(t, "trino")
		names = append(names, "spark", "trino")
	}
	var list []*engine
	for _, name := range names {
		list = append(list, newEngine(t, name, s))
	}
	return list
}

func TestEnginesReadWhatWasProduced(t *testing.T) {
	began := time.Now()
	w := newWorld(t, "file://"+t.TempDir(), "")
	all := engines(t, engineSettings{URI: w.uri()})
	w.produce(w.maker.make(1500))
	early := w.awaitCopied()
	w.readWhileCopying(all)
	w.produce(w.maker.marked())
	last := w.awaitCopied()
	for _, e := range all {
		t.Run(e.name, func(t *testing.T) {
			a := e.do(t, "read", map[string]any{"table": table, "snapshot": nil})
			if d := a.differs(w.below(last.ends)); d != "" {
				t.Errorf("the newest snapshot: %s", d)
			}
			checkAppended(t, a, began)
			if can(e, "snapshot") {
				a = e.do(t, "read", map[string]any{"table": table, "snapshot": early.snapshot})
				if d := a.differs(w.below(early.ends)); d != "" {
					t.Errorf("an earlier snapshot: %s", d)
				}
			}
			marked := w.maker.next[0] - 2
			if a = e.do(t, "find", map[string]any{"table": table, "time": wanted}); fmt.Sprint(a.Found) != fmt.Sprintf("[[0 %d]]", marked) {
				t.Errorf("found %v at %s, want offset %d", a.Found, wanted, marked)
			}
		})
	}
	t.Run("one partition", func(t *testing.T) { w.readsOnePartition(t, all, last) })
	t.Run("what engines may not do", func(t *testing.T) { w.refuses(t, all) })
	t.Run("rows that engines delete", func(t *testing.T) { w.deletes(t, all) })
	t.Run("maintenance by engines", func(t *testing.T) { w.maintains(t, all) })
	last = w.awaitCopied()
	w.broker.Stop()
	t.Run("without a broker", func(t *testing.T) { w.byPath(t, all, "polars", last) })
}

// readWhileCopying produces while engines read: each sees the beginning of each partition, whole.
func (w *world) readWhileCopying(all []*engine) {
	w.t.Helper()
	for _, e := range all {
		w.produce(w.maker.make(300))
		before, err := w.look()
		if err != nil {
			w.t.Fatal(err)
		}
		a := e.do(w.t, "read", map[string]any{"table": table, "snapshot": nil})
		seen := map[int32]int64{}
		for p, bounds := range a.Partitions {
			var partition int32
			if _, err := fmt.Sscan(p, &partition); err != nil {
				w.t.Fatal(err)
			}
			seen[partition] = bounds[1] + 1
		}
		for p, end := range before.ends {
			if seen[p] < end {
				w.t.Errorf("%s: partition %d up to %d, the table had it up to %d before", e.name, p, seen[p], end)
			}
		}
		if d := a.differs(w.below(seen)); d != "" {
			w.t.Errorf("%s, while copying: %s", e.name, d)
		}
	}
}

// readAll reads the table with all engines but one.
func (w *world) readAll(t *testing.T, all []*engine, except string) {
	t.Helper()
	for _, e := range all {
		if e.name == except {
			continue
		}
		a := e.do(t, "read", map[string]any{"table": table, "snapshot": nil})
		if d := a.differs(summarize(w.produced)); d != "" {
			t.Errorf("%s: %s", e.name, d)
		}
	}
}

// readsOnePartition asks engines for a partition while the files of the others are away: they plan with the table's partitions, and
// open no other file.
func (w *world) readsOnePartition(t *testing.T, all []*engine, s state) {
	data := strings.TrimPrefix(s.location, "file://") + "/data"
	away := t.TempDir()
	for _, p := range []string{"/partition=0", "/partition=2"} {
		if err := os.Rename(data+p, away+p); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := os.Rename(away+p, data+p); err != nil {
				t.Error(err)
			}
		}()
	}
	for _, e := range all {
		if !can(e, "read_partition") {
			continue
		}
		a := e.do(t, "read_partition", map[string]any{"table": table, "partition": 1})
		if d := a.differs(w.below(map[int32]int64{1: s.ends[1]})); d != "" {
			t.Errorf("%s: %s", e.name, d)
		}
	}
}

// byPath reads the table's folder, while no broker runs.
func (w *world) byPath(t *testing.T, all []*engine, except string, s state) {
	for _, e := range all {
		if !can(e, "by_path") || e.name == except {
			continue
		}
		a := e.do(t, "by_path", map[string]any{"location": s.location, "metadata": s.metadata})
		if d := a.differs(w.below(s.ends)); d != "" {
			t.Errorf("%s: %s", e.name, d)
		}
	}
}

// onStore are arguments of a broker whose tier is on a store, and whose catalog hands out keys that may write.
func onStore(server *storetest.Server) []string {
	return []string{
		"--korvet.storage.remote.s3.endpoint=" + server.Endpoint, "--korvet.storage.remote.s3.region=" + storetest.Region, "--korvet.storage.remote.s3.path-style-access=true",
		"--korvet.storage.remote.s3.access-key-id=" + storetest.AccessKeyID, "--korvet.storage.remote.s3.secret-access-key=" + storetest.SecretAccessKey,
		"--korvet.storage.remote.catalog.vended.enabled=true",
		"--korvet.storage.remote.catalog.vended.access-key-id=" + storetest.WriterKeyID, "--korvet.storage.remote.catalog.vended.secret-access-key=" + storetest.WriterSecret,
	}
}

// Engines are told the store's address and keys that may only read it, and have nothing else than the URL and the token.
func TestEnginesReadFromAStoreWithWhatTheCatalogHandsOut(t *testing.T) {
	server := storetest.Start(t)
	w := newWorld(t, server.Location()+"/tier", "let-me-in",
		"--korvet.storage.remote.s3.endpoint="+server.Endpoint, "--korvet.storage.remote.s3.region="+storetest.Region, "--korvet.storage.remote.s3.path-style-access=true",
		"--korvet.storage.remote.s3.access-key-id="+storetest.AccessKeyID, "--korvet.storage.remote.s3.secret-access-key="+storetest.SecretAccessKey,
		"--korvet.storage.remote.catalog.token=let-me-in", "--korvet.storage.remote.catalog.vended.enabled=true",
		"--korvet.storage.remote.catalog.vended.access-key-id="+storetest.ReaderKeyID, "--korvet.storage.remote.catalog.vended.secret-access-key="+storetest.ReaderSecret)
	all := engines(t, engineSettings{URI: w.uri(), Token: w.token, Vended: true, Server: server.Endpoint})
	w.produce(w.maker.make(1500))
	s := w.awaitCopied()
	w.readAll(t, all, "")
	w.awaitConsumed(t)
	w.broker.Stop()
	own := engines(t, engineSettings{S3: &keys{Endpoint: server.Endpoint, ID: storetest.ReaderKeyID, Secret: storetest.ReaderSecret}})
	w.byPath(t, own, "spark", s) // it finds tables in buckets by path with Hadoop's own S3 client alone
}

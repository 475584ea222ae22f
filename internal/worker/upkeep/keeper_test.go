package upkeep_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/korvet-io/korvet/internal/iceberg/chain"
	"github.com/korvet-io/korvet/internal/iceberg/datafile"
	objectstore "github.com/korvet-io/korvet/internal/iceberg/store"
	"github.com/korvet-io/korvet/internal/iceberg/tables"
	"github.com/korvet-io/korvet/internal/partition"
	"github.com/korvet-io/korvet/internal/record"
	"github.com/korvet-io/korvet/internal/worker"
	"github.com/korvet-io/korvet/internal/worker/tiertest"
	"github.com/korvet-io/korvet/internal/worker/upkeep"
	"github.com/korvet-io/korvet/internal/worker/workertest"
)

// tieredPart is a partition with a table, and a keeper of it.
type tieredPart struct {
	*workertest.Part
	storage *worker.Storage
	keeper  *upkeep.Keeper
	table   *tables.Table
	store   objectstore.Store
	folder  string
	kept    map[string]int64
	done    map[string]int
	failed  int
	times   map[int64]int64 // append times of what the table has, in ms
	broken  error           // of the store, told by Tables
}

func (p *tieredPart) TablesKept(_, files, _, _ map[string]int64) { p.kept = files }
func (p *tieredPart) UpkeepDone(operation string, files int)     { p.done[operation] += files }
func (p *tieredPart) UpkeepFailed(string)                        { p.failed++ }
func (p *tieredPart) SeekAppend(_ context.Context, _ partition.Ref, ms, from int64) (int64, error) {
	for o := from; ; o++ {
		at, ok := p.times[o]
		if !ok || at >= ms {
			return o, nil
		}
	}
}

// unreachable is a table of which the state cannot be read.
type unreachable struct {
	*tables.Table
	err error
}

func (u unreachable) State(context.Context) (*tables.State, error)  { return nil, u.err }
func (u unreachable) Recent(context.Context) (*tables.State, error) { return nil, u.err }

func newTieredPart(t *testing.T, configs map[string]string) *tieredPart {
	t.Helper()
	r := workertest.New(t)
	p := &tieredPart{Part: r.Create("t", configs), kept: map[string]int64{}, done: map[string]int{}, times: map[int64]int64{}}
	p.Topic.Config.RemoteStorage = true
	var err error
	if p.store, err = objectstore.Open(t.Context(), "file:///", objectstore.S3{}); err != nil {
		t.Fatal(err)
	}
	p.folder = "file://" + t.TempDir() + "/t"
	p.table = tables.Open(&chain.Chain{Store: p.store, Hint: chain.NoHint{}, Location: p.folder, Now: time.Now}, "korvet", "t")
	if err := p.table.Create(t.Context(), tables.Life{Topic: "t", ID: p.Topic.ID.String()}, nil); err != nil {
		t.Fatal(err)
	}
	p.keeper = upkeep.New(upkeep.Dependencies{
		Redis: r.Shard, Times: p, Observer: p, Log: r.Logger(),
		Tables: func(uuid.UUID) (upkeep.Table, bool) {
			if p.broken != nil {
				return unreachable{p.table, p.broken}, true
			}
			return p.table, true
		},
		Settings: func() upkeep.Settings {
			return upkeep.Settings{Snapshots: tables.Rules{MaxAge: time.Hour, MinCount: 1, MaxCount: 100}, OrphanAge: 72 * time.Hour, Merge: tables.MergeRules{
				TargetBytes: 1 << 20, MinFiles: 16, MaxBytes: 1 << 30,
				Options: datafile.Options{PageBytes: 4000, RowGroupBytes: 100_000},
			}}
		},
	})
	p.storage = tiertest.Worker(r, "1/a")
	p.storage.Keeper = p.keeper
	r.Work = func(ctx context.Context) error { return p.storage.RunOnce(ctx) }
	return p
}

// copied appends records of some ages to the log, seals them, has them in the table, and drops them from Redis.
func (p *tieredPart) copied(n int, ages ...time.Duration) {
	p.Helper()
	first := p.Next
	for _, age := range ages {
		for o := p.Next; o < p.Next+int64(n); o++ {
			p.times[o] = p.Now() - age.Milliseconds()
		}
		p.Add(n, age, 10)
	}
	p.Seal()
	a := tables.Added{Location: fmt.Sprintf("%s/data/%d.parquet", p.folder, first), End: p.Next}
	r, w := io.Pipe()
	go func() {
		f := datafile.NewWriter(w, 0, datafile.Options{PageBytes: 4000, RowGroupBytes: 100_000})
		var err error
		for o := first; o < p.Next && err == nil; o++ {
			err = f.Write(&datafile.Row{Record: record.Record{Offset: o, Value: []byte(strings.Repeat("v", 10))}, AppendMs: p.times[o]})
		}
		if err == nil {
			a.Summary, err = f.Close()
		}
		_ = w.CloseWithError(err)
	}()
	if err := p.store.Put(p.Context(), a.Location, r); err != nil {
		p.Fatal(err)
	}
	var err error
	if a.Bytes, err = p.store.Size(p.Context(), a.Location); err != nil {
		p.Fatal(err)
	}
	s, err := p.table.State(p.Context())
	if err == nil {
		_, err = p.table.Append(p.Context(), s, 0, []tables.Added{a})
	}
	if err != nil {
		p.Fatal(err)
	}
	v := p.View()
	p.Do("HSET", p.Keys.Segments, "tiered", fmt.Sprint(p.Next))
	last := v.Segments[len(v.Segments)-1]
	p.Do("HDEL", p.Keys.Segments, fmt.Sprintf("s:%d", last.Number))
	p.Do("HSET", p.Keys.Segments, "local", fmt.Sprint(p.Next))
	p.Do("UNLINK", p.Keys.Segment(last.Number))
}

// files are the first offsets of the table's data files.
func (p *tieredPart) files() (firsts []int64) {
	p.Helper()
	s, err := p.table.State(p.Context())
	if err != nil {
		p.Fatal(err)
	}
	files, err := p.table.Files(p.Context(), s)
	if err != nil {
		p.Fatal(err)
	}
	for _, f := range files.Data[0] {
		firsts = append(firsts, f.First)
	}
	return firsts
}

// expectRemote checks where the log starts and which files the table has.
func (p *tieredPart) expectRemote(start int64, firsts ...int64) {
	p.Helper()
	if v := p.View(); v.LogStart != start {
		p.Errorf("the log starts at %d, want %d", v.LogStart, start)
	}
	if got := p.files(); fmt.Sprint(got) != fmt.Sprint(firsts) {
		p.Errorf("files begin at %v, want %v", got, firsts)
	}
}

func TestTotalRetentionIsExactInsideTheTableAndFilesGoATickLater(t *testing.T) {
	p := newTieredPart(t, map[string]string{"retention.ms": workertest.Hours(5)})
	p.copied(10, 9*time.Hour, 8*time.Hour)
	p.copied(10, 7*time.Hour, 4*time.Hour)
	p.copied(10, 3*time.Hour)
	p.Add(10, 0, 10)
	p.Tick()
	p.expectRemote(30, 0, 20, 40)
	p.Tick()
	p.expectRemote(30, 20, 40)
	if p.done["drop"] != 1 || p.kept["t"] != 2 || p.failed != 0 {
		t.Errorf("done %v, kept %v, %d failed", p.done, p.kept, p.failed)
	}
}

func TestRetentionBytesCountsBothTiers(t *testing.T) {
	p := newTieredPart(t, map[string]string{"retention.bytes": "1000000"})
	for range 4 {
		p.copied(50, time.Hour)
	}
	p.Add(2000, 0, 400) // some 900 kB
	p.Tick()
	p.expectRemote(0, 0, 50, 100, 150)
	p.Topic.Config.RetentionBytes = p.Measured() + 1000 // a file has more
	for range 3 {
		p.Tick()
	}
	p.expectRemote(150, 150)
	p.Topic.Config.RetentionBytes = p.Measured() / 2 // now Redis alone has too much
	for range 3 {
		p.Tick()
	}
	if v := p.View(); v.LogStart <= 200 || len(p.files()) != 0 {
		t.Errorf("the log starts at %d, %d files", v.LogStart, len(p.files()))
	}
}

func TestFilesBelowDeleteRecordsGo(t *testing.T) {
	p := newTieredPart(t, map[string]string{"retention.ms": "-1"})
	p.copied(10, time.Hour)
	p.copied(10, time.Hour)
	p.Do("HSET", p.Keys.Segments, "start", "15")
	p.Tick()
	p.expectRemote(15, 0, 10)
	p.Tick()
	p.expectRemote(15, 10)
}

func TestAllOfALogMayGoFromTheTable(t *testing.T) {
	p := newTieredPart(t, map[string]string{"retention.ms": workertest.Hours(1)})
	p.copied(10, 3*time.Hour)
	p.copied(10, 2*time.Hour)
	for range 3 {
		p.Tick()
	}
	p.expectRemote(20)
	p.Add(1, 0, 10)
	p.Tick()
	p.expectRemote(20)
}

func TestAStoreThatIsAwayIsToldOnceAndHoldsNothingUp(t *testing.T) {
	p := newTieredPart(t, map[string]string{"retention.ms": workertest.Hours(5)})
	p.copied(10, 9*time.Hour)
	other := p.Create("other", map[string]string{"retention.ms": workertest.Hours(5)})
	other.Add(10, 6*time.Hour, 10)
	p.broken = errors.New("the store is away")
	p.Tick()
	p.Tick()
	other.Expect(10, -1)
	if n := strings.Count(p.Logged.String(), "was not kept in order"); n != 2 || p.failed < 2 { // of either topic
		t.Errorf("told %d times, %d failed", n, p.failed)
	}
	p.broken = nil
	p.Topics.List = p.Topics.List[:1]
	for range 3 {
		p.Tick()
	}
	p.expectRemote(10)
	if n := strings.Count(p.Logged.String(), "is in order again"); n != 1 {
		t.Errorf("told %d times that it works again", n)
	}
}

package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/korvet-io/korvet/internal/iceberg/chain"
	"github.com/korvet-io/korvet/internal/iceberg/datafile"
	objectstore "github.com/korvet-io/korvet/internal/iceberg/store"
	"github.com/korvet-io/korvet/internal/iceberg/storetest"
	"github.com/korvet-io/korvet/internal/iceberg/tables"
	"github.com/korvet-io/korvet/internal/metadata"
	"github.com/korvet-io/korvet/internal/partition"
	"github.com/korvet-io/korvet/internal/redisstream"
	"github.com/korvet-io/korvet/internal/remote"
	"github.com/korvet-io/korvet/internal/worker/lifecycle"
	"github.com/korvet-io/korvet/internal/worker/workertest"
)

// copyRig is a rig whose worker copies to tables below a directory.
type copyRig struct {
	*workertest.Rig
	storage *Storage
	root    string
	tables  *registry
	plain   objectstore.Store
	store   *storetest.Cut
	set     CopySettings
	events  *events
	copied  *copyObserver
}

// events keeps what happened to remote segments.
type events struct {
	mu   sync.Mutex
	list []lifecycle.Event
}

func (e *events) RemoteSegments(_ context.Context, _ int64, events []lifecycle.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.list = append(e.list, events...)
}

// copyObserver keeps what the copier tells.
type copyObserver struct {
	mu       sync.Mutex
	files    int
	segments int
	bytes    int64
	cut      int64
	failures map[string]int
	lag      map[string]int64
	offsets  map[string]int64
	oldest   map[string]time.Duration
}

func (o *copyObserver) change(f func())                   { o.mu.Lock(); defer o.mu.Unlock(); f() }
func (o *copyObserver) FileArchived(time.Duration, error) { o.change(func() { o.files++ }) }
func (o *copyObserver) Archived(n int, bytes int64) {
	o.change(func() { o.segments += n; o.bytes += bytes })
}
func (o *copyObserver) ArchiveFailed(operation string) { o.change(func() { o.failures[operation]++ }) }
func (o *copyObserver) ArchiveTruncated(n int64)       { o.change(func() { o.cut += n }) }
func (o *copyObserver) ArchiveLag(segments map[string]int64, oldest map[string]time.Duration) {
	o.change(func() { o.lag, o.oldest = segments, oldest })
}

func (o *copyObserver) ArchiveLagOffsets(offsets map[string]int64) {
	o.change(func() { o.offsets = offsets })
}

// registry is where tables are; one for each life of a topic.
type registry struct {
	mu   sync.Mutex
	root string
	list []metadata.Table
}

func (r *registry) EnsureTable(_ context.Context, t *metadata.Topic) (metadata.Table, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.list {
		if e.TopicID == t.ID {
			return e, nil
		}
	}
	e := metadata.Table{Name: t.Name, Topic: t.Name, TopicID: t.ID, Copied: 1, Location: fmt.Sprintf("%s/%s-%d", r.root, t.Name, len(r.list))}
	r.list = append(r.list, e)
	return e, nil
}

func (r *registry) CoverTable(_ context.Context, t metadata.Table, partition int32) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.list {
		if e := &r.list[i]; e.Location == t.Location {
			e.Copied = max(e.Copied, partition+2)
		}
	}
	return nil
}

func (r *registry) mayHave(ref partition.Ref) bool {
	e, ok := r.find(ref.ID)
	return ok && ref.Partition < e.Copied-1
}

func (r *registry) find(id uuid.UUID) (metadata.Table, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.list {
		if e.TopicID == id {
			return e, true
		}
	}
	return metadata.Table{}, false
}

func (r *registry) TableOf(id uuid.UUID) (metadata.Table, bool) { return r.find(id) }
func (r *registry) Tables() []metadata.Table                    { return r.list }

func newCopyRig(t *testing.T, args ...string) *copyRig {
	t.Helper()
	plain, err := objectstore.Open(t.Context(), "file:///", objectstore.S3{})
	if err != nil {
		t.Fatal(err)
	}
	return newCopyRigOn(workertest.New(t, args...), "file://"+t.TempDir(), plain)
}

func newCopyRigOn(r *workertest.Rig, root string, plain objectstore.Store) *copyRig {
	c := &copyRig{
		Rig: r, root: root, plain: plain, events: &events{}, copied: &copyObserver{failures: map[string]int{}},
		set: CopySettings{RowGroupBytes: 1 << 20, TargetFileBytes: 8 << 20, Threads: 2, MaxValueBytes: 100 << 20},
	}
	c.tables = &registry{root: root}
	c.store = storetest.NewCut(plain)
	c.storage = c.worker("1/a")
	c.storage.Copier = c.copier(c.Shard)
	c.Work = func(ctx context.Context) error { return c.storage.RunOnce(ctx) }
	return c
}

// worker makes a storage worker on the rig's Redis.
func (c *copyRig) worker(owner string) *Storage { return newStorageOn(c.Rig, owner) }

func newStorageOn(r *workertest.Rig, owner string) *Storage {
	return NewStorage(
		Settings{Namespace: "korvet", Owner: owner, Tick: time.Minute, Lease: 2 * time.Minute},
		Dependencies{Topics: &r.Topics, Redis: r.Shard, Observer: r.Seen, Log: r.Logger()},
	)
}

// copier makes one whose store is the rig's, on a Redis.
func (c *copyRig) copier(redis *redisstream.Shard) *Copier {
	return NewCopier(CopierDependencies{
		Redis: redis, Tables: c.tablesOn(c.store), Settings: func() CopySettings { return c.set }, Observer: c.copied, Events: c.events,
		Log: c.Logger(), Version: "test",
	})
}

// tablesOn are the rig's tables on another store.
func (c *copyRig) tablesOn(s objectstore.Store) Tables { return tablesOn(c, c.root, c.tables, s) }

// tierOn is the tier below a root, on a store.
func tierOn(t testing.TB, root string, list *registry, s objectstore.Store) *remote.Tier {
	t.Helper()
	tier, err := remote.Open(context.Background(), remote.Settings{Path: root, Namespace: "korvet"}, list, chain.NoHint{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	tier.Store = s
	return tier
}

// tablesOn are its tables.
func tablesOn(t testing.TB, root string, list *registry, s objectstore.Store) Tables {
	t.Helper()
	return NewTables(tierOn(t, root, list, s), list, func(ctx context.Context, table *tables.Table, t *metadata.Topic) error {
		return table.Create(ctx, tables.Life{Topic: t.Name, ID: t.ID.String()}, nil)
	})
}

// tiered makes a topic of one partition that is copied.
func (c *copyRig) tiered(name string, more map[string]string) *workertest.Part {
	c.Helper()
	configs := map[string]string{"remote.storage.enable": "true"}
	for k, v := range more {
		configs[k] = v
	}
	return c.Create(name, configs)
}

// table is the topic's, opened anew.
func (c *copyRig) table(p *workertest.Part) Table {
	c.Helper()
	table, err := c.tablesOn(c.plain).Table(c.Context(), p.Topic)
	if err != nil {
		c.Fatal(err)
	}
	return table
}

// opened is the table as every other user of it has it.
func (c *copyRig) opened(p *workertest.Part) *tables.Table {
	c.Helper()
	entry, err := c.tables.EnsureTable(c.Context(), p.Topic)
	if err != nil {
		c.Fatal(err)
	}
	return tierOn(c, c.root, c.tables, c.plain).Table(entry)
}

// exists tells whether the table is on the store.
func (c *copyRig) exists(p *workertest.Part) bool {
	c.Helper()
	_, err := c.table(p).State(c.Context())
	if err != nil && !errors.Is(err, chain.ErrNoTable) {
		c.Fatal(err)
	}
	return err == nil
}

// files are those of the table, of one partition.
func (c *copyRig) files(p *workertest.Part) ([]tables.File, *tables.State) {
	c.Helper()
	table := c.opened(p)
	state, err := table.State(c.Context())
	if err != nil {
		c.Fatal(err)
	}
	files, err := table.Files(c.Context(), state)
	if err != nil {
		c.Fatal(err)
	}
	return files.Data[p.Number], state
}

// source reads a file of a store.
type source struct {
	objectstore.Store
	location string
}

func (s source) ReadRange(ctx context.Context, p []byte, off int64) error {
	return s.Store.ReadRange(ctx, s.location, p, off)
}

// rows reads the whole table of a partition.
func (c *copyRig) rows(p *workertest.Part) (all []datafile.Row) {
	c.Helper()
	list, _ := c.files(p)
	sort.Slice(list, func(i, k int) bool { return list[i].First < list[k].First })
	for _, f := range list {
		src := source{c.plain, f.Location}
		file, err := datafile.Open(c.Context(), src, f.Bytes)
		if err != nil {
			c.Fatal(err)
		}
		for next, done := f.First, false; !done; {
			next, done, err = file.Read(c.Context(), src, datafile.Request{Offset: next, Bytes: 1 << 20}, func(r *datafile.Row) bool {
				row := *r
				row.Key, row.Value, row.Headers = clone(r.Key), clone(r.Value), clone(r.Headers)
				all = append(all, row)
				return true
			})
			if err != nil {
				c.Fatal(err)
			}
		}
	}
	return all
}

func clone(b []byte) []byte {
	if b == nil {
		return nil
	}
	return append([]byte{}, b...)
}

// holds checks that the table has the offsets [from, to), each once, in files that do not overlap.
func (c *copyRig) holds(p *workertest.Part, from, to int64) {
	c.Helper()
	rows := c.rows(p)
	for i := range rows {
		if rows[i].Offset != from+int64(i) {
			c.Fatalf("%s: row %d of the table has offset %d, want %d", p.Topic.Name, i, rows[i].Offset, from+int64(i))
		}
	}
	if int64(len(rows)) != to-from {
		c.Fatalf("%s: %d rows in the table, want %d", p.Topic.Name, len(rows), to-from)
	}
	if _, state := c.files(p); state.Ends[p.Number] != to {
		c.Errorf("%s: the table ends at %d, want %d", p.Topic.Name, state.Ends[p.Number], to)
	}
}

// count is how often the log has a text.
func (c *copyRig) count(text string) int { return strings.Count(c.Logged.String(), text) }

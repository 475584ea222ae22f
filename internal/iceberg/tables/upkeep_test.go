package tables

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/korvet-io/korvet/internal/iceberg/store"
)

// counting counts what is asked of a store, and may refuse deletions. What is written has the time of its clock.
type counting struct {
	store.Store
	now        func() time.Time
	operations int
	bytes      int64
	refuse     error
}

func (c *counting) Put(ctx context.Context, location string, body io.Reader) error {
	c.operations++
	return errors.Join(c.Store.Put(ctx, location, &countingReader{body, c}), c.stamp(location))
}

func (c *counting) stamp(location string) error {
	u, err := url.Parse(location)
	if err != nil {
		return err
	}
	return os.Chtimes(u.Path, time.Time{}, c.now())
}

type countingReader struct {
	io.Reader
	c *counting
}

func (r *countingReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.c.bytes += int64(n)
	return n, err
}

func (c *counting) PutIfAbsent(ctx context.Context, location string, body []byte) error {
	c.operations++
	c.bytes += int64(len(body))
	err := c.Store.PutIfAbsent(ctx, location, body)
	if err == nil {
		err = c.stamp(location)
	}
	return err
}

func (c *counting) Read(ctx context.Context, location string) ([]byte, error) {
	c.operations++
	data, err := c.Store.Read(ctx, location)
	c.bytes += int64(len(data))
	return data, err
}

func (c *counting) Delete(ctx context.Context, locations []string) error {
	if c.refuse != nil && len(locations) > 0 {
		return c.refuse
	}
	return c.Store.Delete(ctx, locations)
}

// memoryHint is the hint as Redis keeps it.
type memoryHint struct{ number int64 }

func (h *memoryHint) Load(context.Context, string) (int64, error) { return h.number, nil }
func (h *memoryHint) Store(_ context.Context, _ string, n int64) error {
	h.number = n
	return nil
}

// aged is a table whose clock can be put forward.
type aged struct {
	*Table
	counts *counting
	skew   time.Duration
}

func newAged(t *testing.T) *aged {
	t.Helper()
	return newAgedAt(t, "file://"+t.TempDir())
}

func newAgedAt(t *testing.T, folder string) *aged {
	t.Helper()
	a := &aged{Table: newTableAt(t, folder)}
	a.counts = &counting{Store: a.store, now: func() time.Time { return time.Now().Add(a.skew) }}
	a.store, a.chain.Store, a.chain.Hint = a.counts, a.counts, &memoryHint{}
	a.chain.Now = a.counts.now
	return a
}

func (a *aged) folder(name string) string {
	u, err := url.Parse(a.chain.Location)
	if err != nil {
		panic(err)
	}
	return u.Path + "/" + name
}

// files counts those below a folder of the table.
func (a *aged) files(t *testing.T, folder string) (n int) {
	t.Helper()
	err := filepath.Walk(a.folder(folder), func(_ string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() {
			n++
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// reclaimAll reclaims until there is no more.
func (a *aged) reclaimAll(t *testing.T) (files int) {
	t.Helper()
	for {
		r, err := a.Reclaim(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		files += r.Files
		if !r.More {
			return files
		}
	}
}

// readable wants every file of the state to be there.
func (a *aged) readable(t *testing.T, s *State, data int) {
	t.Helper()
	files, err := a.Files(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, list := range files.Data {
		for _, f := range list {
			if _, err := a.store.Size(t.Context(), f.Location); err != nil {
				t.Errorf("a file of the table: %v", err)
			}
			n++
		}
	}
	if n != data {
		t.Errorf("%d data files, want %d", n, data)
	}
}

var rules = Rules{MaxAge: 10_000 * time.Hour, MinCount: 1, MaxCount: 100, MaxBytes: 512 << 10}

// commits makes commits of one small file each, and does the upkeep every 50, with a clock that moves on by a day.
func (a *aged) commits(t *testing.T, from, to int64) {
	t.Helper()
	s := state(t, a.Table)
	for i := from; i < to; i++ {
		var err error
		if s, err = a.Append(t.Context(), s, 1, []Added{put(t, a.Table, int32(i%4), i*10, i*10+10)}); err != nil {
			t.Fatal(err)
		}
		if i%50 != 49 {
			continue
		}
		if _, _, err = a.Expire(t.Context(), s, 1, rules); err != nil {
			t.Fatal(err)
		}
		a.skew += 25 * time.Hour
		a.reclaimAll(t)
		s = state(t, a.Table)
	}
}

// oneCommit counts what one commit asks of the store.
func (a *aged) oneCommit(t *testing.T, i int64) (operations int, bytes int64) {
	t.Helper()
	f := put(t, a.Table, int32(i%4), i*10, i*10+10)
	a.counts.operations, a.counts.bytes = 0, 0
	if _, err := a.Append(t.Context(), state(t, a.Table), 1, []Added{f}); err != nil {
		t.Fatal(err)
	}
	return a.counts.operations, a.counts.bytes
}

func TestATableOfManyCommitsStaysSmall(t *testing.T) {
	commits := int64(1000)
	if os.Getenv("KORVET_TEST_LONG") != "" {
		commits = 2000
	}
	a := newAged(t)
	var operations [2]int
	var bytes [2]int64
	for round, until := range []int64{200, commits} {
		a.commits(t, []int64{0, 221}[round], until)
		for i := range int64(21) { // one of them merges manifests
			o, b := a.oneCommit(t, until+i)
			operations[round], bytes[round] = operations[round]+o, bytes[round]+b
		}
	}
	t.Logf("21 commits after 200 and after %d: %v operations, %v bytes", commits, operations, bytes)
	if operations[1] > operations[0]*3/2 || bytes[1] > 2*bytes[0] {
		t.Errorf("commits grow: %v operations, %v bytes", operations, bytes)
	}
	s := state(t, a.Table)
	if n := len(s.version.Raw); n > 512<<10 {
		t.Errorf("metadata.json has %d bytes", n)
	}
	m := s.version.Metadata
	logs := 0
	for range m.SnapshotLogs() {
		logs++
	}
	if n := len(m.Snapshots()); n > 171 || logs > n {
		t.Errorf("%d snapshots, %d in the log", n, logs)
	}
	if n := a.files(t, "metadata"); n > 1000 {
		t.Errorf("%d files in metadata/", n)
	}
	a.readable(t, s, int(commits)+21)
	fresh := Open(a.chain, "korvet", "events")
	fresh.store = a.counts
	a.counts.operations = 0
	if _, err := fresh.Files(t.Context(), state(t, fresh)); err != nil || a.counts.operations > 100 {
		t.Errorf("loading takes %d reads, %v", a.counts.operations, err)
	}
	t.Logf("loading: %d reads; metadata.json %d bytes, %d snapshots, %d files in metadata/", a.counts.operations, len(s.version.Raw), len(m.Snapshots()), a.files(t, "metadata"))
}

func TestDroppedFilesGoWhenNobodyCanReadThem(t *testing.T) {
	a := newAged(t)
	var added []Added
	for i := range int64(10) {
		added = append(added, put(t, a.Table, 0, i*10, i*10+10))
	}
	s, err := a.Append(t.Context(), state(t, a.Table), 1, added)
	if err != nil {
		t.Fatal(err)
	}
	if s, _, err = a.DropBefore(t.Context(), s, 1, map[int32]int64{0: 60}); err != nil {
		t.Fatal(err)
	}
	for i := range keptVersions + 10 { // so that old versions may go at all
		if s, err = a.SetProperties(t.Context(), s, map[string]string{"n": fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
	a.skew = 25 * time.Hour
	if a.reclaimAll(t); a.files(t, "data") != 10 {
		t.Error("a file is gone that a snapshot names")
	}
	s, n, err := a.Expire(t.Context(), state(t, a.Table), 1, Rules{MaxAge: time.Hour, MinCount: 1, MaxCount: 100})
	if err != nil || n != 1 {
		t.Fatalf("%d snapshots expired, %v", n, err)
	}
	for i := range keptVersions + 10 {
		if s, err = a.SetProperties(t.Context(), s, map[string]string{"n": fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
	a.skew = 48 * time.Hour
	if swept, err := a.Sweep(t.Context(), 1, time.Hour); err != nil || swept.Orphans != 0 {
		t.Errorf("swept %+v, %v: they are no orphans", swept, err)
	}
	if a.reclaimAll(t); a.files(t, "data") != 10 {
		t.Error("a file is gone that a query of this day may be reading")
	}
	a.skew = 50 * time.Hour
	a.counts.refuse = os.ErrPermission
	if _, err := a.Reclaim(t.Context(), 1); err == nil || a.files(t, "data") != 10 {
		t.Errorf("with deletions refused: %v, %d data files", err, a.files(t, "data"))
	}
	a.counts.refuse = nil
	if a.reclaimAll(t); a.files(t, "data") != 4 {
		t.Errorf("%d data files, want the 4 of the table", a.files(t, "data"))
	}
	a.readable(t, state(t, a.Table), 4)
}

func TestOrphansAreSweptAndNothingElse(t *testing.T) {
	dir := t.TempDir()
	for name, folder := range map[string]string{"plain": "file://" + dir + "/plain", "one slash": "file:" + dir + "/one", "blank": "file://" + dir + "/a b"} {
		t.Run(name, func(t *testing.T) { orphansAreSwept(t, newAgedAt(t, folder)) })
	}
}

func orphansAreSwept(t *testing.T, a *aged) {
	t.Helper()
	s, err := a.Append(t.Context(), state(t, a.Table), 1, []Added{put(t, a.Table, 0, 0, 10)})
	if err != nil {
		t.Fatal(err)
	}
	put(t, a.Table, 0, 20, 30) // its commit never came
	stale := put(t, a.Table, 0, 10, 20)
	if _, err := a.SetProperties(t.Context(), s, map[string]string{"n": "1"}); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Append(t.Context(), s, 1, []Added{stale}); err == nil {
		t.Fatal("a commit on a state that is not the newest")
	}
	before := a.files(t, "metadata")
	if swept, err := a.Sweep(t.Context(), 1, 0); err != nil || swept.Orphans != 0 {
		t.Errorf("within an hour: %+v, %v", swept, err)
	}
	a.skew = 73 * time.Hour
	swept, err := a.Sweep(t.Context(), 1, 72*time.Hour)
	if err != nil || swept.Orphans != 4 || swept.Bytes == 0 || a.files(t, "data") != 1 || before-a.files(t, "metadata") != 2 {
		t.Errorf("swept %+v, %v; %d data files, %d of %d in metadata/", swept, err, a.files(t, "data"), a.files(t, "metadata"), before)
	}
	a.readable(t, state(t, a.Table), 1)
	if swept, err := a.Sweep(t.Context(), 1, 0); err != nil || swept.Orphans != 0 {
		t.Errorf("again: %+v, %v", swept, err)
	}
}

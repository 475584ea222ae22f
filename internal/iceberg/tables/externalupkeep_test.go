package tables

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/korvet-io/korvet/internal/iceberg/catalogs"
	"github.com/korvet-io/korvet/internal/iceberg/store"
)

// externalFiles lists those below a folder of the table.
func externalFiles(t *testing.T, tb *Table, folder string) (names []string) {
	t.Helper()
	err := tb.store.List(t.Context(), tb.chain.Location+"/"+folder+"/", func(o store.Object) error {
		names = append(names, o.Location)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// stray writes a file that no version names.
func stray(t *testing.T, tb *Table, name string) {
	t.Helper()
	if err := tb.store.Put(t.Context(), tb.chain.Location+"/"+name, strings.NewReader("stray")); err != nil {
		t.Fatal(err)
	}
}

// commitsTo has another catalog write some versions.
func commitsTo(t *testing.T, tb *Table, s *State, n int) {
	t.Helper()
	var err error
	for i := range n {
		if s, err = tb.SetProperties(t.Context(), s, map[string]string{"n": fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
}

func reclaimed(t *testing.T, tb *Table, fence int64) (r Reclaimed) {
	t.Helper()
	for {
		one, err := tb.Reclaim(t.Context(), fence)
		if err != nil {
			t.Fatal(err)
		}
		r.Files, r.Versions = r.Files+one.Files, r.Versions+one.Versions
		if !one.More {
			return r
		}
	}
}

// cleans has a table of another catalog whose files were dropped, whose snapshots expired, and beside which others left files.
func cleans(t *testing.T, s catalogs.Settings) {
	t.Helper()
	location := "file://" + t.TempDir() + "/a b/events"
	tb, other := openExternal(t, s, location), openExternal(t, s, location)
	skew := time.Duration(0)
	tb.chain.Now = func() time.Time { return time.Now().Add(skew) }
	if err := tb.Create(t.Context(), Life{Topic: "events", ID: "1"}, nil); err != nil {
		t.Fatal(err)
	}
	base := state(t, tb)
	at, err := tb.Append(t.Context(), base, 3, []Added{put(t, tb, 0, 0, 100), put(t, tb, 0, 100, 200), put(t, tb, 1, 0, 100)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Append(t.Context(), base, 3, []Added{put(t, other, 1, 0, 100)}); err == nil { // its files stay
		t.Fatal("a commit that came second was taken")
	}
	if at, _, err = tb.DropBefore(t.Context(), at, 3, map[int32]int64{0: 100}); err != nil {
		t.Fatal(err)
	}
	if at, _, err = tb.Expire(t.Context(), at, 3, Rules{MinCount: 1, MaxCount: 1}); err != nil {
		t.Fatal(err)
	}
	stray(t, tb, "data/partition=0/left.parquet")
	stray(t, tb, "metadata/00007-left.metadata.json")
	stray(t, tb, "elsewhere/kept.parquet")
	commitsTo(t, tb, at, 2*keptVersions)
	versions := len(externalFiles(t, tb, "metadata"))

	skew = 23 * time.Hour
	if r := reclaimed(t, tb, 3); r.Files+r.Versions != 0 {
		t.Errorf("%+v went that a query of this day may be reading", r)
	}
	if swept, err := tb.Sweep(t.Context(), 3, 24*time.Hour); err != nil || swept.Orphans != 0 {
		t.Errorf("swept %+v that are young, %v", swept, err)
	}
	if _, err := tb.Sweep(t.Context(), 2, 24*time.Hour); err == nil {
		t.Error("a worker that was late may sweep")
	}
	skew = 25 * time.Hour
	if at, err = tb.SetProperties(t.Context(), state(t, tb), map[string]string{"gc.enabled": "false"}); err != nil {
		t.Fatal(err)
	}
	if r := reclaimed(t, tb, 3); r.Files+r.Versions != 0 {
		t.Errorf("%+v went of a table that is not to be cleaned", r)
	}
	if swept, err := tb.Sweep(t.Context(), 3, 24*time.Hour); err != nil || swept.Orphans != 0 {
		t.Errorf("swept %+v of a table that is not to be cleaned, %v", swept, err)
	}
	if at, err = tb.SetProperties(t.Context(), at, map[string]string{"gc.enabled": "true"}); err != nil {
		t.Fatal(err)
	}
	if r := reclaimed(t, tb, 3); r.Files < 3 || r.Versions < keptVersions {
		t.Errorf("%+v went of %d files", r, versions)
	}
	if n := len(externalFiles(t, tb, "data")); n != 4 {
		t.Errorf("%d data files, want two of the table and two that are orphans", n)
	}
	swept, err := tb.Sweep(t.Context(), 3, 24*time.Hour)
	if err != nil || swept.Orphans < 3 {
		t.Errorf("swept %+v, %v", swept, err)
	}
	if n := len(externalFiles(t, tb, "data")); n != 2 {
		t.Errorf("%d data files, want the two of the table", n)
	}
	for _, name := range externalFiles(t, tb, "metadata") {
		if strings.Contains(name, "left") {
			t.Errorf("%s is left", name)
		}
	}
	if _, err := os.Stat(filepath.Join(strings.TrimPrefix(location, "file://"), "elsewhere", "kept.parquet")); err != nil {
		t.Errorf("a file in none of the table's folders: %v", err)
	}
	if swept, err := tb.Sweep(t.Context(), 3, 72*time.Hour); err != nil || swept.Orphans != 0 {
		t.Errorf("again: %+v, %v", swept, err)
	}
	next, err := other.Append(t.Context(), state(t, other), 3, []Added{put(t, other, 1, 100, 200)})
	if err != nil {
		t.Fatal(err)
	}
	if got := len(offsets(t, other, next, 0)) + len(offsets(t, other, next, 1)); got != 300 {
		t.Errorf("%d rows", got)
	}
	if v, err := tb.At(t.Context(), at.Version()); err != nil || v.Snapshot() != at.Snapshot() {
		t.Errorf("the version before: %v", err)
	}
}

func TestFilesOfATableInADatabaseGo(t *testing.T) { cleans(t, sqlSettings(t)) }

func TestFilesOfATableInARESTCatalogGo(t *testing.T) {
	cleans(t, catalogs.Settings{Type: "rest", URI: restCatalog(t, sqlSettings(t))})
}

// Where the catalog keeps metadata elsewhere nobody can tell what belongs to the table: nothing is deleted.
func TestATableWhoseMetadataIsElsewhereIsLeftAlone(t *testing.T) {
	tb := openExternal(t, sqlSettings(t), "file://"+t.TempDir()+"/events")
	if err := tb.Create(t.Context(), Life{Topic: "events", ID: "1"}, map[string]string{"write.metadata.path": "file://" + t.TempDir()}); err != nil {
		t.Fatal(err)
	}
	stray(t, tb, "data/partition=0/left.parquet")
	tb.chain.Now = func() time.Time { return time.Now().Add(100 * time.Hour) }
	swept, err := tb.Sweep(t.Context(), 1, time.Hour)
	if err != nil || swept.Orphans != 0 || len(externalFiles(t, tb, "data")) != 1 {
		t.Errorf("swept %+v, %v", swept, err)
	}
	if r := reclaimed(t, tb, 1); r.Files+r.Versions != 0 {
		t.Errorf("reclaimed %+v", r)
	}
}

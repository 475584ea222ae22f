package tables

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/apache/iceberg-go"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"

	"github.com/korvet-io/korvet/internal/iceberg/fileio"
)

// engineCatalog commits through Apply, with requirements and updates as they come over HTTP.
type engineCatalog struct {
	t  *testing.T
	tb *Table
}

func (c engineCatalog) LoadTable(context.Context, table.Identifier) (*table.Table, error) {
	return newEngine(c.t, c.tb), nil
}

func (c engineCatalog) CommitTable(ctx context.Context, _ table.Identifier, reqs []table.Requirement, updates []table.Update) (table.Metadata, string, error) {
	var r table.Requirements
	var u table.Updates
	for _, part := range []struct{ from, to any }{{reqs, &r}, {updates, &u}} {
		raw, err := json.Marshal(part.from)
		if err == nil {
			err = json.Unmarshal(raw, part.to)
		}
		if err != nil {
			return nil, "", err
		}
	}
	s, err := c.tb.Apply(ctx, NewTurns(64<<20), r, u)
	if err != nil {
		return nil, "", err
	}
	return s.version.Metadata, s.version.Location, nil
}

// newEngine is the table as an engine has loaded it.
func newEngine(t *testing.T, tb *Table) *table.Table {
	t.Helper()
	s := state(t, tb)
	fs := func(ctx context.Context) (iceio.IO, error) { return fileio.New(ctx, tb.store), nil }
	return table.New(tb.name, s.version.Metadata, s.version.Location, fs, engineCatalog{t, tb})
}

// appended is a table of three files of partition 0 and one of partition 1.
func appended(t testing.TB) (*Table, *State) {
	t.Helper()
	tb := newTable(t)
	s, err := tb.Append(t.Context(), state(t, tb), 1, []Added{put(t, tb, 0, 0, 100), put(t, tb, 0, 100, 200), put(t, tb, 0, 200, 300), put(t, tb, 1, 0, 50)})
	if err != nil {
		t.Fatal(err)
	}
	return tb, s
}

// entry makes a manifest's entry of a file that was put.
func entry(t *testing.T, tb *Table, a Added) iceberg.DataFile {
	t.Helper()
	d, err := newDataFile(&a, state(t, tb).version.Metadata)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// commit makes an engine's commit.
func commit(t *testing.T, tb *Table, change func(*table.Transaction) error) error {
	t.Helper()
	tx := newEngine(t, tb).NewTransaction()
	if err := change(tx); err != nil {
		t.Fatalf("the engine refuses by itself: %v", err)
	}
	_, err := tx.Commit(t.Context())
	return err
}

func TestEnginesMaintainTheTable(t *testing.T) {
	tb, s := appended(t)
	files, err := tb.Files(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	data := files.Data[0]
	steps := []struct {
		name   string
		change func(tx *table.Transaction) error
		rows   int
	}{
		{"a rewrite of two files", func(tx *table.Transaction) error {
			return tx.NewRewrite(nil).DeleteFile(data[0].entry).DeleteFile(data[1].entry).AddDataFile(entry(t, tb, put(t, tb, 0, 0, 200))).Commit(t.Context())
		}, 300},
		{"a rewrite of manifests", func(tx *table.Transaction) error {
			_, err := tx.RewriteManifests(t.Context())
			return err
		}, 300},
		{"properties of its own", func(tx *table.Transaction) error {
			return tx.SetProperties(iceberg.Properties{"write.parquet.compression-codec": "gzip", "owner": "ann"})
		}, 300},
		{"a delete that rewrites a file", func(tx *table.Transaction) error {
			return tx.ReplaceDataFilesWithDataFiles(t.Context(), []iceberg.DataFile{data[2].entry}, []iceberg.DataFile{entry(t, tb, put(t, tb, 0, 250, 299))}, nil)
		}, 249},
		{"a delete of a whole file", func(tx *table.Transaction) error {
			return tx.Delete(t.Context(), iceberg.NewAnd(iceberg.EqualTo(iceberg.Reference("partition"), int32(0)), iceberg.LessThan(iceberg.Reference("offset"), int64(200))), nil)
		}, 49},
		{"expiry", func(tx *table.Transaction) error {
			return tx.ExpireSnapshots(table.WithRetainLast(1), table.WithOlderThan(0), table.WithPostCommit(false))
		}, 49},
	}
	for _, step := range steps {
		if err := commit(t, tb, step.change); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		s := state(t, tb)
		if got := offsets(t, tb, s, 0); len(got) != step.rows {
			t.Errorf("%s: %d rows, want %d", step.name, len(got), step.rows)
		}
		if s.Ends[0] != 300 || s.Ends[1] != 50 || s.Fence != 1 {
			t.Errorf("%s: the table is at %+v", step.name, s)
		}
	}
	if n := len(state(t, tb).Snapshots()); n != 1 {
		t.Errorf("%d snapshots after expiry", n)
	}
	s, err = tb.Append(t.Context(), state(t, tb), 2, []Added{put(t, tb, 0, 300, 310)})
	if err != nil || len(offsets(t, tb, s, 0)) != 59 {
		t.Errorf("copying after that: %v", err)
	}
	if s.version.Metadata.Properties()["owner"] != "ann" {
		t.Error("the engine's property is gone")
	}
}

func TestCommitsThatChangeTheLogAreRefused(t *testing.T) {
	tb, s := appended(t)
	files, err := tb.Files(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	data := files.Data[0]
	twice := put(t, tb, 0, 100, 150)
	twice.Rows = 60
	changed := sameRows(100, 200)
	changed[50].Value = []byte("another")
	update := putRows(t, tb, 0, changed...)
	outside := put(t, tb, 0, 100, 200)
	outside.Location = "file://" + t.TempDir() + "/other.parquet"
	equality := func(tx *table.Transaction) error {
		b, err := iceberg.NewDataFileBuilder(s.version.Metadata.PartitionSpec(), iceberg.EntryContentEqDeletes, tb.chain.Location+"/data/eq.parquet", iceberg.ParquetFile,
			map[int]any{partitionFieldID: int32(0)}, nil, nil, 1, 100)
		if err != nil {
			return err
		}
		return tx.NewRowDelta(nil).AddDeletes(b.EqualityFieldIDs([]int{2}).Build()).Commit(t.Context())
	}
	replaced := func(a Added, of ...File) func(*table.Transaction) error {
		return func(tx *table.Transaction) error {
			return tx.ReplaceDataFilesWithDataFiles(t.Context(), entriesOf(of), []iceberg.DataFile{entry(t, tb, a)}, nil)
		}
	}
	for name, change := range map[string]func(*table.Transaction) error{
		"an insert": func(tx *table.Transaction) error {
			return tx.AddDataFiles(t.Context(), []iceberg.DataFile{entry(t, tb, put(t, tb, 0, 300, 310))}, nil)
		},
		"an insert into another partition": func(tx *table.Transaction) error {
			return tx.AddDataFiles(t.Context(), []iceberg.DataFile{entry(t, tb, put(t, tb, 9, 0, 10))}, nil)
		},
		"a merge that adds rows":        replaced(put(t, tb, 0, 100, 201), data[1]),
		"an update":                     replaced(update, data[1]),
		"an offset that is there twice": replaced(twice, data[1]),
		"rows at other offsets":         replaced(put(t, tb, 0, 1000, 1010), data[1]),
		"a file outside the table's":    replaced(outside, data[1]),
		"deletes by equality":           equality,
		"a property of korvet's": func(tx *table.Transaction) error {
			return tx.SetProperties(iceberg.Properties{"korvet.end.0": "7"})
		},
		"korvet's property removed": func(tx *table.Transaction) error { return tx.RemoveProperties([]string{"korvet.topic-id"}) },
		"metadata deleted by engines": func(tx *table.Transaction) error {
			return tx.SetProperties(iceberg.Properties{"write.metadata.delete-after-commit.enabled": "true"})
		},
		"a dropped column": func(tx *table.Transaction) error {
			return tx.UpdateSchema(true, true).DeleteColumn([]string{"key"}).Commit()
		},
		"another format version": func(tx *table.Transaction) error { return tx.UpgradeFormatVersion(3) },
	} {
		if err := commit(t, tb, change); !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %v, want ErrRefused", name, err)
		}
	}
	if now := state(t, tb); now.version.Number != s.version.Number {
		t.Errorf("version %d after nothing but refusals", now.version.Number)
	}
}

func TestBranchMainDoesNotGoBack(t *testing.T) {
	tb, s := appended(t)
	first := s.Snapshot()
	if _, err := tb.Append(t.Context(), s, 1, []Added{put(t, tb, 0, 300, 310)}); err != nil {
		t.Fatal(err)
	}
	if err := commit(t, tb, func(tx *table.Transaction) error { return tx.RollbackToSnapshot(first) }); !errors.Is(err, ErrRefused) {
		t.Errorf("a rollback: %v, want ErrRefused", err)
	}
	tag := func(text string) error {
		var u table.Updates
		if err := json.Unmarshal([]byte(text), &u); err != nil {
			t.Fatal(err)
		}
		_, err := tb.Apply(t.Context(), NewTurns(64<<20), nil, u)
		return err
	}
	if err := tag(fmt.Sprintf(`[{"action":"set-snapshot-ref","ref-name":"audit","type":"tag","snapshot-id":%d}]`, first)); err != nil {
		t.Errorf("a tag: %v", err)
	}
	for _, refused := range []string{
		`[{"action":"remove-snapshot-ref","ref-name":"main"}]`,
		fmt.Sprintf(`[{"action":"remove-snapshots","snapshot-ids":[%d]}]`, state(t, tb).Snapshot()),
		`[{"action":"set-snapshot-ref","ref-name":"main","type":"branch","snapshot-id":77}]`,
		`[{"action":"set-location","location":"file:///elsewhere"}]`,
		`[{"action":"add-snapshot","snapshot":{"snapshot-id":5,"sequence-number":99,"timestamp-ms":9999999999999,"manifest-list":"file:///x"}}]`,
		`[{"action":"assign-uuid","uuid":"9c12d441-03fe-4693-9a96-a0705ddf69c1"}]`,
	} {
		if err := tag(refused); !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %v, want ErrRefused", refused, err)
		}
	}
}

func TestAnEnginesCommitOnAnOlderStateIsAConflict(t *testing.T) {
	tb, s := appended(t)
	files, err := tb.Files(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	tx := newEngine(t, tb).NewTransaction()
	if err := tx.ReplaceDataFilesWithDataFiles(t.Context(), entriesOf(files.Data[0][:1]), []iceberg.DataFile{entry(t, tb, put(t, tb, 0, 0, 99))}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := tb.Append(t.Context(), s, 1, []Added{put(t, tb, 0, 300, 310)}); err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Commit(t.Context()); !errors.Is(err, ErrConflict) || errors.Is(err, ErrRefused) {
		t.Errorf("%v, want ErrConflict", err)
	}
	if got := offsets(t, tb, state(t, tb), 0); !slices.Equal(got, sequence(0, 310)) {
		t.Errorf("%d rows", len(got))
	}
}

// Trino's expire_snapshots removes the statistics of a snapshot in the request that removes the snapshot.
func TestStatisticsOfASnapshotThatIsRemoved(t *testing.T) {
	tb, s := appended(t)
	first := s.Snapshot()
	if _, err := tb.Append(t.Context(), s, 1, []Added{put(t, tb, 0, 300, 310)}); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		strings.ReplaceAll(`[{"action":"set-statistics","snapshot-id":N,"statistics":{"snapshot-id":N,"statistics-path":"L/metadata/a.stats","file-size-in-bytes":9,"file-footer-size-in-bytes":4,"blob-metadata":[]}}]`, "N", fmt.Sprint(first)),
		strings.ReplaceAll(`[{"action":"remove-snapshots","snapshot-ids":[N]},{"action":"remove-statistics","snapshot-id":N}]`, "N", fmt.Sprint(first)),
	} {
		var u table.Updates
		if err := json.Unmarshal([]byte(strings.ReplaceAll(text, "L", tb.chain.Location)), &u); err != nil {
			t.Fatal(err)
		}
		if _, err := tb.Apply(t.Context(), NewTurns(64<<20), table.Requirements{table.AssertTableUUID(state(t, tb).version.Metadata.TableUUID())}, u); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

package tables

import (
	"encoding/json"
	"errors"
	"os"
	"path"
	"strings"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/korvet-io/korvet/internal/iceberg/datafile"
)

// Properties that engines may set, with values that hinder the library that korvet commits with.
func TestPropertiesOfEnginesDoNotStopCopying(t *testing.T) {
	tb, _ := appended(t)
	for _, set := range []string{
		"commit.retry.min-wait-ms=3600000", "commit.retry.total-timeout-ms=1", "commit.retry.num-retries=x", "commit.manifest.target-size-bytes=-1", "commit.manifest-merge.max-concurrency=-7",
		"commit.manifest.min-count-to-merge=-1", "write.metadata.previous-versions-max=-5", "schema.name-mapping.default={{", "write.metadata.compression-codec=bad", "write.format.default=avro",
		"write.summary.partition-limit=-1", "history.expire.max-snapshot-age-ms=-1", "history.expire.min-snapshots-to-keep=-9", "write.metadata.metrics.column.offset=bad",
	} {
		name, value, _ := strings.Cut(set, "=")
		if err := commitJSON(t, tb, map[string]any{"action": "set-properties", "updates": map[string]string{name: value}}); err != nil {
			t.Fatalf("%s: %v", set, err)
		}
		s := state(t, tb)
		end := s.Ends[0]
		s, err := tb.Append(t.Context(), s, 2, []Added{put(t, tb, 0, end, end+10), put(t, tb, 0, end+10, end+20)})
		if err != nil {
			t.Fatalf("%s: copying: %v", set, err)
		}
		if got := s.version.Metadata.Properties()[name]; got != value {
			t.Errorf("%s: the property is %q after a copy", set, got)
		}
		if _, _, err = tb.Expire(t.Context(), s, 2, rules); err != nil {
			t.Errorf("%s: expiry: %v", set, err)
			continue
		}
		if _, _, err := tb.DropBefore(t.Context(), s, 2, map[int32]int64{0: 100}); err != nil {
			t.Errorf("%s: dropping: %v", set, err)
		}
	}
	if n := len(offsets(t, tb, state(t, tb), 0)); n != 200+14*20 {
		t.Errorf("%d rows", n)
	}
}

func commitJSON(t *testing.T, tb *Table, updates ...any) error {
	t.Helper()
	raw, err := json.Marshal(updates)
	if err != nil {
		t.Fatal(err)
	}
	var u table.Updates
	if err := json.Unmarshal(raw, &u); err != nil {
		t.Fatal(err)
	}
	_, err = tb.Apply(t.Context(), NewTurns(64<<20), nil, u)
	return err
}

// What a commit says of its files is compared with the files: those that they replace are deleted later.
func TestCommitsThatSayOtherThanTheirFilesAreRefused(t *testing.T) {
	tb, s := appended(t)
	files, err := tb.Files(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	old := files.Data[0][0] // offsets 0 to 99
	says := func(location string, first, last, bytes int64) iceberg.DataFile {
		a := Added{Location: location, Bytes: bytes, Summary: datafile.Summary{FirstOffset: first, LastOffset: last, Rows: last - first + 1}}
		return entry(t, tb, a)
	}
	rewrite := func(d iceberg.DataFile) func(*table.Transaction) error {
		return func(tx *table.Transaction) error {
			return tx.NewRewrite(nil).DeleteFile(old.entry).AddDataFile(d).Commit(t.Context())
		}
	}
	folder, name := path.Dir(old.Location), path.Base(old.Location)
	other, half := put(t, tb, 0, 100, 200), put(t, tb, 0, 0, 50)
	damaged := put(t, tb, 0, 0, 100)
	if err := os.WriteFile(strings.TrimPrefix(damaged.Location, "file://"), make([]byte, damaged.Bytes), 0o600); err != nil {
		t.Fatal(err)
	}
	deletes, err := iceberg.NewDataFileBuilder(s.version.Metadata.PartitionSpec(), iceberg.EntryContentPosDeletes, folder+"/gone-deletes.parquet", iceberg.ParquetFile,
		map[int]any{partitionFieldID: int32(0)}, nil, nil, 1, 100)
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*table.Transaction) error{
		"a file of the table once more": func(tx *table.Transaction) error {
			return tx.AddDataFiles(t.Context(), []iceberg.DataFile{old.entry}, nil, table.WithoutDuplicateCheck())
		},
		"a file by a second name":           rewrite(says(folder+"//"+name, 0, 99, old.Bytes)),
		"a file by an escaped name":         rewrite(says(folder+"/"+strings.Replace(name, ".", "%2E", 1), 0, 99, old.Bytes)),
		"a file outside by an escaped name": rewrite(says(folder+"/%2e%2e/%2e%2e/other.parquet", 0, 99, old.Bytes)),
		"a file that is not there":          rewrite(says(folder+"/gone.parquet", 0, 99, old.Bytes)),
		"a file of another size":            rewrite(says(half.Location, 0, 49, half.Bytes+7)),
		"a file of other offsets":           rewrite(says(other.Location, 0, 99, other.Bytes)),
		"a file of fewer rows":              rewrite(says(half.Location, 0, 98, half.Bytes)),
		"a damaged file":                    rewrite(says(damaged.Location, 0, 99, damaged.Bytes)),
		"a file of deletes that is not there": func(tx *table.Transaction) error {
			return tx.NewRowDelta(nil).AddDeletes(deletes.Build()).Commit(t.Context())
		},
	} {
		if err := commit(t, tb, change); !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %v, want ErrRefused", name, err)
		}
	}
	if now := state(t, tb); now.version.Number != s.version.Number {
		t.Errorf("version %d after nothing but refusals", now.version.Number)
	}
}

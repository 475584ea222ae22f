package tables

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/iceberg-go"

	"github.com/korvet-io/korvet/internal/iceberg/chain"
	"github.com/korvet-io/korvet/internal/iceberg/fileio"
)

// reopened is the table as a process that knows nothing of it has it.
func reopened(tb *Table) *Table { return Open(tb.chain, "korvet", "events") }

func TestDamagedMetadataIsAnErrorThatNamesTheFile(t *testing.T) {
	tb, s := appended(t)
	for i := range int64(18) { // with the next ones, manifests are merged
		var err error
		if s, err = tb.Append(t.Context(), s, 1, []Added{put(t, tb, 0, 300+i*10, 310+i*10)}); err != nil {
			t.Fatal(err)
		}
	}
	list := s.version.Metadata.CurrentSnapshot().ManifestList
	manifests, err := readList(fileio.New(t.Context(), tb.store), s.version.Metadata.CurrentSnapshot())
	if err != nil {
		t.Fatal(err)
	}
	for name, damage := range map[string]func([]byte) []byte{
		"other bytes":      func(b []byte) []byte { return bytes.Repeat([]byte{0x5a}, len(b)) },
		"a half":           func(b []byte) []byte { return b[:len(b)/2] },
		"nothing":          func([]byte) []byte { return nil },
		"a schema without": func(b []byte) []byte { return bytes.ReplaceAll(b, []byte(`"data_file"`), []byte(`"data_fill"`)) },
		"another codec":    func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("deflate"), []byte("deflatf")) },
	} {
		for _, location := range []string{list, manifests[0].FilePath(), manifests[len(manifests)-1].FilePath(), s.version.Location} {
			file := strings.TrimPrefix(location, "file://")
			whole, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			broken := damage(bytes.Clone(whole))
			if bytes.Equal(broken, whole) {
				continue
			}
			if err := os.WriteFile(file, broken, 0o600); err != nil {
				t.Fatal(err)
			}
			fresh := reopened(tb)
			now, err := fresh.State(t.Context())
			if err == nil {
				_, err = fresh.Files(t.Context(), now)
			}
			requireNamed(t, name, file, err)
			if location != s.version.Location { // copying knows the state and decodes what it has to
				for i := range int64(3) {
					end := 480 + i*10
					if _, err = tb.Append(t.Context(), s, 1, []Added{put(t, tb, 0, end, end+10)}); err != nil || location == list {
						break
					}
					s = state(t, tb)
				}
				if location == list {
					requireNamed(t, name+", copying", file, err)
				}
			}
			if err := os.WriteFile(file, whole, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func requireNamed(t *testing.T, damage, file string, err error) {
	t.Helper()
	if !errors.Is(err, chain.ErrCorrupt) || !strings.Contains(err.Error(), filepath.Base(file)) {
		t.Errorf("%s in %s: %v", damage, filepath.Base(file), err)
	}
}

// A damaged manifest is decoded where manifests are merged, too: in a goroutine of the library.
func TestAMergeOfDamagedManifestsIsAnError(t *testing.T) {
	tb, s := appended(t)
	damaged := ""
	for i := range int64(40) {
		next, err := tb.Append(t.Context(), s, 1, []Added{put(t, tb, 0, 300+i*10, 310+i*10)})
		if err != nil {
			requireNamed(t, "a schema without", damaged, err)
			return
		}
		if s = next; i > 0 {
			continue
		}
		manifests, err := readList(fileio.New(t.Context(), tb.store), s.version.Metadata.CurrentSnapshot())
		if err != nil {
			t.Fatal(err)
		}
		damaged = strings.TrimPrefix(manifests[len(manifests)-1].FilePath(), "file://")
		whole, err := os.ReadFile(damaged)
		if err == nil {
			err = os.WriteFile(damaged, bytes.ReplaceAll(whole, []byte(`"data_file"`), []byte(`"data_fill"`)), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Error("no manifest was merged")
}

func FuzzManifests(f *testing.F) {
	tb, _ := appended(f)
	files, err := filepath.Glob(strings.TrimPrefix(tb.chain.Location, "file://") + "/metadata/*.avro")
	if err != nil || len(files) < 2 {
		f.Fatal(files, err)
	}
	for _, name := range files {
		raw, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	m := iceberg.NewManifestFile(2, "m.avro", 1, 0, 1).Build()
	f.Fuzz(func(t *testing.T, raw []byte) {
		list, err := parseList("list.avro", raw)
		if err != nil && !errors.Is(err, chain.ErrCorrupt) {
			t.Error(err)
		}
		for _, of := range append(list, m) {
			entries, err := parseManifest(of, raw)
			if err != nil && !errors.Is(err, chain.ErrCorrupt) {
				t.Error(err)
			}
			for _, e := range entries {
				files := Files{Data: map[int32][]File{}}
				_ = files.add(e)
			}
		}
	})
}

package tables

import (
	"bytes"
	"context"
	"fmt"
	"sync"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/korvet-io/korvet/internal/iceberg/chain"
	"github.com/korvet-io/korvet/internal/iceberg/fileio"
)

// readList reads which manifests a snapshot has. chain.ErrCorrupt.
func readList(io fileio.IO, s *table.Snapshot) ([]iceberg.ManifestFile, error) {
	raw, err := io.ReadFile(s.ManifestList)
	if err != nil {
		return nil, fmt.Errorf("read manifest list: %w", err)
	}
	return parseList(s.ManifestList, raw)
}

func parseList(location string, raw []byte) (list []iceberg.ManifestFile, err error) {
	defer chain.Corrupted(location, &err)
	return iceberg.ReadManifestList(bytes.NewReader(raw))
}

// readManifest reads which files a manifest has. chain.ErrCorrupt.
func readManifest(io fileio.IO, m iceberg.ManifestFile) ([]iceberg.ManifestEntry, error) {
	raw, err := io.ReadFile(m.FilePath())
	if err != nil {
		return nil, fmt.Errorf("read manifest: %w", err)
	}
	return parseManifest(m, raw)
}

func parseManifest(m iceberg.ManifestFile, raw []byte) (entries []iceberg.ManifestEntry, err error) {
	defer chain.Corrupted(m.FilePath(), &err)
	for e, err := range m.Entries(fileio.Held{m.FilePath(): raw}, true) {
		if err != nil {
			return nil, err
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// checkedIO makes the IO of a change on a state. The library decodes manifests in goroutines of its own, where a panic would end
// the process: each one is decoded before the library has it.
func (t *Table) checkedIO(base *State) func(context.Context) fileio.IO {
	var mu sync.Mutex
	manifests, list := map[string]iceberg.ManifestFile{}, ""
	if s := base.version.Metadata.CurrentSnapshot(); s != nil {
		list = s.ManifestList
	}
	check := func(name string, raw []byte) error {
		mu.Lock()
		m, known := manifests[name]
		mu.Unlock()
		if known {
			_, err := parseManifest(m, raw)
			return err
		}
		if name != list {
			return nil
		}
		all, err := parseList(name, raw)
		mu.Lock()
		defer mu.Unlock()
		for _, m := range all {
			manifests[m.FilePath()] = m
		}
		return err
	}
	return func(ctx context.Context) fileio.IO { return fileio.New(ctx, t.store).Checked(check) }
}

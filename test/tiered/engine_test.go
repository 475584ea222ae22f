package tiered

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/apache/iceberg-go"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
	"github.com/google/uuid"
	"github.com/parquet-go/parquet-go"

	"github.com/korvet-io/korvet/internal/iceberg/datafile"
	"github.com/korvet-io/korvet/internal/iceberg/fileio"
	"github.com/korvet-io/korvet/internal/iceberg/jsoncolumns"
	"github.com/korvet-io/korvet/internal/iceberg/store"
)

// engine is one that knows the catalog's URL and the store, and commits as engines do.
type engine struct {
	url     string // of the table
	objects store.Store
}

// engine makes one for the table of a topic.
func (w *world) engine(table string) *engine {
	w.Helper()
	objects, err := store.Open(w.Context(), "file:///", store.S3{})
	if w.place.store.Endpoint != "" {
		objects, err = store.Open(w.Context(), w.place.location, w.place.store)
	}
	if err != nil {
		w.Fatal(err)
	}
	return &engine{url: "http://" + w.HTTPAddr + "/iceberg/v1/namespaces/korvet/tables/" + table, objects: objects}
}

// errAgain is a commit that came second: the engine reads the table and plans anew.
var errAgain = errors.New("the catalog says 409")

func (e *engine) ask(ctx context.Context, method string, body []byte) (m table.Metadata, location string, err error) {
	request, err := http.NewRequestWithContext(ctx, method, e.url, bytes.NewReader(body))
	if err != nil {
		return nil, "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, "", err
	}
	defer func() { _ = response.Body.Close() }()
	raw, err := io.ReadAll(response.Body)
	switch {
	case err != nil:
		return nil, "", err
	case response.StatusCode == http.StatusConflict:
		return nil, "", errAgain
	case response.StatusCode != http.StatusOK:
		return nil, "", fmt.Errorf("%s: %s", response.Status, raw)
	}
	var answer struct {
		Location string          `json:"metadata-location"`
		Metadata json.RawMessage `json:"metadata"`
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		return nil, "", err
	}
	m, err = table.ParseMetadataBytes(answer.Metadata)
	return m, answer.Location, err
}

// LoadTable implements the library's catalog.
func (e *engine) LoadTable(ctx context.Context, _ table.Identifier) (*table.Table, error) {
	return nil, errAgain
}

// CommitTable implements the library's catalog.
func (e *engine) CommitTable(ctx context.Context, _ table.Identifier, required []table.Requirement, updates []table.Update) (table.Metadata, string, error) {
	body, err := json.Marshal(map[string]any{"requirements": required, "updates": updates})
	if err != nil {
		return nil, "", err
	}
	return e.ask(ctx, http.MethodPost, body)
}

// seen is the table as the engine has loaded it.
type seen struct {
	*engine
	table *table.Table
	typed []datafile.Column // of JSON fields
	data  []iceberg.DataFile
}

func (e *engine) load(ctx context.Context) (*seen, error) {
	m, location, err := e.ask(ctx, http.MethodGet, nil)
	if err != nil {
		return nil, err
	}
	fs := func(ctx context.Context) (iceio.IO, error) { return fileio.New(ctx, e.objects), nil }
	s := &seen{engine: e, table: table.New(table.Identifier{"korvet", "t"}, m, location, fs, e)}
	s.typed = jsoncolumns.NewShredder(jsoncolumns.NewSet(m.CurrentSchema(), m.LastColumnID(), jsoncolumns.Limits{}).Columns()).Typed()
	current := m.CurrentSnapshot()
	if current == nil {
		return s, nil
	}
	objects := fileio.New(ctx, e.objects)
	manifests, err := current.Manifests(objects)
	if err != nil {
		return nil, err
	}
	for _, manifest := range manifests {
		for entry, err := range manifest.Entries(objects, true) {
			if err != nil {
				return nil, err
			}
			if d := entry.DataFile(); d.ContentType() == iceberg.EntryContentData {
				s.data = append(s.data, d)
			}
		}
	}
	return s, nil
}

func (s *seen) commit(ctx context.Context, change func(*table.Transaction) error) error {
	tx := s.table.NewTransaction()
	if err := change(tx); err != nil {
		return err
	}
	_, err := tx.Commit(ctx)
	return err
}

// put writes a file of the table and makes its manifest's entry.
func (s *seen) put(ctx context.Context, content iceberg.ManifestEntryContent, partition int32, rows int64, body []byte) (iceberg.DataFile, error) {
	location := s.table.Metadata().Location() + "/data/engine-" + uuid.NewString() + ".parquet"
	if err := s.objects.Put(ctx, location, bytes.NewReader(body)); err != nil {
		return nil, err
	}
	b, err := iceberg.NewDataFileBuilder(s.table.Metadata().PartitionSpec(), content, location, iceberg.ParquetFile, map[int]any{1000: partition}, nil, nil, rows, int64(len(body)))
	if err != nil {
		return nil, err
	}
	return b.Build(), nil
}

// rangeOf reads a data file.
type rangeOf struct {
	objects  store.Store
	location string
}

func (r rangeOf) ReadRange(ctx context.Context, p []byte, off int64) error {
	return r.objects.ReadRange(ctx, r.location, p, off)
}

// rewritten is a data file anew, with the rows that are kept, as keep has left them.
func (s *seen) rewritten(ctx context.Context, d iceberg.DataFile, keep func(*datafile.Row) bool) (iceberg.DataFile, error) {
	partition := partitionOf(d)
	src := rangeOf{s.objects, d.FilePath()}
	f, err := datafile.OpenTyped(ctx, src, d.FileSizeBytes(), s.typed)
	if err != nil {
		return nil, err
	}
	var body bytes.Buffer
	w, rows := datafile.NewWriter(&body, partition, datafile.Options{PageBytes: 64 << 10, RowGroupBytes: 1 << 20, CreatedBy: "an engine", Typed: s.typed}), int64(0)
	q := datafile.Request{Bytes: 1 << 20}
	for done := false; err == nil && !done; {
		q.Offset, done, err = f.Read(ctx, src, q, func(r *datafile.Row) bool {
			if !keep(r) {
				return true
			}
			rows++
			err = w.Write(r)
			return err == nil
		})
	}
	if err == nil {
		_, err = w.Close()
	}
	if err != nil {
		return nil, err
	}
	return s.put(ctx, iceberg.EntryContentData, partition, rows, body.Bytes())
}

func partitionOf(d iceberg.DataFile) int32 { return d.Partition()[1000].(int32) }

// rewrite puts data files anew in their place, with the rows that are kept.
func (s *seen) rewrite(ctx context.Context, keep func(*datafile.Row) bool, files ...iceberg.DataFile) error {
	var by []iceberg.DataFile
	for _, d := range files {
		one, err := s.rewritten(ctx, d, keep)
		if err != nil {
			return err
		}
		by = append(by, one)
	}
	return s.commit(ctx, func(tx *table.Transaction) error {
		return tx.ReplaceDataFilesWithDataFiles(ctx, files, by, nil, table.WithoutAutoNameMapping())
	})
}

// first is the offset of a data file's first row.
func (s *seen) first(ctx context.Context, d iceberg.DataFile) (offset int64, err error) {
	src := rangeOf{s.objects, d.FilePath()}
	f, err := datafile.Open(ctx, src, d.FileSizeBytes())
	if err != nil {
		return 0, err
	}
	_, _, err = f.Read(ctx, src, datafile.Request{Bytes: 1}, func(r *datafile.Row) bool {
		offset = r.Offset
		return false
	})
	return offset, err
}

// deleteFirst deletes the first row of a data file by its position.
func (s *seen) deleteFirst(ctx context.Context, d iceberg.DataFile) error {
	type position struct {
		Path     string `parquet:"file_path,id(2147483546)"`
		Position int64  `parquet:"pos,id(2147483545)"`
	}
	var body bytes.Buffer
	f := parquet.NewGenericWriter[position](&body)
	_, err := f.Write([]position{{d.FilePath(), 0}})
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	deletes, err := s.put(ctx, iceberg.EntryContentPosDeletes, partitionOf(d), 1, body.Bytes())
	if err != nil {
		return err
	}
	return s.commit(ctx, func(tx *table.Transaction) error { return tx.NewRowDelta(nil).AddDeletes(deletes).Commit(ctx) })
}

// expire removes all snapshots but the newest.
func (s *seen) expire(ctx context.Context) error {
	return s.commit(ctx, func(tx *table.Transaction) error {
		return tx.ExpireSnapshots(table.WithRetainLast(1), table.WithOlderThan(0), table.WithPostCommit(false))
	})
}

package model

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"

	"github.com/apache/iceberg-go"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
	"github.com/parquet-go/parquet-go"

	"github.com/korvet-io/korvet/internal/iceberg/datafile"
	"github.com/korvet-io/korvet/internal/iceberg/fileio"
	"github.com/korvet-io/korvet/internal/iceberg/jsoncolumns"
	"github.com/korvet-io/korvet/internal/iceberg/store"
	"github.com/korvet-io/korvet/internal/iceberg/tables"
	"github.com/korvet-io/korvet/internal/record"
)

// engine is one that has loaded the topic's table, and commits through what korvet's REST catalog calls.
type engine struct {
	w        *world
	ours     *tables.Table
	location string
	objects  store.Store
	table    *table.Table
	shredder *jsoncolumns.Shredder // of the table's typed columns
	files    []tables.File         // of the step's partition
	entries  map[string]iceberg.DataFile
	rows     []tableRow // those that are there, of the partition
}

// LoadTable refuses: the program commits nothing beside.
func (e *engine) LoadTable(context.Context, table.Identifier) (*table.Table, error) {
	return nil, errors.New("the table was changed beside")
}

// CommitTable commits requirements and updates as they come over HTTP.
func (e *engine) CommitTable(ctx context.Context, _ table.Identifier, reqs []table.Requirement, updates []table.Update) (table.Metadata, string, error) {
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
	s, err := e.ours.Apply(ctx, tables.NewTurns(64<<20), r, u)
	if err != nil {
		return nil, "", err
	}
	m, err := table.ParseMetadataBytes(s.Raw())
	return m, s.MetadataLocation(), err
}

// loadEngine loads the table; nil: there is none, or it has nothing of the partition.
func (w *world) loadEngine() (*engine, error) {
	ours, entry := w.table()
	state, files, _, err := w.tableFiles()
	if err != nil || state == nil || len(files.Data[w.ref.Partition]) == 0 {
		return nil, err
	}
	e := &engine{w: w, ours: ours, location: entry.Location, objects: w.openTier(slog.New(slog.DiscardHandler)).Store, files: files.Data[w.ref.Partition], entries: map[string]iceberg.DataFile{}}
	m, err := table.ParseMetadataBytes(state.Raw())
	if err != nil {
		return nil, err
	}
	e.shredder = jsoncolumns.NewShredder(state.Columns(jsoncolumns.Limits{}).Columns())
	fs := func(ctx context.Context) (iceio.IO, error) { return fileio.New(ctx, e.objects), nil }
	e.table = table.New(table.Identifier{"korvet", entry.Name}, m, state.MetadataLocation(), fs, e)
	objects := fileio.New(w.ctx, e.objects)
	manifests, err := m.CurrentSnapshot().Manifests(objects)
	if err != nil {
		return nil, err
	}
	for _, manifest := range manifests {
		for entry, err := range manifest.Entries(objects, true) {
			if err != nil {
				return nil, err
			}
			e.entries[entry.DataFile().FilePath()] = entry.DataFile()
		}
	}
	e.rows, err = liveRows(files, w.ref.Partition)
	return e, err
}

// of are the rows of some files by rising offset.
func (e *engine) of(files []tables.File) (rows []tableRow) {
	for _, r := range e.rows {
		if slices.ContainsFunc(files, func(f tables.File) bool { return f.Location == r.file }) {
			rows = append(rows, r)
		}
	}
	return rows
}

// engineCommits has an engine delete rows, or rewrite files without changing what is in them.
func (w *world) engineCommits() (Latitude, error) {
	e, err := w.loadEngine()
	if err != nil || e == nil {
		return Latitude{}, errors.Join(err, w.produceInstead(err))
	}
	at := w.rnd.IntN(len(e.files))
	some := e.files[at:min(len(e.files), at+1+w.rnd.IntN(3))]
	change := []func([]tables.File) (string, []tableRow, func(*table.Transaction) error, error){e.deletePositions, e.rewriteFewer, e.deleteFiles, e.rewriteSame}[w.rnd.IntN(4)]
	what, gone, commit, err := change(some)
	if err != nil {
		return Latitude{}, err
	}
	if commit == nil {
		return w.produce()
	}
	w.say("an engine %s, %d rows of %d files from offset %d are deleted", what, len(gone), len(some), some[0].First)
	tx := e.table.NewTransaction()
	if err = commit(tx); err == nil {
		_, err = tx.Commit(w.ctx)
	}
	if err != nil {
		return Latitude{}, fmt.Errorf("an engine %s: %w", what, err)
	}
	w.done.UpkeepDone("engine", 1)
	for i := range gone {
		if r := w.log.find(gone[i].Offset); r != nil {
			r.Deleted = true
		}
	}
	w.forgetRemote()
	return Latitude{}, w.checkTable()
}

func (w *world) produceInstead(err error) error {
	if err == nil {
		_, err = w.produce()
	}
	return err
}

// deletePositions writes a file of position deletes.
func (e *engine) deletePositions(some []tables.File) (string, []tableRow, func(*table.Transaction) error, error) {
	rows := e.of(some[:1])
	gone, _ := e.split(rows)
	if len(gone) == 0 {
		return "", nil, nil, nil
	}
	type position struct {
		Path     string `parquet:"file_path,id(2147483546)"`
		Position int64  `parquet:"pos,id(2147483545)"`
	}
	list := make([]position, len(gone))
	for i := range gone {
		list[i] = position{gone[i].file, gone[i].position}
	}
	slices.SortFunc(list, func(a, b position) int { return int(a.Position - b.Position) })
	d, err := e.put("deletes", iceberg.EntryContentPosDeletes, int64(len(list)), nil, func(w io.Writer) error {
		f := parquet.NewGenericWriter[position](w)
		if _, err := f.Write(list); err != nil {
			return err
		}
		return f.Close()
	})
	return "deletes by position", gone, func(tx *table.Transaction) error {
		return tx.NewRowDelta(nil).AddDeletes(d).Commit(e.w.ctx)
	}, err
}

// rewriteFewer writes files anew without some rows.
func (e *engine) rewriteFewer(some []tables.File) (string, []tableRow, func(*table.Transaction) error, error) {
	gone, left := e.split(e.of(some))
	if len(gone) == 0 || len(left) == 0 {
		return "", nil, nil, nil
	}
	added, err := e.putRows(left)
	return "deletes by rewriting", gone, func(tx *table.Transaction) error {
		return tx.ReplaceDataFilesWithDataFiles(e.w.ctx, e.entriesOf(some), []iceberg.DataFile{added}, nil, table.WithoutAutoNameMapping())
	}, err
}

// deleteFiles takes whole files out of the table.
func (e *engine) deleteFiles(some []tables.File) (string, []tableRow, func(*table.Transaction) error, error) {
	some = some[:1]
	return "deletes whole files", e.of(some), func(tx *table.Transaction) error {
		return tx.ReplaceFiles(e.w.ctx, e.entriesOf(some), nil, nil, nil, table.WithoutAutoNameMapping())
	}, nil
}

// rewriteSame puts the same rows into one file, or into two by turns.
func (e *engine) rewriteSame(some []tables.File) (string, []tableRow, func(*table.Transaction) error, error) {
	rows := e.of(some)
	if len(rows) == 0 {
		return "", nil, nil, nil
	}
	lists := [][]tableRow{rows}
	if len(rows) > 1 && e.w.rnd.IntN(2) == 0 {
		lists = make([][]tableRow, 2)
		for i, r := range rows {
			lists[i%2] = append(lists[i%2], r)
		}
	}
	added := make([]iceberg.DataFile, len(lists))
	for i, list := range lists {
		var err error
		if added[i], err = e.putRows(list); err != nil {
			return "", nil, nil, err
		}
	}
	return "rewrites files", nil, func(tx *table.Transaction) error {
		rewrite := tx.NewRewrite(nil)
		for _, d := range e.entriesOf(some) {
			rewrite.DeleteFile(d)
		}
		for _, d := range added {
			rewrite.AddDataFile(d)
		}
		return rewrite.Commit(e.w.ctx)
	}, nil
}

// split draws which rows go: some of them, or all from one to another.
func (e *engine) split(rows []tableRow) (gone, left []tableRow) {
	if len(rows) == 0 {
		return nil, nil
	}
	from, to, spread := e.w.rnd.IntN(len(rows)), e.w.rnd.IntN(len(rows)+1), e.w.rnd.IntN(2) == 0
	for i, r := range rows {
		if spread && e.w.rnd.IntN(3) == 0 || !spread && i >= min(from, to) && i < max(from, to) {
			gone = append(gone, r)
		} else {
			left = append(left, r)
		}
	}
	return gone, left
}

func (e *engine) entriesOf(files []tables.File) (list []iceberg.DataFile) {
	for _, f := range files {
		list = append(list, e.entries[f.Location])
	}
	return list
}

// putRows writes a data file with all columns that the table has. Its manifest's entry has bounds of the offsets, or none at all.
func (e *engine) putRows(rows []tableRow) (iceberg.DataFile, error) {
	bounds := map[int][2]int64{}
	if e.w.rnd.IntN(2) == 0 {
		bounds[datafile.OffsetID] = [2]int64{rows[0].Offset, rows[len(rows)-1].Offset}
	}
	return e.put("data", iceberg.EntryContentData, int64(len(rows)), bounds, func(w io.Writer) error {
		options := e.w.remote.upkeep.Merge.Options
		options.Typed = e.shredder.Typed()
		f := datafile.NewWriter(w, e.w.ref.Partition, options)
		for i := range rows {
			r := &rows[i]
			row := datafile.Row{Record: record.Record{Offset: r.Offset, Timestamp: r.Timestamp, Key: r.Key, Value: r.Value, Headers: encodeHeaders(r.Headers)}, AppendMs: int64(r.AppendMs)}
			row.Cells, _ = e.shredder.Cells(r.Value)
			if err := f.Write(&row); err != nil {
				return err
			}
		}
		_, err := f.Close()
		return err
	})
}

// put writes a file below the table's location.
func (e *engine) put(name string, content iceberg.ManifestEntryContent, rows int64, bounds map[int][2]int64, write func(io.Writer) error) (iceberg.DataFile, error) {
	location := fmt.Sprintf("%s/data/engine-%s-%016x.parquet", e.location, name, e.w.rnd.Uint64())
	r, w := io.Pipe()
	go func() { _ = w.CloseWithError(write(w)) }()
	if err := e.objects.Put(e.w.ctx, location, r); err != nil {
		return nil, err
	}
	size, err := e.objects.Size(e.w.ctx, location)
	if err != nil {
		return nil, err
	}
	b, err := iceberg.NewDataFileBuilder(e.table.Metadata().PartitionSpec(), content, location, iceberg.ParquetFile, map[int]any{1000: e.w.ref.Partition}, nil, nil, rows, size)
	if err != nil {
		return nil, err
	}
	low, high := map[int][]byte{}, map[int][]byte{}
	for id, bound := range bounds {
		low[id], high[id] = binary.LittleEndian.AppendUint64(nil, uint64(bound[0])), binary.LittleEndian.AppendUint64(nil, uint64(bound[1]))
	}
	return b.LowerBoundValues(low).UpperBoundValues(high).Build(), nil
}

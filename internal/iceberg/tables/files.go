package tables

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/apache/iceberg-go"

	"github.com/korvet-io/korvet/internal/iceberg/datafile"
	"github.com/korvet-io/korvet/internal/iceberg/fileio"
	"github.com/korvet-io/korvet/internal/iceberg/store"
)

// File is a data file of the table as its manifests have it.
type File struct {
	Location                   string
	Partition                  int32
	Rows, Bytes                int64
	First, Last                int64 // offsets
	MinTimestamp, MaxTimestamp int64 // ms; not known when !Timed
	MinAppendMs, MaxAppendMs   int64 // 0 and the highest there is when not known
	Timed                      bool
	Sequence                   int64 // data sequence number: deletes of higher ones, and position deletes of the same, apply
	entry                      iceberg.DataFile
}

// Files is what a state's snapshot holds.
type Files struct {
	Data    map[int32][]File // by partition, by rising first offset
	Deletes []Deletes
}

// Deletes is a file of position deletes, as engines write them when they delete rows.
type Deletes struct {
	Location  string
	Bytes     int64
	Partition int32
	Sequence  int64
	Of        string // the one data file it is about; "": any of the partition
	entry     iceberg.DataFile
}

// Concerns tells whether the file may have deletes of a data file.
func (d *Deletes) Concerns(f *File) bool {
	return d.Partition == f.Partition && f.Sequence <= d.Sequence && (d.Of == "" || SameLocation(d.Of, f.Location))
}

// SameLocation compares locations: Java writes file:/dir for file:///dir, and has several schemes for one store.
func SameLocation(a, b string) bool { return store.Plain(a) == store.Plain(b) }

// fileCache keeps what was read of manifests, which never change.
type fileCache struct {
	mu        sync.Mutex
	manifests map[string][]iceberg.ManifestEntry
	snapshot  int64
	files     *Files
}

// Files reads which files a state has. What it read for an earlier state it does not read again.
func (t *Table) Files(ctx context.Context, s *State) (*Files, error) {
	t.files.mu.Lock()
	defer t.files.mu.Unlock()
	current := s.version.Metadata.CurrentSnapshot()
	if current == nil {
		return &Files{}, nil
	}
	if t.files.files != nil && t.files.snapshot == current.SnapshotID {
		return t.files.files, nil
	}
	io := fileio.New(ctx, t.store)
	manifests, err := readList(io, current)
	if err != nil {
		return nil, fmt.Errorf("read table's files: %w", err)
	}
	known := map[string][]iceberg.ManifestEntry{}
	files := &Files{Data: map[int32][]File{}}
	for _, m := range manifests {
		entries, ok := t.files.manifests[m.FilePath()]
		if !ok {
			if entries, err = readManifest(io, m); err != nil {
				return nil, fmt.Errorf("read table's files: %w", err)
			}
		}
		known[m.FilePath()] = entries
		for _, e := range entries {
			if err := files.add(e); err != nil {
				return nil, fmt.Errorf("read manifest %s: %w", m.FilePath(), err)
			}
		}
	}
	for _, list := range files.Data {
		for i := range list {
			if err := t.bounds(ctx, &list[i]); err != nil {
				return nil, fmt.Errorf("read table's files: %w", err)
			}
		}
		slices.SortFunc(list, func(a, b File) int { return int(min(max(a.First-b.First, -1), 1)) })
	}
	t.files.manifests, t.files.snapshot, t.files.files = known, current.SnapshotID, files
	return files, nil
}

func (f *Files) add(e iceberg.ManifestEntry) error {
	d := e.DataFile()
	partition, ok := d.Partition()[partitionFieldID].(int32)
	if !ok {
		return fmt.Errorf("%s: no partition but %v", d.FilePath(), d.Partition())
	}
	switch d.ContentType() {
	case iceberg.EntryContentData:
		file := newFile(partition, e)
		f.Data[partition] = append(f.Data[partition], file)
	case iceberg.EntryContentPosDeletes:
		f.Deletes = append(f.Deletes, newDeletes(partition, e))
	default:
		return fmt.Errorf("%s: deletes by equality are not supported", d.FilePath())
	}
	return nil
}

// newDeletes is a file of position deletes as its manifest has it.
func newDeletes(partition int32, e iceberg.ManifestEntry) Deletes {
	d := e.DataFile()
	deletes := Deletes{Location: d.FilePath(), Bytes: d.FileSizeBytes(), Partition: partition, Sequence: e.SequenceNum(), entry: d}
	if of := d.ReferencedDataFile(); of != nil {
		deletes.Of = *of
	}
	return deletes
}

// newFile is a data file as its manifest has it. Without bounds of the offsets there, Last is below First.
func newFile(partition int32, e iceberg.ManifestEntry) File {
	d := e.DataFile()
	f := File{Location: d.FilePath(), Partition: partition, Rows: d.Count(), Bytes: d.FileSizeBytes(), Sequence: e.SequenceNum(), entry: d, Last: -1, MaxAppendMs: math.MaxInt64}
	low, high := d.LowerBoundValues(), d.UpperBoundValues()
	if first, last := low[datafile.OffsetID], high[datafile.OffsetID]; len(first) == 8 && len(last) == 8 {
		f.First, f.Last = int64(binary.LittleEndian.Uint64(first)), int64(binary.LittleEndian.Uint64(last))
	}
	if least, most := low[datafile.TimestampID], high[datafile.TimestampID]; len(least) == 8 && len(most) == 8 {
		f.MinTimestamp, f.MaxTimestamp = datafile.Millis(int64(binary.LittleEndian.Uint64(least))), datafile.Millis(int64(binary.LittleEndian.Uint64(most)))
		f.Timed = true
	}
	if least, most := low[datafile.AppendTimeID], high[datafile.AppendTimeID]; len(least) == 8 && len(most) == 8 {
		f.MinAppendMs, f.MaxAppendMs = datafile.Millis(int64(binary.LittleEndian.Uint64(least))), datafile.Millis(int64(binary.LittleEndian.Uint64(most)))
	}
	return f
}

// bounds reads a data file's offsets from its end where its manifest does not tell them.
func (t *Table) bounds(ctx context.Context, f *File) error {
	if f.Last >= f.First {
		return nil
	}
	d, err := datafile.Open(ctx, object{t.store, f.Location}, f.Bytes)
	if err != nil {
		return fmt.Errorf("%s: %w", f.Location, err)
	}
	first, last, ok := d.Offsets()
	if !ok {
		return fmt.Errorf("%s: neither its manifest nor the file tells which offsets it has", f.Location)
	}
	f.First, f.Last = first, last
	return nil
}

// object is one object of a store as data files read it.
type object struct {
	store    store.Store
	location string
}

// ReadRange implements datafile.Source.
func (o object) ReadRange(ctx context.Context, p []byte, off int64) error {
	return o.store.ReadRange(ctx, o.location, p, off)
}

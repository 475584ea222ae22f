package tables

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"

	"github.com/apache/iceberg-go"

	"github.com/korvet-io/korvet/internal/iceberg/datafile"
	"github.com/korvet-io/korvet/internal/iceberg/fileio"
)

// File is a data file of the table as its manifests have it.
type File struct {
	Location                   string
	Partition                  int32
	Rows, Bytes                int64
	First, Last                int64 // offsets
	MinTimestamp, MaxTimestamp int64 // ms; not known when !Timed
	MaxAppendMs                int64
	Timed                      bool
	Sequence                   int64 // data sequence number: deletes of higher ones, and position deletes of the same, apply
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
}

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
	manifests, err := current.Manifests(io)
	if err != nil {
		return nil, fmt.Errorf("read table's manifest list: %w", err)
	}
	known := map[string][]iceberg.ManifestEntry{}
	files := &Files{Data: map[int32][]File{}}
	for _, m := range manifests {
		entries, ok := t.files.manifests[m.FilePath()]
		if !ok {
			for e, err := range m.Entries(io, true) {
				if err != nil {
					return nil, fmt.Errorf("read manifest %s: %w", m.FilePath(), err)
				}
				entries = append(entries, e)
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
		file := File{Location: d.FilePath(), Partition: partition, Rows: d.Count(), Bytes: d.FileSizeBytes(), Sequence: e.SequenceNum()}
		if err := file.bounds(d); err != nil {
			return err
		}
		f.Data[partition] = append(f.Data[partition], file)
	case iceberg.EntryContentPosDeletes:
		deletes := Deletes{Location: d.FilePath(), Bytes: d.FileSizeBytes(), Partition: partition, Sequence: e.SequenceNum()}
		if of := d.ReferencedDataFile(); of != nil {
			deletes.Of = *of
		}
		f.Deletes = append(f.Deletes, deletes)
	default:
		return fmt.Errorf("%s: deletes by equality are not supported", d.FilePath())
	}
	return nil
}

// bounds reads the offsets and times that the manifest tells of.
func (f *File) bounds(d iceberg.DataFile) error {
	low, high := d.LowerBoundValues(), d.UpperBoundValues()
	first, last := low[datafile.OffsetID], high[datafile.OffsetID]
	if len(first) != 8 || len(last) != 8 {
		return fmt.Errorf("%s: no bounds of its offsets", f.Location)
	}
	f.First, f.Last = int64(binary.LittleEndian.Uint64(first)), int64(binary.LittleEndian.Uint64(last))
	if least, most := low[datafile.TimestampID], high[datafile.TimestampID]; len(least) == 8 && len(most) == 8 {
		f.MinTimestamp, f.MaxTimestamp = datafile.Millis(int64(binary.LittleEndian.Uint64(least))), datafile.Millis(int64(binary.LittleEndian.Uint64(most)))
		f.Timed = true
	}
	if most := high[datafile.AppendTimeID]; len(most) == 8 {
		f.MaxAppendMs = datafile.Millis(int64(binary.LittleEndian.Uint64(most)))
	}
	return nil
}

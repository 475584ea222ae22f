package tables

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"strconv"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/korvet-io/korvet/internal/epoch"
	"github.com/korvet-io/korvet/internal/iceberg/datafile"
	"github.com/korvet-io/korvet/internal/iceberg/jsoncolumns"
)

// Added is a data file that is on the store and not in the table yet.
type Added struct {
	Partition int32
	Location  string
	Bytes     int64
	datafile.Summary
	// End is the offset up to which the partition is in the table with it; above its last offset where the last ones have
	// gone from the log.
	End int64
	// Epochs are the leader epochs that the log tells of up to there; none where it is not known.
	Epochs epoch.History
}

// Append adds files in one snapshot on a state, for the storage worker of a fencing number. Those of one partition are given
// by rising offsets, above all that the table ever had of it. Files with typed columns need all columns of the Set that theirs
// are of; the table has the new ones from then on.
func (t *Table) Append(ctx context.Context, base *State, fence int64, files []Added, columns ...jsoncolumns.Column) (*State, error) {
	if base.Fence > fence {
		return nil, fmt.Errorf("append to table: %w: %d above %d", ErrFenced, base.Fence, fence)
	}
	ends, firsts, epochs := maps.Clone(base.Ends), map[int32]int64{}, map[int32]epoch.History{}
	list := make([]iceberg.DataFile, len(files))
	for i, f := range files {
		if f.FirstOffset < ends[f.Partition] || f.LastOffset < f.FirstOffset || f.End <= f.LastOffset {
			return nil, fmt.Errorf("append to table: %w: partition %d, %d to %d, table's end %d", ErrOverlap, f.Partition, f.FirstOffset, f.LastOffset, ends[f.Partition])
		}
		if _, known := firsts[f.Partition]; !known {
			firsts[f.Partition] = f.FirstOffset
		}
		ends[f.Partition] = f.End
		epochs[f.Partition] = f.Epochs
		d, err := newDataFile(&f, base.version.Metadata)
		if err != nil {
			return nil, fmt.Errorf("append to table: %w", err)
		}
		list[i] = d
	}
	tx, c, err := t.transaction(base)
	if err != nil {
		return nil, fmt.Errorf("append to table: %w", err)
	}
	number := strconv.FormatInt(fence, 10)
	properties, summary := iceberg.Properties{fenceProperty: number}, iceberg.Properties{fenceProperty: number}
	for p, first := range firsts {
		partition, end := strconv.Itoa(int(p)), strconv.FormatInt(ends[p], 10)
		properties[endProperty+partition] = end
		if h := epochs[p].Below(ends[p]); len(h) > 0 {
			properties[epochsProperty+partition] = h.Text()
		}
		summary[rangeProperty+partition] = strconv.FormatInt(first, 10) + "-" + end
	}
	if err := addColumns(tx, base, columns); err != nil {
		return nil, fmt.Errorf("append to table: %w", err)
	}
	if err := tx.SetProperties(properties); err != nil {
		return nil, fmt.Errorf("append to table: %w", err)
	}
	if err := tx.AddDataFiles(ctx, list, summary, table.WithoutDuplicateCheck(), table.WithoutAutoNameMapping()); err != nil {
		return nil, fmt.Errorf("append to table: %w", err)
	}
	if _, err := tx.Commit(ctx); err != nil {
		return nil, fmt.Errorf("append to table: %w", err)
	}
	return parseState(c.done)
}

// newDataFile makes the manifest's entry. Keys and values have no bounds there.
func newDataFile(f *Added, m table.Metadata) (iceberg.DataFile, error) {
	b, err := iceberg.NewDataFileBuilder(m.PartitionSpec(), iceberg.EntryContentData, f.Location, iceberg.ParquetFile,
		map[int]any{partitionFieldID: f.Partition}, nil, nil, f.Rows, f.Bytes)
	if err != nil {
		return nil, err
	}
	low, high := map[int][]byte{}, map[int][]byte{}
	bound := func(id int, least, most int64) {
		low[id], high[id] = binary.LittleEndian.AppendUint64(nil, uint64(least)), binary.LittleEndian.AppendUint64(nil, uint64(most))
	}
	bound(datafile.OffsetID, f.FirstOffset, f.LastOffset)
	bound(datafile.TimestampID, datafile.Micros(f.MinTimestamp), datafile.Micros(f.MaxTimestamp))
	bound(datafile.AppendTimeID, datafile.Micros(f.MinAppendMs), datafile.Micros(f.MaxAppendMs))
	low[datafile.PartitionID] = binary.LittleEndian.AppendUint32(nil, uint32(f.Partition))
	high[datafile.PartitionID] = low[datafile.PartitionID]
	counts, nulls := map[int]int64{}, map[int]int64{}
	for _, id := range []int{datafile.PartitionID, datafile.OffsetID, datafile.TimestampID, datafile.AppendTimeID} {
		counts[id], nulls[id] = f.Rows, 0
	}
	noteTyped(&f.Summary, low, high, counts, nulls)
	return b.LowerBoundValues(low).UpperBoundValues(high).ValueCounts(counts).NullValueCounts(nulls).
		SplitOffsets(f.RowGroups).SortOrderID(m.DefaultSortOrder()).Build(), nil
}

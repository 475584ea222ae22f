package datafile

import (
	"context"
	"fmt"
	"slices"
)

// Check reads every page of every column, also of those that readers of records pass over, and wants each column to have all of
// the file's rows, and the partition column one partition throughout. It holds a window of the file and a page of values.
func Check(ctx context.Context, src Source, size int64, partition int32) error {
	return check(ctx, src, size, partition, false, func(*leaf) bool { return true })
}

// CheckSmall is Check of the columns of the partition and of the times alone, and wants the times to be whole milliseconds, as records
// have them: readers of records would not see a change of less.
func CheckSmall(ctx context.Context, src Source, size int64, partition int32) error {
	small := []int64{PartitionID, TimestampID, AppendTimeID}
	return check(ctx, src, size, partition, true, func(l *leaf) bool { return slices.Contains(small, l.id) })
}

func check(ctx context.Context, src Source, size int64, partition int32, millis bool, wanted func(*leaf) bool) error {
	tail, meta, err := readEnd(ctx, src, size)
	if err != nil {
		return fmt.Errorf("open data file: %w", err)
	}
	f := &File{size: size, rows: meta.rows}
	if err := f.readGroups(meta, dataColumns); err != nil {
		return fmt.Errorf("open data file: %w", err)
	}
	if err := f.readIndexes(ctx, src, meta, tail); err != nil {
		return fmt.Errorf("open data file: %w", err)
	}
	all, err := allLeaves(meta.schema)
	if err != nil {
		return fmt.Errorf("open data file: %w", err)
	}
	for i := range meta.groups {
		for _, l := range all {
			if meta.groups[i].rows == 0 || !wanted(&l) {
				continue
			}
			k, err := f.chunk(&meta.groups[i], l)
			if err == nil {
				err = k.check(ctx, src, meta.groups[i].rows, partition, millis)
			}
			if err != nil {
				return fmt.Errorf("check data file: row group %d, column %d: %w", i, l.column, err)
			}
		}
	}
	return nil
}

// check reads a column of a row group.
func (k *chunk) check(ctx context.Context, src Source, rows int64, partition int32, millis bool) error {
	s := scan{chunk: k, src: src, at: k.start, all: true}
	s.loaded = func() error {
		other := func(v int64) bool { return v != int64(partition) }
		if k.leaf.id == PartitionID && (len(s.column.numbers) < s.column.count || slices.ContainsFunc(s.column.numbers, other)) {
			return fmt.Errorf("%w: rows of another partition than %d", ErrCorrupt, partition)
		}
		fraction := func(v int64) bool { return v%1000 != 0 }
		if millis && (k.leaf.id == TimestampID || k.leaf.id == AppendTimeID) && slices.ContainsFunc(s.column.numbers, fraction) {
			return fmt.Errorf("%w: a time that is no whole millisecond", ErrCorrupt)
		}
		return nil
	}
	return s.pages(ctx, rows, func(page) error { return nil })
}

// SameHeaders compares header sections by what they say: a varint may be written in several ways.
func SameHeaders(a, b []byte) bool {
	type one struct {
		key, value []byte
	}
	list := func(section []byte) (all []one, err error) {
		err = eachHeader(section, func(key, value []byte) { all = append(all, one{key, value}) })
		return all, err
	}
	x, errX := list(a)
	y, errY := list(b)
	if errX != nil || errY != nil || len(x) != len(y) {
		return false
	}
	for i := range x {
		if string(x[i].key) != string(y[i].key) || string(x[i].value) != string(y[i].value) || (x[i].value == nil) != (y[i].value == nil) {
			return false
		}
	}
	return true
}

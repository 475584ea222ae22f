package datafile

import (
	"context"
	"fmt"
	"slices"
)

// Check reads every page of every column, also of those that readers of records pass over, and wants each column to have all of
// the file's rows, and the partition column one partition throughout. It holds a window of the file and a page of values.
func Check(ctx context.Context, src Source, size int64, partition int32) error {
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
			if meta.groups[i].rows == 0 {
				continue
			}
			k, err := f.chunk(&meta.groups[i], l)
			if err == nil {
				err = k.check(ctx, src, meta.groups[i].rows, partition)
			}
			if err != nil {
				return fmt.Errorf("check data file: row group %d, column %d: %w", i, l.column, err)
			}
		}
	}
	return nil
}

// check reads a column of a row group.
func (k *chunk) check(ctx context.Context, src Source, rows int64, partition int32) error {
	s := scan{chunk: k, src: src, at: k.start, all: true}
	s.loaded = func() error {
		other := func(v int64) bool { return v != int64(partition) }
		if k.leaf.id == PartitionID && (len(s.column.numbers) < s.column.count || slices.ContainsFunc(s.column.numbers, other)) {
			return fmt.Errorf("%w: rows of another partition than %d", ErrCorrupt, partition)
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

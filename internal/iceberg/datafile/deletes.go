package datafile

import (
	"context"
	"fmt"
)

// Field ids of a file of position deletes (Iceberg spec, "Position Delete Files").
const (
	DeletePathID     = 2147483546
	DeletePositionID = 2147483545
)

var deleteColumns = []want{{DeletePathID, kindBytes, false, false}, {DeletePositionID, kindInt64, false, false}}

// ReadDeletes reads a file of position deletes, a window at a time. For each data file that it names it asks where the positions
// go, once for a run of rows of the same; nil passes them over. The name is as the engine wrote it: the same object may be written
// in several ways.
func ReadDeletes(ctx context.Context, src Source, size int64, of func(file string) *Positions) error {
	f, err := openFile(ctx, src, size, deleteColumns)
	if err != nil {
		return fmt.Errorf("open position deletes: %w", err)
	}
	d := deletes{of: of}
	for _, g := range f.groups {
		if err := g.find(ctx, src); err != nil {
			return fmt.Errorf("read position deletes: %w", err)
		}
		for from := int64(0); from < g.rows; {
			to := g.stretch(from, scanBytes)
			if err := d.read(ctx, src, g, from, to); err != nil {
				return fmt.Errorf("read position deletes: %w", err)
			}
			from = to
		}
	}
	return nil
}

// deletes puts positions where they belong.
type deletes struct {
	of             func(file string) *Positions
	name           string
	begun          bool
	to             *Positions
	path, position column
}

func (d *deletes) read(ctx context.Context, src Source, g *group, from, to int64) error {
	parts, err := fetch(ctx, src, g.ranges(from, to), 0)
	if err != nil {
		return err
	}
	if err := d.path.begin(g.chunks[0], parts, from, to); err != nil {
		return fmt.Errorf("file paths: %w", err)
	}
	if err := d.position.begin(g.chunks[1], parts, from, to); err != nil {
		return fmt.Errorf("positions: %w", err)
	}
	for range to - from {
		if err := d.path.ready(); err != nil {
			return fmt.Errorf("file paths: %w", err)
		}
		if err := d.position.ready(); err != nil {
			return fmt.Errorf("positions: %w", err)
		}
		if name := d.path.bytes(); !d.begun || string(name) != d.name {
			d.name, d.begun = string(name), true
			d.to = d.of(d.name)
		}
		if position := d.position.int(); d.to != nil {
			if err := d.to.Add(position); err != nil {
				return fmt.Errorf("of %s: %w", d.name, err)
			}
		}
	}
	return nil
}

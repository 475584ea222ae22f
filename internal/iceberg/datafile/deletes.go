package datafile

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"
)

// Field ids of a file of position deletes (Iceberg spec, "Position Delete Files").
const (
	DeletePathID     = 2147483546
	DeletePositionID = 2147483545
)

// ReadDeletes reads a file of position deletes. For each data file that it names it asks where the positions go, once for a run
// of rows of the same; nil passes them over. The name is as the engine wrote it: the same object may be written in several ways.
func ReadDeletes(ctx context.Context, src Source, size int64, of func(file string) *Positions) (err error) {
	defer caught(&err)
	b := &buffered{ctx: ctx, src: src, through: true}
	pf, err := parquet.OpenFile(b, size, parquet.SkipMagicBytes(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return wrapCorrupt("open position deletes", b.failed, err)
	}
	path, position := -1, -1
	for _, c := range pf.Root().Columns() {
		switch c.ID() {
		case DeletePathID:
			path = c.Index()
		case DeletePositionID:
			position = c.Index()
		}
	}
	if path < 0 || position < 0 {
		return fmt.Errorf("open position deletes: %w: no column with field ids %d and %d", ErrCorrupt, DeletePathID, DeletePositionID)
	}
	name, to, begun := "", (*Positions)(nil), false
	buf := make([]parquet.Row, 512)
	for _, rg := range pf.RowGroups() {
		rows := rg.Rows()
		for {
			n, err := rows.ReadRows(buf)
			for _, row := range buf[:n] {
				if file := string(row[path].ByteArray()); !begun || file != name {
					name, to, begun = file, of(file), true
				}
				if to == nil {
					continue
				}
				if err := to.Add(row[position].Int64()); err != nil {
					return fmt.Errorf("read position deletes of %s: %w", name, err)
				}
			}
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return wrapCorrupt("read position deletes", b.failed, err)
			}
		}
		_ = rows.Close()
	}
	return nil
}

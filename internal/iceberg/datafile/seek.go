package datafile

import "context"

// Place is where a seek by time found its row.
type Place struct {
	Offset, Position    int64
	Timestamp, AppendMs int64 // of the record, ms
}

// Seek asks for a row by time.
type Seek struct {
	Offset  int64      // rows with lower offsets are passed over
	Ms      int64      // the least time
	Deleted *Positions // rows that are passed over
}

// SeekTime finds the first row in order of offsets whose record's timestamp is not below the one asked for; nil where there is none.
func (f *File) SeekTime(ctx context.Context, src Source, s Seek) (*Place, error) {
	return f.seek(ctx, src, s, func(r *Row) bool { return r.Timestamp >= s.Ms })
}

// SeekAppend finds the first row that was appended then or later; nil where there is none.
func (f *File) SeekAppend(ctx context.Context, src Source, s Seek) (*Place, error) {
	return f.seek(ctx, src, s, func(r *Row) bool { return r.AppendMs >= s.Ms })
}

func (f *File) seek(ctx context.Context, src Source, s Seek, is func(*Row) bool) (found *Place, err error) {
	q := Request{Offset: s.Offset, Bytes: 1 << 20, Gap: 64 << 10, Deleted: s.Deleted}
	for done := false; !done && found == nil && err == nil; {
		q.Offset, done, err = f.Read(ctx, src, q, func(r *Row) bool {
			if is(r) {
				found = &Place{Offset: r.Offset, Position: r.Position, Timestamp: r.Timestamp, AppendMs: r.AppendMs}
			}
			return found == nil
		})
	}
	return found, err
}

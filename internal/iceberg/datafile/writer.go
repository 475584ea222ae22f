package datafile

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"

	"github.com/korvet-io/korvet/internal/compress"
)

// Options of a writer.
type Options struct {
	PageBytes     int  // bytes of keys, values and headers after which a page ends in all columns
	RowGroupBytes int  // the same for a row group: what is in it is held in memory, compressed, until it ends
	KeyBloom      bool // a bloom filter on the key, of ten bits a row
	CreatedBy     string
	Turns         Turns    // of encoding; nil: none
	Typed         []Column // beside the fixed ones
}

// Summary is what a table notes of a data file.
type Summary struct {
	Rows                       int64
	FirstOffset, LastOffset    int64
	MinTimestamp, MaxTimestamp int64 // of the records, ms
	MinAppendMs, MaxAppendMs   int64
	RowGroups                  []int64 // the byte of the file that each begins at; once it is closed
	Typed                      []Column
	TypedBounds                []Bounds // of the columns of Typed; once it is closed
}

// DefaultPageBytes is the size of pages, before they are encoded, at which a file is small and its index too (docs/adr/row-groups.md).
const DefaultPageBytes = 512 << 10

// creator is the application that our files name as the one that wrote them.
const creator = "korvet"

// pageCodec is zstd of pages: libzstd takes a third of the time that pure Go takes.
type pageCodec struct{ zstd.Codec }

// Encode implements parquet-go's codec. A page without bytes has an empty frame.
func (c *pageCodec) Encode(dst, src []byte) ([]byte, error) {
	if len(src) == 0 {
		return c.Codec.Encode(dst, src)
	}
	return compress.AppendZstdFast(dst[:0], src), nil
}

// batchRows is how many rows go to the columns at once.
const batchRows = 512

// Writer writes one data file. Pages of all columns begin at the same rows, so that one row is in one page of each.
type Writer struct {
	options   Options
	partition int32
	file      *parquet.GenericWriter[any]
	columns   []*parquet.ColumnWriter
	values    [][]parquet.Value // by column
	arena     []byte            // keys, values and headers of the rows that wait
	waiting   int
	page      int // bytes in the open page
	rowGroup  int
	summary   Summary
}

// NewWriter begins a data file of one partition.
func NewWriter(dst io.Writer, partition int32, o Options) *Writer {
	bounded := []string{"partition", "offset", "timestamp", "append_time"}
	all := schemaWith(o.Typed)
	for _, c := range o.Typed {
		if c.Kind != String { // a file's footer would have the whole least and greatest one of each row group
			bounded = append(bounded, c.Name)
		}
	}
	options := []parquet.WriterOption{
		all,
		parquet.Compression(&pageCodec{}),
		parquet.PageBufferSize(2*o.PageBytes + 64<<10), // never reached: Write ends the pages of all columns before
		parquet.DataPageStatistics(false),
		parquet.SortingWriterConfig(parquet.SortingColumns(parquet.Ascending("offset"))),
		parquet.CreatedBy(creator, o.CreatedBy, ""),
	}
	for _, path := range all.Columns() {
		if !slices.Contains(bounded, path[0]) {
			options = append(options, parquet.SkipPageBounds(path...))
		}
	}
	if o.KeyBloom {
		options = append(options, parquet.BloomFilters(parquet.SplitBlockFilter(10, "key")))
	}
	w := &Writer{options: o, partition: partition, file: parquet.NewGenericWriter[any](dst, options...)}
	w.columns = w.file.ColumnWriters()
	w.values = make([][]parquet.Value, len(w.columns))
	w.summary.Typed, w.summary.TypedBounds = o.Typed, make([]Bounds, len(o.Typed))
	return w
}

// errOrder is a mistake of the caller.
var errOrder = errors.New("offsets do not rise")

// Write appends one row; offsets must rise. It copies what it keeps.
func (w *Writer) Write(r *Row) error {
	if w.summary.Rows > 0 && r.Offset <= w.summary.LastOffset {
		return fmt.Errorf("write row: %w: %d after %d", errOrder, r.Offset, w.summary.LastOffset)
	}
	before := len(w.arena)
	w.put(partitionColumn, parquet.Int32Value(w.partition))
	w.put(offsetColumn, parquet.Int64Value(r.Offset))
	w.put(timestampColumn, parquet.Int64Value(Micros(r.Timestamp)))
	w.put(appendTimeColumn, parquet.Int64Value(Micros(r.AppendMs)))
	w.put(keyColumn, w.optional(r.Key, 0, 1))
	w.put(valueColumn, w.optional(r.Value, 0, 1))
	if err := w.headers(r.Headers); err != nil {
		return fmt.Errorf("write row %d: %w", r.Offset, err)
	}
	w.cells(r.Cells)
	w.note(r)
	w.waiting++
	w.page += len(w.arena) - before + 8
	if w.page >= w.options.PageBytes {
		return w.endPage()
	}
	if w.waiting == batchRows {
		return w.flush()
	}
	return nil
}

func (w *Writer) put(column int, v parquet.Value) {
	w.values[column] = append(w.values[column], v)
}

// optional is a value that may be null, at the levels of its column.
func (w *Writer) optional(b []byte, repetition, definition int) parquet.Value {
	if b == nil {
		return leveled(parquet.Value{}, repetition, definition-1)
	}
	return leveled(parquet.ByteArrayValue(w.copy(b)), repetition, definition)
}

// leveled is v at its levels. Columns are written one by one, so that a value needs not know its column: Value.Level, which sets
// that, too, took an eighth of the encoding.
func leveled(v parquet.Value, repetition, definition int) parquet.Value {
	v.SetRepetitionLevel(repetition)
	v.SetDefinitionLevel(definition)
	return v
}

// copy puts b into the arena. The arena may move: what was put there before keeps the old one alive until it is flushed.
func (w *Writer) copy(b []byte) []byte {
	from := len(w.arena)
	w.arena = append(w.arena, b...)
	return w.arena[from:len(w.arena):len(w.arena)]
}

func (w *Writer) headers(section []byte) error {
	repetition := 0
	err := eachHeader(section, func(key, value []byte) {
		w.put(headerKeyColumn, leveled(parquet.ByteArrayValue(w.copy(encodeHeaderKey(key))), repetition, headerThere))
		w.put(headerValueColumn, w.optional(value, repetition, headerValued))
		repetition = 1
	})
	if err == nil && repetition == 0 {
		none := leveled(parquet.Value{}, 0, noHeaders)
		w.put(headerKeyColumn, none)
		w.put(headerValueColumn, none)
	}
	return err
}

// cells adds what the typed columns have of a row.
func (w *Writer) cells(cells []Cell) {
	var missing Cell
	for i := range w.options.Typed {
		c := &missing
		if i < len(cells) {
			c = &cells[i]
		}
		w.summary.TypedBounds[i].add(&w.options.Typed[i], c)
		w.values[leaves+i] = append(w.values[leaves+i], w.typed(w.options.Typed[i].Kind, c))
	}
}

func (w *Writer) note(r *Row) {
	s := &w.summary
	if s.Rows == 0 {
		s.FirstOffset, s.MinTimestamp, s.MaxTimestamp, s.MinAppendMs, s.MaxAppendMs = r.Offset, r.Timestamp, r.Timestamp, r.AppendMs, r.AppendMs
	}
	s.Rows++
	s.LastOffset = r.Offset
	s.MinTimestamp, s.MaxTimestamp = min(s.MinTimestamp, r.Timestamp), max(s.MaxTimestamp, r.Timestamp)
	s.MinAppendMs, s.MaxAppendMs = min(s.MinAppendMs, r.AppendMs), max(s.MaxAppendMs, r.AppendMs)
}

// flush gives the rows that wait to the columns.
func (w *Writer) flush() error {
	if w.waiting == 0 {
		return nil
	}
	var err error
	w.options.Turns.Do(func() {
		for i, c := range w.columns {
			if _, err = c.WriteRowValues(w.values[i]); err != nil {
				err = fmt.Errorf("write column %d: %w", i, err)
				return
			}
			clear(w.values[i])
			w.values[i] = w.values[i][:0]
		}
	})
	if err != nil {
		return err
	}
	w.arena, w.waiting = w.arena[:0], 0
	return nil
}

// endPage ends the page of each column, and the row group when it is full.
func (w *Writer) endPage() error {
	if err := w.flush(); err != nil {
		return err
	}
	for i, c := range w.columns { // to memory: nothing goes out before the row group ends
		var err error
		w.options.Turns.Do(func() { err = c.Flush() })
		if err != nil {
			return fmt.Errorf("write page of column %d: %w", i, err)
		}
	}
	w.rowGroup += w.page
	w.page = 0
	if w.rowGroup < w.options.RowGroupBytes {
		return nil
	}
	w.rowGroup = 0
	if err := w.file.Flush(); err != nil {
		return fmt.Errorf("write row group: %w", err)
	}
	return nil
}

// Summary tells what was written so far.
func (w *Writer) Summary() Summary { return w.summary }

// Close ends the file. It does not close what the file is written to.
func (w *Writer) Close() (Summary, error) {
	if err := w.endPage(); err != nil {
		return w.summary, err
	}
	if err := w.file.Close(); err != nil {
		return w.summary, fmt.Errorf("write footer: %w", err)
	}
	for i := range w.summary.TypedBounds {
		w.summary.TypedBounds[i].close()
	}
	for i := range w.file.File().Metadata().RowGroups {
		w.summary.RowGroups = append(w.summary.RowGroups, w.file.File().Metadata().RowGroups[i].Columns[0].MetaData.DataPageOffset)
	}
	return w.summary, nil
}

// Package datafile writes and reads the data files of the remote tier: Parquet files that hold records of one partition,
// sorted by offset. It knows neither tables nor stores: it writes to an io.Writer and reads byte ranges.
package datafile

import (
	"github.com/parquet-go/parquet-go"

	"github.com/korvet-io/korvet/internal/record"
)

// Field ids of the columns, as the table's schema has them (Iceberg spec, "Column Projection": columns are found by id).
const (
	PartitionID   = 1
	OffsetID      = 2
	TimestampID   = 3
	AppendTimeID  = 4
	KeyID         = 5
	ValueID       = 6
	HeadersID     = 7
	HeaderID      = 8
	HeaderKeyID   = 9
	HeaderValueID = 10
)

// PartitionField is the name that the table's partition field has, which is no column: that of its source, column partition, would
// be in the way of Iceberg's table of position deletes, which has a column partition of its own.
const PartitionField = "kafka_partition"

// Row is one record with the time of its append.
type Row struct {
	record.Record
	AppendMs int64 // ms since the epoch
	// Position is the row's place in its data file, as position deletes name it. Only readers set it.
	Position int64
	// Cells are of the typed columns of the file that it is written to, in their order; nil: all null. Readers set those of the
	// columns that a file was opened with.
	Cells []Cell
}

// columns is the Parquet schema: its fields and their ids are those of the table. Timestamps are microseconds, the unit that
// every engine compares exactly. Partitions and offsets take less than a byte a row as
// they are: to compress them costs more than it saves.
type columns struct {
	Partition  int32     `parquet:"partition,delta,uncompressed,id(1)"`
	Offset     int64     `parquet:"offset,delta,uncompressed,id(2)"`
	Timestamp  int64     `parquet:"timestamp,delta,timestamp(microsecond:utc),id(3)"`
	AppendTime int64     `parquet:"append_time,delta,timestamp(microsecond:utc),id(4)"`
	Key        []byte    `parquet:"key,optional,id(5)"`
	Value      []byte    `parquet:"value,optional,id(6)"`
	Headers    []*header `parquet:"headers,optional,list,id(7)" parquet-element:",optional,id(8)"`
}

type header struct {
	Key   string `parquet:"key,id(9)"`
	Value []byte `parquet:"value,optional,id(10)"`
}

// Leaf columns in the schema's order.
const (
	partitionColumn = iota
	offsetColumn
	timestampColumn
	appendTimeColumn
	keyColumn
	valueColumn
	headerKeyColumn
	headerValueColumn
	leaves
)

// want is a column that is looked for in a file.
type want struct {
	id       int64
	kind     int64
	optional bool // a file without it has nulls
	repeated bool // it is in a list
}

// holds tells whether values of a type of Parquet are the column's, or become so without loss: tables may widen columns that files have
// as they were (Iceberg spec, "Schema Evolution"). The fixed ones of numbers, which no file lacks, never were another.
func (w *want) holds(kind int64) bool {
	return kind == w.kind || w.optional && (w.kind == kindInt64 && kind == kindInt32 || w.kind == kindDouble && kind == kindFloat)
}

var dataColumns = []want{
	partitionColumn:   {PartitionID, kindInt32, false, false},
	offsetColumn:      {OffsetID, kindInt64, false, false},
	timestampColumn:   {TimestampID, kindInt64, false, false},
	appendTimeColumn:  {AppendTimeID, kindInt64, false, false},
	keyColumn:         {KeyID, kindBytes, true, false},
	valueColumn:       {ValueID, kindBytes, true, false},
	headerKeyColumn:   {HeaderKeyID, kindBytes, true, true},
	headerValueColumn: {HeaderValueID, kindBytes, true, true},
}

var schema = parquet.SchemaOf(columns{})

// Definition levels of a header: the list is there, it has an element, the element is there, its value is there.
const (
	noHeaders    = 0
	headerThere  = 3
	headerValued = 4
)

// Millisecond timestamps beyond these do not fit into microseconds: they are stored as the nearest that does.
const (
	maxMillis = (1<<63 - 1) / 1000
	minMillis = -maxMillis
)

// Micros is a timestamp as the table has it.
func Micros(ms int64) int64 { return min(max(ms, minMillis), maxMillis) * 1000 }

// Millis is a timestamp of the table as Kafka has it. It rounds down, also before the epoch: an engine may have written microseconds of its own.
func Millis(us int64) int64 {
	ms := us / 1000
	if us%1000 < 0 {
		ms--
	}
	return ms
}

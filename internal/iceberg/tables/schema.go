// Package tables keeps a topic's records in an Iceberg v2 table: it creates the table, adds data files, knows which file has
// which offsets, lets old files go, and tidies up. It decides nothing of what is copied when.
package tables

import (
	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/korvet-io/korvet/internal/iceberg/datafile"
)

// partitionFieldID is the first id that Iceberg gives to partition fields (spec, "Partition Specs").
const partitionFieldID = 1000

// newSchema is the schema of every topic's table. The list's element is optional because some engines write it so whatever the
// table says.
func newSchema() *iceberg.Schema {
	p := iceberg.PrimitiveTypes
	header := &iceberg.StructType{FieldList: []iceberg.NestedField{
		{ID: datafile.HeaderKeyID, Name: "key", Type: p.String, Required: true},
		{ID: datafile.HeaderValueID, Name: "value", Type: p.Binary},
	}}
	return iceberg.NewSchema(0,
		iceberg.NestedField{ID: datafile.PartitionID, Name: "partition", Type: p.Int32, Required: true},
		iceberg.NestedField{ID: datafile.OffsetID, Name: "offset", Type: p.Int64, Required: true},
		iceberg.NestedField{ID: datafile.TimestampID, Name: "timestamp", Type: p.TimestampTz, Required: true},
		iceberg.NestedField{ID: datafile.AppendTimeID, Name: "append_time", Type: p.TimestampTz, Required: true},
		iceberg.NestedField{ID: datafile.KeyID, Name: "key", Type: p.Binary},
		iceberg.NestedField{ID: datafile.ValueID, Name: "value", Type: p.Binary},
		iceberg.NestedField{ID: datafile.HeadersID, Name: "headers", Type: &iceberg.ListType{ElementID: datafile.HeaderID, Element: header}},
	)
}

func newSpec() iceberg.PartitionSpec {
	return iceberg.NewPartitionSpec(iceberg.PartitionField{
		SourceIDs: []int{datafile.PartitionID}, FieldID: partitionFieldID, Name: datafile.PartitionField, Transform: iceberg.IdentityTransform{},
	})
}

func newSortOrder() (table.SortOrder, error) {
	return table.NewSortOrder(1, []table.SortField{{
		SourceIDs: []int{datafile.OffsetID}, Transform: iceberg.IdentityTransform{}, Direction: table.SortASC, NullOrder: table.NullsFirst,
	}})
}

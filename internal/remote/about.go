package remote

import (
	"context"

	"github.com/apache/iceberg-go"

	"github.com/korvet-io/korvet/internal/iceberg/tables"
	"github.com/korvet-io/korvet/internal/metadata"
)

// CreateTable writes the empty table of a topic, unless it is there.
func CreateTable(ctx context.Context, table *tables.Table, topic *metadata.Topic) error {
	properties, err := tables.Describing(topic.Partitions, topic.Configs)
	if err != nil {
		return err
	}
	return table.Create(ctx, tables.Life{Topic: topic.Name, ID: topic.ID.String()}, iceberg.Properties(properties))
}

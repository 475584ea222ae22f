package remote

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/apache/iceberg-go"

	"github.com/korvet-io/korvet/internal/iceberg/tables"
	"github.com/korvet-io/korvet/internal/metadata"
)

// about are the properties by which a table tells what its topic is: enough to restore it in a Redis that has lost it.
func about(topic *metadata.Topic) (map[string]string, error) {
	configs := topic.Configs
	if configs == nil {
		configs = map[string]string{}
	}
	text, err := json.Marshal(configs) // its names are sorted
	if err != nil {
		return nil, fmt.Errorf("encode topic's settings: %w", err)
	}
	return map[string]string{
		tables.PartitionsProperty: strconv.Itoa(int(topic.Partitions)), tables.ConfigsProperty: string(text),
	}, nil
}

// CreateTable writes the empty table of a topic, unless it is there.
func CreateTable(ctx context.Context, table *tables.Table, topic *metadata.Topic) error {
	properties, err := about(topic)
	if err != nil {
		return err
	}
	return table.Create(ctx, tables.Life{Topic: topic.Name, ID: topic.ID.String()}, iceberg.Properties(properties))
}

// Describe has a table tell what its topic is now, where it does not, on a state that was read. It returns the state after it.
func Describe(ctx context.Context, table *tables.Table, s *tables.State, topic *metadata.Topic) (*tables.State, error) {
	wanted, err := about(topic)
	if err != nil {
		return nil, err
	}
	for name, value := range wanted {
		if s.Property(name) == value {
			delete(wanted, name)
		}
	}
	if len(wanted) == 0 {
		return s, nil
	}
	return table.SetProperties(ctx, s, wanted)
}

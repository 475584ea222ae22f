package api

import (
	"context"
	"fmt"

	"github.com/korvet-io/korvet/internal/partition"
)

// existingPartition finds the topic of a partition that a request names.
func (a *API) existingPartition(ctx context.Context, topic string, p int32) (*topicView, error) {
	view, err := a.topicByName(ctx, topic)
	if err != nil {
		return nil, err
	}
	if !view.has(p) {
		return nil, fmt.Errorf("partition %d of %s, which has %d: %w", p, topic, view.Partitions, partition.ErrUnknownPartition)
	}
	return view, nil
}

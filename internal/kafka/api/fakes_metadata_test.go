package api

import (
	"context"

	"github.com/korvet-io/korvet/internal/metadata"
)

// awayTopics is a store that does not answer for topics which are not in memory.
type awayTopics struct{ Topics }

func (a awayTopics) Topic(ctx context.Context, name string) (*metadata.Topic, error) {
	t, err := a.Topics.Topic(ctx, name)
	if err != nil {
		return nil, metadata.ErrUnavailable
	}
	return t, nil
}

// racingTopics lets another broker change a topic right before the first alterations of it.
type racingTopics struct {
	*fakeTopics
	races int
}

func (r *racingTopics) Alter(ctx context.Context, t *metadata.Topic, partitions int32, configs map[string]string) (*metadata.Topic, error) {
	if r.races > 0 {
		theirs := map[string]string{"segment.ms": "3"}
		r.races--
		if _, err := r.fakeTopics.Alter(ctx, t, t.Partitions, theirs); err != nil {
			return nil, err
		}
	}
	return r.fakeTopics.Alter(ctx, t, partitions, configs)
}

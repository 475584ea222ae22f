package app

import (
	"context"

	"github.com/korvet-io/korvet/internal/config"
	"github.com/korvet-io/korvet/internal/inspect"
)

// Inspector opens what korvet tables looks at: the store, and Redis unless that is left out. close gives the connections up.
func Inspector(ctx context.Context, c *config.Config, version string, redis bool) (s *inspect.Source, closeAll func(), err error) {
	open := OpenTables
	if redis {
		open = OpenStorage
	}
	o, err := open(ctx, c)
	if err != nil {
		return nil, nil, err
	}
	s = &inspect.Source{Settings: o.Settings, Store: o.Store, MaxValueBytes: int(c.Broker.MaxBatchDecompressedBytes)}
	if redis {
		s.Metadata, s.Messages = o.Metadata(version), o.Messages
	}
	return s, o.Close, nil
}

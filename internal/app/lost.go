package app

import (
	"context"
	"fmt"

	"github.com/redis/rueidis"

	"github.com/korvet-io/korvet/internal/metadata"
	"github.com/korvet-io/korvet/internal/recovery"
)

// refuseLost stops the start of a process whose namespace in a Redis is empty while the remote tier has tables of it: that Redis
// was lost, and logs would begin at offset 0 anew. A store that does not answer is waited for: *unknownLoss.
func (b *Broker) refuseLost(ctx context.Context, client rueidis.Client, what string) error {
	if b.cfg.Storage.Remote.Path == "" {
		return nil
	}
	claimed, err := metadata.Claimed(ctx, client, b.cfg.Namespace)
	if err != nil || claimed {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, remoteCheckTimeout)
	defer cancel()
	tables, err := OpenTables(ctx, &b.cfg)
	if err != nil {
		return err
	}
	topic, err := recovery.Lost(ctx, recovery.Source{Settings: tables.Settings, Store: tables.Store})
	if err != nil {
		return &unknownLoss{what: what, namespace: b.cfg.Namespace, err: err}
	}
	if topic != "" {
		return fmt.Errorf("the Redis for %s has nothing in namespace %s, but below %s there is the table of its topic %s: run korvet recover with the same settings, which puts back what the tables know, or choose another korvet.namespace or %s, or remove the tables", what, b.cfg.Namespace, tables.Settings.NamespaceFolder(), topic, remotePathSetting)
	}
	return nil
}

// unknownLoss is an empty Redis while the store does not tell whether it has tables of an earlier one.
type unknownLoss struct {
	what, namespace string
	err             error
}

func (e *unknownLoss) Error() string {
	return fmt.Sprintf("the Redis for %s has nothing in namespace %s, and the store of the remote tier does not tell whether it has tables of an earlier Redis: %v", e.what, e.namespace, e.err)
}

func (e *unknownLoss) Unwrap() error { return e.err }

// Package replicas waits until Redis's replicas have what is about to be acted upon, so that no failover can take it back.
package replicas

import (
	"context"
	"fmt"

	"github.com/korvet-io/korvet/internal/redisstream"
)

// Confirmer tells what Redis's replicas have: redisstream.Replicas. It is safe for concurrent use and does not block.
type Confirmer interface {
	// Confirm calls done once, with nil when n replicas of the Redis of this identity have all that it had accepted before the call.
	Confirm(id redisstream.Identity, n int, done func(error))
}

// Wait waits until what the Redis of this identity has accepted is on as many replicas as a topic's min.insync.replicas
// asks for, of the run that Redis is run with. r is nil where none are waited for.
func Wait(ctx context.Context, r Confirmer, id redisstream.Identity, minInsync, run int) error {
	n := min(minInsync, 1+run) - 1
	if r == nil || n <= 0 {
		return nil
	}
	_, err := redisstream.Await(ctx, func(done func(struct{}, error)) {
		r.Confirm(id, n, func(err error) { done(struct{}{}, err) })
	})
	if err != nil {
		return fmt.Errorf("wait for replicas: %w", err)
	}
	return nil
}

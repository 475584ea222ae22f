package replicas

import (
	"context"
	"errors"
	"testing"

	"github.com/korvet-io/korvet/internal/redisstream"
)

// asked keeps how many replicas it was asked about, and answers at once.
type asked struct {
	n   int
	err error
}

func (a *asked) Confirm(_ redisstream.Identity, n int, done func(error)) {
	a.n = n
	done(a.err)
}

func TestAsManyReplicasAreWaitedForAsThereAre(t *testing.T) {
	for _, c := range []struct{ minInsync, run, want int }{{1, 2, 0}, {2, 2, 1}, {3, 2, 2}, {5, 2, 2}, {2, 0, 0}} {
		a := &asked{}
		if err := Wait(t.Context(), a, redisstream.Identity{}, c.minInsync, c.run); err != nil || a.n != c.want {
			t.Errorf("min.insync.replicas=%d with %d replicas: %d were asked about, %v", c.minInsync, c.run, a.n, err)
		}
	}
	if err := Wait(t.Context(), nil, redisstream.Identity{}, 3, 2); err != nil {
		t.Errorf("without replicas: %v", err)
	}
}

func TestReplicasThatAreBehindAreTold(t *testing.T) {
	a := &asked{err: redisstream.ErrReplicasBehind}
	if err := Wait(t.Context(), a, redisstream.Identity{}, 2, 1); !errors.Is(err, redisstream.ErrReplicasBehind) {
		t.Errorf("%v, want ErrReplicasBehind", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Wait(ctx, silent{}, redisstream.Identity{}, 2, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want Canceled", err)
	}
}

// silent never answers.
type silent struct{}

func (silent) Confirm(redisstream.Identity, int, func(error)) {}

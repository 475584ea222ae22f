package partition

import (
	"context"
	"fmt"
	"time"

	"github.com/korvet-io/korvet/internal/redisstream"
)

// A Redis may have lost a log, or its end, which the remote tier has. A log that began anew there would give its offsets to other
// records, and those of the remote tier would have to go. So it waits for the remote tier.

// lostWait is how long it is asked at least when it is known that Redis lost the log: without an answer nothing goes on.
const lostWait = 2 * time.Second

// least is where the log ended at least when this process knew it last. The lock is held.
func (p *Partition) least() int64 { return max(p.ends.leo, p.ends.tiered) }

// askRemote has a fence know what the remote tier has of the log, which Redis may have lost: this process does not know this Redis
// yet, or it lost the log. Without an answer in time the log goes on where Redis says that it ends, unless Redis is known to have
// lost it.
func (p *Partition) askRemote(q *redisstream.FenceRequest) error {
	wait := p.env.RemoteEndWait
	p.mu.Lock()
	if p.isLost {
		wait = max(wait, lostWait)
	}
	p.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	held, err := p.env.remote.Holds(ctx, p.ref)
	q.Remote, q.Asked = held, err == nil
	q.NewEpoch = q.NewEpoch || held != nil || err != nil // an epoch that the remote tier has of another log may not come again
	return err
}

// lost is the error of a fence that found that Redis lost the log or its end.
func (p *Partition) lost(err, unasked error) error {
	if p.env.remote == nil {
		return fmt.Errorf("%w: %w, and this broker has no remote tier to ask what it has", ErrRemote, err)
	}
	return fmt.Errorf("%w: %w: %w", ErrRemoteAway, err, unasked)
}

// waitForRemote has a partition be refused until the remote tier tells what it has. It is asked again, also when no client does. The
// lock is held.
func (p *Partition) waitForRemote(now time.Duration, err error, fx *effects) {
	if !p.isLost {
		p.isLost = true
		p.log.Error("redis lost the log or its end, and the remote tier, which may have it, does not tell: nobody can read or write the partition until it does", "error", err)
	}
	p.held = err
	p.giveUp(err, fx)
	p.giveUnknownUp(err, fx)
	p.wanted, p.retryAt = true, now+p.env.RemoteRetry
	fx.wakeAll = true
}

// foundAgain notes that a partition leads. The lock is held.
func (p *Partition) foundAgain(end int64) {
	if p.isLost {
		p.isLost = false
		p.log.Info("the remote tier has told what it has of the log, which goes on", "next_offset", end)
	}
}

// known is what this process knew of a log before it asked Redis.
type known struct {
	least int64 // the log ended there or above
	epoch int32 // the leader epoch of its own last term
}

func (p *Partition) known() known {
	p.mu.Lock()
	defer p.mu.Unlock()
	return known{p.least(), p.term.epoch}
}

// checkLost refuses a view of a log that Redis lost, or the end of it: it says nothing of what the remote tier has. before is what was
// known when Redis was asked: the log may have grown since.
func (p *Partition) checkLost(before known, v *redisstream.View, end int64) error {
	nothing := v.Owner == "" && end == 0 && len(v.Epochs) == 0
	shorter := end < before.least && v.Epoch <= before.epoch // else another broker has led it since
	if !nothing && !shorter || !p.env.tiered(p.ref) {
		return nil
	}
	return fmt.Errorf("%w: redis has lost the log or its end, and it is not known yet what the remote tier has", ErrRemoteAway)
}

// isNew tells whether a log that Redis has nothing of never was anywhere: the remote tier says that it has none of it, and this process
// knew of none. Partitions beside it may be in the table already.
func (p *Partition) isNew(ctx context.Context, before known) bool {
	p.mu.Lock()
	knew := before.least > 0 || p.isLost
	p.mu.Unlock()
	if knew || p.env.remote == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, p.env.RemoteEndWait)
	defer cancel()
	held, err := p.env.remote.Holds(ctx, p.ref)
	return err == nil && (held == nil || held.End == 0)
}

// Waiting counts the partitions that wait for the remote tier because Redis has lost them.
func (m *Manager) Waiting() (n int) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	for _, p := range m.open {
		p.mu.Lock()
		if p.isLost && p.phase != gone {
			n++
		}
		p.mu.Unlock()
	}
	return n
}

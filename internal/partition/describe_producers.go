package partition

import (
	"cmp"
	"context"
	"fmt"
	"slices"
)

// ProducerState is what a partition remembers of an idempotent producer, as tools are shown it.
type ProducerState struct {
	ID           int64
	Epoch        int16
	LastSequence int32 // -1: none is remembered
	LastMs       int64 // when it appended last, in ms of Redis's time
}

// Producers lists the producers that the partition remembers, by id. ErrNotLeader until this broker leads, which asking
// makes it try.
func (m *Manager) Producers(ctx context.Context, ref Ref) ([]ProducerState, error) {
	p, err := m.get(ref)
	if err != nil {
		return nil, err
	}
	return p.describeProducers(ctx)
}

func (p *Partition) describeProducers(ctx context.Context) ([]ProducerState, error) {
	s, _, err := p.state(ctx)
	if err != nil {
		return nil, err
	}
	if !s.led {
		return nil, fmt.Errorf("%w: it does not lead yet", ErrNotLeader)
	}
	p.mu.Lock()
	list := make([]ProducerState, 0, len(p.producers.known))
	for id, one := range p.producers.known {
		state := ProducerState{ID: id, Epoch: one.epoch, LastSequence: -1, LastMs: one.usedMs}
		if one.n > 0 {
			state.LastSequence = one.window[one.n-1].last
		}
		list = append(list, state)
	}
	p.mu.Unlock()
	slices.SortFunc(list, func(a, b ProducerState) int { return cmp.Compare(a.ID, b.ID) })
	return list, nil
}

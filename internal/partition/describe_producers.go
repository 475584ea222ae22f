package partition

import (
	"cmp"
	"context"
	"errors"
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

// Producers lists the producers that the partition remembers, by id. It makes this broker lead the partition if it can:
// ErrNotLeader when it does not within the time of a request to Redis.
func (m *Manager) Producers(ctx context.Context, ref Ref) ([]ProducerState, error) {
	p, err := m.get(ref)
	if err != nil {
		return nil, err
	}
	return p.describeProducers(ctx)
}

func (p *Partition) describeProducers(ctx context.Context) ([]ProducerState, error) {
	if _, _, err := p.state(ctx); err != nil && !errors.Is(err, ErrNotLeader) { // asking makes it lead
		return nil, err
	}
	patience, cancel := context.WithTimeout(ctx, p.env.RequestTimeout)
	defer cancel()
	var list []ProducerState
	err := p.await(patience, func() (led bool) {
		list, led = p.rememberedProducers()
		return led
	})
	if err != nil {
		return nil, fmt.Errorf("%w: it does not lead yet: %w", ErrNotLeader, err)
	}
	slices.SortFunc(list, func(a, b ProducerState) int { return cmp.Compare(a.ID, b.ID) })
	return list, nil
}

// rememberedProducers lists the producers where this broker leads: elsewhere it does not know them.
func (p *Partition) rememberedProducers() (list []ProducerState, led bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.current() {
		return nil, false
	}
	for id, one := range p.producers.known {
		state := ProducerState{ID: id, Epoch: one.epoch, LastSequence: -1, LastMs: one.usedMs}
		if one.n > 0 {
			state.LastSequence = one.window[one.n-1].last
		}
		list = append(list, state)
	}
	return list, true
}

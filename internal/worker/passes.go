package worker

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/korvet-io/korvet/internal/partition"
)

// passes is work beside the ticks: compaction of partitions, copies of topics. Each tick offers what there is and never waits for
// a pass, however long one takes. Its methods are safe for concurrent use.
type passes[J any] struct {
	key     func(j J) partition.Ref // tells a job from others
	running sync.WaitGroup

	mu      sync.Mutex
	offered []J // by the newest tick, the next first
	current map[partition.Ref]context.CancelCauseFunc
	threads int
	last    partition.Ref // the newest that was taken
	err     error         // the first since collect that no pass can be made with
}

// newPasses makes those of jobs that a key tells from others.
func newPasses[J any](key func(j J) partition.Ref) *passes[J] {
	return &passes[J]{key: key, current: map[partition.Ref]context.CancelCauseFunc{}}
}

// errUnwanted ends a pass that is not to be made any more.
var errUnwanted = errors.New("the topic is deleted, or its settings are others")

// offer replaces what ticks before offered and is not begun. The one behind the newest that was taken comes first,
// so that each has its turn. It returns how many goroutines the caller has to start for them.
func (p *passes[J]) offer(jobs []J, threads int) (start int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	first := 1 + slices.IndexFunc(jobs, func(j J) bool { return p.key(j) == p.last })
	p.offered = slices.Concat(jobs[first:], jobs[:first])
	start = max(0, min(threads, len(p.offered))-p.threads)
	p.threads += start
	p.running.Add(start)
	return start
}

// take returns the next job, with a context that ends with its pass, and what tells that the pass is over; again tells that there
// is more to be done of it once the others had their turn. Without a job the caller's goroutine is no longer counted.
func (p *passes[J]) take(ctx context.Context) (j *J, passing context.Context, over func(again bool)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.offered) > 0 && ctx.Err() == nil {
		next := p.offered[0]
		p.offered = p.offered[1:]
		ref := p.key(next)
		if p.current[ref] != nil {
			continue
		}
		passing, cancel := context.WithCancelCause(ctx)
		p.current[ref] = cancel
		p.last = ref
		return &next, passing, func(again bool) {
			again = again && passing.Err() == nil
			cancel(nil)
			p.mu.Lock()
			defer p.mu.Unlock()
			delete(p.current, ref)
			if again && !slices.ContainsFunc(p.offered, func(j J) bool { return p.key(j) == ref }) {
				p.offered = append(p.offered, next)
			}
		}
	}
	p.threads--
	p.running.Done()
	return nil, nil, nil
}

// keep ends the passes that are not wanted any more, and begins none.
func (p *passes[J]) keep(wanted func(ref partition.Ref) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for ref, cancel := range p.current {
		if !wanted(ref) {
			cancel(errUnwanted)
		}
	}
	p.offered = slices.DeleteFunc(p.offered, func(j J) bool { return !wanted(p.key(j)) })
}

// busy tells whether a pass is being made over a job of this key, also one that is being ended.
func (p *passes[J]) busy(ref partition.Ref) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.current[ref] != nil
}

// end ends all passes and begins none that was offered.
func (p *passes[J]) end(why error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.offered = nil
	for _, cancel := range p.current {
		cancel(why)
	}
}

// fail begins none that was offered: what failed in one would fail in all.
func (p *passes[J]) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.offered = nil
	if p.err == nil {
		p.err = err
	}
}

// collect waits until nothing runs and nothing is offered, and tells why that was too early, if it was.
func (p *passes[J]) collect() error {
	p.running.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	err := p.err
	p.err = nil
	return err
}

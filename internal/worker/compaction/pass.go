package compaction

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/korvet-io/korvet/internal/redisstream"
	"github.com/korvet-io/korvet/internal/worker/replicas"
)

// pass is one compaction pass over a partition. First it maps the keys of the dirty part to their newest offsets, then it
// walks all of the log up to there and removes what is superseded. Killed at any step it leaves records that the next pass
// removes: nothing is believed clean before all of it was walked.
type pass struct {
	*Compactor
	redis redisstream.Compaction
	view  *redisstream.View
	state state
	began time.Time
	// identity is that of the Redis whose records are looked at.
	identity redisstream.Identity

	dirty   bool   // else only tombstones are looked for
	to      int64  // the first offset that the pass leaves alone
	toMs    uint64 // all records appended before this lie below
	newest  *newest
	stones  []redisstream.Tombstones // what is left of them; the last are those of this pass
	holes   map[int64]string
	thinned map[int64]redisstream.Density // by a stream's number: as it was before this pass took entries out of it
	gone    []redisstream.ID              // to be taken out of the stream that is walked
	scanned int64
	kept    int64
	largest redisstream.Stamp // of the records kept
	removed int64
}

// plan finds out whether a pass is due, and up to where.
func (p *pass) plan(ctx context.Context) (due bool, err error) {
	s := &p.state
	p.holes, p.thinned = map[int64]string{}, map[int64]redisstream.Density{}
	p.to, p.toMs = s.clean, s.since
	if s.mayBeDue() {
		to, _, err := p.firstSince(ctx, s.cutoff)
		if err != nil {
			return false, err
		}
		if p.dirty = s.dirtyEnough(to); !p.dirty && to > s.clean {
			_, ms, err := p.firstSince(ctx, s.since)
			if err != nil {
				return false, err
			}
			p.dirty = s.overdue(ms)
		}
		if p.dirty {
			p.to, p.toMs = to, s.cutoff
		}
	}
	return p.dirty || s.tombstonesDue(), nil
}

// firstSince finds the first dirty record that was appended at ms or later. Where there is none nothing is dirty.
func (p *pass) firstSince(ctx context.Context, ms uint64) (offset int64, at uint64, err error) {
	offset = p.state.clean
	for _, part := range p.parts() {
		if part.lastMs < ms {
			continue
		}
		w := walk{next: p.state.clean, end: p.state.end, take: func(e *redisstream.Entry) bool {
			offset, at = e.Record.Offset, e.ID.Ms
			return false
		}}
		if err := p.scan(ctx, part.number, redisstream.ID{Ms: ms}, redisstream.FewEntries, &w); err != nil || w.stopped {
			return offset, at, err
		}
	}
	return offset, at, nil
}

// make makes the pass and notes it in the registry.
func (p *pass) make(ctx context.Context) error {
	if err := p.replicated(ctx); err != nil {
		return err
	}
	if err := p.mapKeys(ctx); err != nil {
		return err
	}
	p.largest = redisstream.Stamp{Known: true, Offset: -1}
	p.stones = append(slices.Clone(p.state.stones), redisstream.Tombstones{To: p.to})
	for i := range p.stones {
		p.stones[i].Count = 0
	}
	for _, part := range p.parts() {
		if part.base >= p.to {
			break
		}
		if part.last >= p.state.start {
			if err := p.sweep(ctx, part); err != nil {
				return err
			}
		}
	}
	now := p.state.now + uint64(max(0, p.now().Sub(p.began))/time.Millisecond)
	p.stones[len(p.stones)-1].Ms = now
	clean := redisstream.Clean{To: p.to, Ms: p.toMs, Kept: p.kept, Passed: now, Largest: p.largest, Tombstones: fewTombstones(p.stones), Holes: p.holes}
	return p.redis.Note(ctx, p.view, &clean)
}

// replicated waits until the replicas have all that is dirty: a record goes only once the one that supersedes it is below
// the high watermark.
func (p *pass) replicated(ctx context.Context) error {
	if !p.dirty {
		return nil
	}
	return replicas.Wait(ctx, p.replicas, p.identity, p.state.cfg.MinInsyncReplicas, p.most)
}

// mapKeys maps the keys of the dirty part, as far as there is memory: the pass ends where it is full. What is found to be
// superseded on the way goes at once, so that only what stays is looked at twice.
func (p *pass) mapKeys(ctx context.Context) error {
	if !p.dirty {
		p.newest = newNewest(0, 0)
		return nil
	}
	p.newest = newNewest(p.to-p.state.clean, p.memory)
	var part stretch
	w := walk{next: p.state.clean, end: p.to}
	w.take = func(e *redisstream.Entry) bool {
		p.scanned++
		if e.Record.Key == nil {
			p.gone = append(p.gone, e.ID)
			return true
		}
		old, ok := p.newest.put(e.Record.Key, e.ID)
		if !ok {
			p.to, p.toMs = e.Record.Offset, e.ID.Ms
			return false
		}
		if old != (redisstream.ID{}) && int64(old.Seq) >= part.base { // those of other streams go with the sweep
			p.gone = append(p.gone, old)
		}
		return true
	}
	w.page = func() error { return p.remove(ctx, part.number) }
	for _, part = range p.parts() {
		if part.last < p.state.clean || w.stopped {
			continue
		}
		if err := p.scan(ctx, part.number, redisstream.ID{Ms: p.state.since}, 0, &w); err != nil {
			return err
		}
	}
	return nil
}

// remove takes what is gone out of a stream.
func (p *pass) remove(ctx context.Context, number int64) error {
	if len(p.gone) == 0 {
		return nil
	}
	if p.replicas != nil && p.shard.Identity() != p.identity { // what its replicas have is not known
		return fmt.Errorf("%w: redis is another one now", redisstream.ErrReplicasBehind)
	}
	before, known := p.thinned[number]
	if !known {
		var err error
		if before, err = p.redis.Measure(ctx, number); err != nil {
			return err
		}
		p.thinned[number] = before
	}
	for some := range slices.Chunk(p.gone, redisstream.MaxRemoved) {
		n, err := p.redis.Remove(ctx, number, before, some)
		if err != nil {
			return err
		}
		p.removed += n
	}
	p.gone = p.gone[:0]
	return nil
}

// sweep removes from one stream what may go.
func (p *pass) sweep(ctx context.Context, part stretch) error {
	w := walk{next: p.state.start, end: p.to, page: func() error { return p.remove(ctx, part.number) }}
	w.take = func(e *redisstream.Entry) bool {
		if p.keeps(e) {
			p.keep(e)
		} else {
			p.gone = append(p.gone, e.ID)
		}
		return true
	}
	if err := p.scan(ctx, part.number, redisstream.ID{}, 0, &w); err != nil {
		return err
	}
	before, thinned := p.view.Clean.Dense[part.number] // maybe by a pass that did not come to its end
	if !thinned {
		before, thinned = p.thinned[part.number]
	}
	if empty := w.last == (redisstream.ID{}); !thinned && (!empty || part.number == p.redis.Open) {
		return nil
	}
	return p.settle(ctx, part.number, before)
}

// settle looks at a stream that entries were taken out of since its density was before.
func (p *pass) settle(ctx context.Context, number int64, before redisstream.Density) error {
	after, err := p.redis.Measure(ctx, number)
	if err != nil {
		return err
	}
	if fill := after.Fill(before); fill < worthRewriting && after.Nodes >= fewNodes {
		p.holes[number] = fmt.Sprintf("%.0f", 100*fill)
	}
	if number == p.redis.Open {
		return nil
	}
	bytes, err := p.weigh(ctx, number)
	if err != nil {
		return err
	}
	_, err = p.redis.Settle(ctx, number, bytes)
	return err
}

// keep counts a record that stays.
func (p *pass) keep(e *redisstream.Entry) {
	p.kept++
	if p.largest.Offset < 0 || e.Record.Timestamp > p.largest.Ms {
		p.largest.Ms, p.largest.Offset = e.Record.Timestamp, e.Record.Offset
	}
}

// keeps tells whether a record stays, and counts tombstones that do.
func (p *pass) keeps(e *redisstream.Entry) bool {
	p.scanned++
	offset := e.Record.Offset
	if e.Record.Key == nil || p.newest.supersedes(e.Record.Key, offset) {
		return false
	}
	if e.Record.Value != nil {
		return true
	}
	i := slices.IndexFunc(p.stones, func(t redisstream.Tombstones) bool { return offset < t.To })
	if i < len(p.stones)-1 && p.state.expired(p.stones[i].Ms) {
		return false
	}
	p.stones[i].Count++
	return true
}

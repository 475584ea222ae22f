package partition

import (
	"cmp"
	"slices"
	"strings"
)

// Known calls f, for metrics, with the ends of each partition that this broker knows without asking Redis, in the order of
// their names.
func (m *Manager) Known(f func(Ref, Bounds)) {
	m.mu.RLock()
	all := make([]*Partition, 0, len(m.open))
	for _, p := range m.open {
		all = append(all, p)
	}
	m.mu.RUnlock()
	slices.SortFunc(all, func(a, b *Partition) int {
		return cmp.Or(strings.Compare(a.ref.Topic, b.ref.Topic), cmp.Compare(a.ref.Partition, b.ref.Partition))
	})
	for _, p := range all {
		p.mu.Lock()
		known, bounds := p.ends.known, p.ends.bounds(p.term.epoch)
		p.mu.Unlock()
		if known {
			f(p.ref, bounds)
		}
	}
}

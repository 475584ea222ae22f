package coordinator

import "context"

// mirrored is a commit that is to be shown in a native group, or one that is not there any more.
type mirrored struct {
	Offset
	gone bool
}

// show notes what is to be shown of a partition.
func (l *cell) show(o Offset, gone bool) {
	if l.c.Mirror == nil || l.c.set.MirrorEvery == 0 {
		return
	}
	if l.shown == nil {
		l.shown = map[TopicPartition]mirrored{}
		l.c.markDirty(l)
	}
	l.shown[o.TopicPartition] = mirrored{o, gone}
}

func (c *Coordinator) markDirty(l *cell) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dirty[l] = struct{}{}
}

// mirror shows what was committed since the last time.
func (c *Coordinator) mirror(ctx context.Context) {
	c.mu.Lock()
	dirty := c.dirty
	c.dirty = map[*cell]struct{}{}
	c.mu.Unlock()
	for l := range dirty {
		l.mu.Lock()
		shown := l.shown
		l.shown = nil
		l.mu.Unlock()
		for _, m := range shown {
			if err := c.mirrorOne(ctx, l.name, m); err != nil {
				c.Log.Debug("a commit is not shown in a native group", "group", l.name, "topic", m.Topic, "partition", m.Partition, "error", err)
			}
		}
	}
}

func (c *Coordinator) mirrorOne(ctx context.Context, name string, m mirrored) error {
	if m.gone {
		return c.Mirror.Hide(ctx, name, m.Offset)
	}
	return c.Mirror.Show(ctx, name, m.Offset)
}

package coordinator

import (
	"context"
	"time"

	"github.com/korvet-io/korvet/internal/group"
)

// watchEvery is how often Run looks whether there are groups that have to be loaded.
const watchEvery = 500 * time.Millisecond

// Run loads the groups that this broker coordinates, then lets offsets expire and shows commits in native groups, until
// ctx ends. Groups that other brokers leave to this one, and those that were given up, are loaded as soon as that is seen.
func (c *Coordinator) Run(ctx context.Context) {
	c.catchUp(ctx)
	watch := time.NewTicker(watchEvery)
	defer watch.Stop()
	check := time.NewTicker(c.set.CheckInterval)
	defer check.Stop()
	var mirror <-chan time.Time // never, unless commits are shown
	if c.Mirror != nil && c.set.MirrorEvery > 0 {
		ticker := time.NewTicker(c.set.MirrorEvery)
		defer ticker.Stop()
		mirror = ticker.C
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-watch.C:
			c.catchUp(ctx)
		case <-check.C:
			c.Expire()
		case <-mirror:
			c.mirror(ctx)
		}
	}
}

// Expire removes the offsets whose retention is over, those of topics that are gone, and groups of which nothing is left.
func (c *Coordinator) Expire() {
	image := c.Cluster.Image()
	for _, l := range c.all() {
		if c.mine(l.name) != nil {
			l.giveUp(group.ErrNotCoordinator)
			continue
		}
		l.mu.Lock()
		if l.state == loaded {
			l.expire(image)
			l.settle()
		}
		l.unlock()
	}
}

// expire queues what is to be removed of one group.
func (l *cell) expire(image group.Image) {
	gone := l.expired(l.c.Now(), image)
	left := len(l.offsets) - len(gone)
	if left == 0 && l.group.Size() == 0 && l.claimed && len(l.queue) == 0 && !l.writing && l.idle() {
		l.remove(func(error) {})
	} else if len(gone) > 0 {
		l.push(&op{gone: gone, done: func(*cell, error) {}})
	}
	if len(gone) > 0 {
		l.c.Observer.Expired(len(gone))
	}
}

// idle tells that a group without members and offsets is to be forgotten: it has been empty for as long as its offsets
// would have been kept, or had none.
func (l *cell) idle() bool {
	return len(l.tickets) == 0
}

// expired lists the offsets whose time is over, by the rules of KIP-211.
func (l *cell) expired(now time.Time, image group.Image) []TopicPartition {
	d := l.group.Summary()
	var gone []TopicPartition
	for p, o := range l.offsets {
		if t, ok := image.Topic(p.Topic); !ok || t.ID != o.TopicID || l.over(o, d, now) {
			gone = append(gone, p)
		}
	}
	return gone
}

// over tells that an offset's retention is over. In a group without members it runs from the last one's end, in a group
// without members ever and for topics that no member is subscribed to from the commit.
func (l *cell) over(o Offset, d group.Description, now time.Time) bool {
	if o.ExpireMs > 0 {
		return now.UnixMilli() >= o.ExpireMs
	}
	since := time.UnixMilli(o.CommitMs)
	switch {
	case l.group.Size() > 0:
		if d.State != group.Stable || d.Type == group.Classic && d.ProtocolType != consumerProtocol || l.group.Subscribed(o.Topic) {
			return false
		}
	case d.ProtocolType != "":
		if d.Since.After(since) {
			since = d.Since
		}
	}
	return now.Sub(since) >= l.c.set.Retention
}

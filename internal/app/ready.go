package app

import (
	"fmt"
	"slices"
	"sync"
)

// Parts of a broker that may be the reason why it is not ready.
const (
	reasonStarting = iota
	reasonRedis
	reasons
)

// readiness keeps why the broker is not ready. It is safe for concurrent use.
type readiness struct {
	mu   sync.Mutex
	text [reasons]string
}

// set changes one reason, "" for none, and tells whether there was none before.
func (r *readiness) set(which int, text string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.text[which]
	r.text[which] = text
	return before == ""
}

func (r *readiness) list() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(r.text[:]), func(text string) bool { return text == "" })
}

// waitingPartitions counts those that wait for the remote tier.
func (b *Broker) waitingPartitions() int {
	if p := b.current(); p != nil {
		return p.logs.Waiting()
	}
	return 0
}

// notes lists what a broker that serves clients cannot do at the moment.
func (b *Broker) notes() []string {
	var list []string
	if n := b.waitingPartitions(); n > 0 {
		list = append(list, fmt.Sprintf("%d partitions wait for the store of the remote tier: Redis has lost their log or its end", n))
	}
	if b.storeFails.Load() {
		list = append(list, "the store of the remote tier fails")
	}
	return list
}

// notReady lists why clients cannot be served at the moment.
func (b *Broker) notReady() []string {
	why := b.state.list()
	p := b.current()
	if p == nil {
		return why
	}
	if !p.shard.Available() {
		why = append(why, "the Redis of the messages is away")
	}
	if !p.store.Healthy() {
		why = append(why, "the Redis of the metadata is away")
	}
	return why
}

// Package dictionary keeps the zstd dictionaries of topics: it samples values as they are produced, trains in the
// background, publishes what helps, finds what other brokers published, and looks up those that old records need.
//
// An id stands for one blob for a topic's life, in one Redis. What a broker knows belongs to the Redis that it was read
// from: another one (a failover) may have lost the newest and given its id to another blob.
package dictionary

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/korvet-io/korvet/internal/redisstream"
)

// Store is what the dictionaries need of the Redis of the messages. It is safe for concurrent use.
type Store interface {
	// Identity is that of the Redis reached last.
	Identity() redisstream.Identity
	// NewestDictionaries looks at topics' lives; the answers are in their order.
	NewestDictionaries(ctx context.Context, keys []redisstream.DictionaryKeys) ([]redisstream.NewestDictionary, error)
	// LoadDictionary reads one; nil when it is not there.
	LoadDictionary(ctx context.Context, keys redisstream.DictionaryKeys, id uint32) ([]byte, error)
	// PublishDictionary makes blob the newest, unless the newest is another one than known: false.
	PublishDictionary(ctx context.Context, keys redisstream.DictionaryKeys, known, id uint32, blob []byte, ratio float64) (bool, error)
	// RemoveDictionaries removes those of a life that ended.
	RemoveDictionaries(ctx context.Context, keys redisstream.DictionaryKeys) error
}

// Observer counts trainings by their result: published, other (another broker was first), useless (values do not become
// much smaller), failed. It must not block.
type Observer interface{ DictionaryTrained(result string) }

// Settings bound what training costs.
type Settings struct {
	Namespace     string
	SampleRecords int           // values that a dictionary is trained on
	SampleBytes   int           // bytes of them; all topics that sample at a time take at most eight times as much
	MaxBytes      int           // size of a dictionary
	Retrain       time.Duration // between two trainings of a topic at least
	Poll          time.Duration // how often topics in use are looked at for what others published
}

// DefaultSettings are the documented defaults.
func DefaultSettings() Settings {
	return Settings{Namespace: "korvet", SampleRecords: 1000, SampleBytes: 8 << 20, MaxBytes: 32 << 10, Retrain: time.Hour, Poll: 5 * time.Second}
}

// Dependencies are what a registry is made of beside its settings.
type Dependencies struct {
	Store    Store
	Observer Observer
	Log      *slog.Logger
	Now      func() time.Time
	// Alive tells whether this life of a topic exists, from memory.
	Alive func(topic, topicID string) bool
}

// Registry has the dictionaries of a broker's topics. It is safe for concurrent use.
type Registry struct {
	Settings
	Dependencies
	sampled atomic.Int64 // bytes of samples held, of all topics
	cache   cache

	mu     sync.RWMutex
	topics map[string]*Topic // by topic id

	wake  chan struct{} // a topic is to be looked at
	ready chan *Topic   // has its samples
}

// trainable is how many topics may wait for their training.
const trainable = 64

// New returns a registry. It asks the store nothing before Run.
func New(s Settings, d Dependencies) *Registry {
	return &Registry{
		Settings: s, Dependencies: d, topics: map[string]*Topic{},
		wake: make(chan struct{}, 1), ready: make(chan *Topic, trainable),
	}
}

// Run looks for dictionaries and trains until ctx ends. Training has a goroutine of its own: it takes seconds.
func (r *Registry) Run(ctx context.Context) {
	var training sync.WaitGroup
	training.Go(func() { r.train(ctx) })
	defer training.Wait()
	ticker := time.NewTicker(r.Poll)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.wake:
		case <-ticker.C:
		}
		if err := r.Look(ctx); err != nil && ctx.Err() == nil {
			r.Log.Warn("cannot look for dictionaries: values are compressed with those known", "error", err)
		}
	}
}

// Topic returns the dictionaries of one life of a topic.
func (r *Registry) Topic(name, topicID string) *Topic {
	r.mu.RLock()
	t := r.topics[topicID]
	r.mu.RUnlock()
	if t != nil {
		return t
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if t = r.topics[topicID]; t == nil {
		t = &Topic{registry: r, name: name, id: topicID, keys: redisstream.NewDictionaryKeys(r.Namespace, name, topicID)}
		r.topics[topicID] = t
	}
	return t
}

// idle is for how many looks a topic may be without use before it is forgotten.
const idle = 60

// inUse returns the topics that were used since the last look, and forgets those that were not for long.
func (r *Registry) inUse() []*Topic {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []*Topic
	for id, t := range r.topics {
		if t.used.Swap(false) {
			t.unused = 0
			list = append(list, t)
			continue
		}
		if t.unused++; t.unused > idle {
			delete(r.topics, id)
			t.dropSamples()
		}
	}
	return list
}

// lookAtOnce is how many topics one request asks about.
const lookAtOnce = 500

// Look finds what was published of the topics in use, whoever published it.
func (r *Registry) Look(ctx context.Context) error {
	list := r.inUse()
	var problems []error
	for len(list) > 0 {
		page := list[:min(len(list), lookAtOnce)]
		list = list[len(page):]
		keys := make([]redisstream.DictionaryKeys, len(page))
		for i, t := range page {
			keys[i] = t.keys
		}
		identity := r.Store.Identity()
		newest, err := r.Store.NewestDictionaries(ctx, keys)
		if err != nil {
			return err
		}
		for i, t := range page {
			if err := t.learn(ctx, identity, newest[i]); err != nil {
				problems = append(problems, fmt.Errorf("topic %s: %w", t.name, err))
			}
		}
	}
	return errors.Join(problems...)
}

// Remove removes all dictionaries of a life of a topic that ended. It may be repeated.
func (r *Registry) Remove(ctx context.Context, name, topicID string) error {
	r.mu.Lock()
	t := r.topics[topicID]
	delete(r.topics, topicID)
	r.mu.Unlock()
	if t != nil {
		t.dropSamples()
	}
	return r.Store.RemoveDictionaries(ctx, redisstream.NewDictionaryKeys(r.Namespace, name, topicID))
}

// poke has topics looked at soon.
func (r *Registry) poke() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

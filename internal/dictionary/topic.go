package dictionary

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/korvet-io/korvet/internal/compress"
	"github.com/korvet-io/korvet/internal/redisstream"
)

// Topic has the dictionaries of one life of a topic. It is safe for concurrent use.
type Topic struct {
	registry *Registry
	name, id string
	keys     redisstream.DictionaryKeys
	used     atomic.Bool
	unused   int // looks without use; guarded by Registry.mu

	current  atomic.Pointer[known] // nil: not looked at yet
	sampling atomic.Bool

	mu        sync.Mutex
	samples   samples
	training  bool
	notBefore time.Time // no training before
	window    window
}

// known is what a look found.
type known struct {
	identity   redisstream.Identity
	newest     redisstream.NewestDictionary
	dictionary *compress.Dictionary // nil: none was published
}

// of tells whether what is known is of that Redis. Where Redis hides what it is, nobody can tell, and the next look finds a
// blob that was replaced.
func (k *known) of(identity redisstream.Identity) bool {
	return k.identity == identity || k.identity.Hidden() && identity.Hidden()
}

// Current is the dictionary to compress with now, in the Redis of this identity; nil for none. It does not block.
func (t *Topic) Current(identity redisstream.Identity) *compress.Dictionary {
	if !t.used.Load() {
		t.used.Store(true)
	}
	k := t.current.Load()
	if k == nil || !k.of(identity) {
		t.registry.poke()
		return nil
	}
	return k.dictionary
}

// learn takes what a look found.
func (t *Topic) learn(ctx context.Context, identity redisstream.Identity, newest redisstream.NewestDictionary) error {
	before := t.current.Load()
	if before == nil || !before.of(identity) || before.newest != newest {
		k := &known{identity: identity, newest: newest}
		if newest.ID != 0 {
			d, err := t.load(ctx, newest.ID)
			if err != nil {
				return err
			}
			k.dictionary = d
		}
		t.adopt(k)
	}
	t.mayTrain()
	return nil
}

// adopt puts a dictionary in force. How well the one before did says nothing of it.
func (t *Topic) adopt(k *known) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.current.Store(k)
	t.window = window{}
	if k.dictionary != nil {
		t.stopSampling()
		t.registry.cache.put(cacheKey{t.id, k.newest.ID, k.identity}, k.dictionary)
	}
}

// mayTrain has a topic without dictionary sample its values.
func (t *Topic) mayTrain() {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := t.current.Load()
	if k != nil && k.dictionary == nil && !t.training && !t.registry.Now().Before(t.notBefore) {
		t.sampling.Store(true)
	}
}

func (t *Topic) load(ctx context.Context, id uint32) (*compress.Dictionary, error) {
	blob, err := t.registry.Store.LoadDictionary(ctx, t.keys, id)
	if err != nil {
		return nil, err
	}
	return parse(blob, id)
}

// parse reads a blob that is stored under an id. One that names itself otherwise is not what the records' frames mean.
func parse(blob []byte, id uint32) (*compress.Dictionary, error) {
	if blob == nil {
		return nil, fmt.Errorf("%w: %d", ErrMissing, id)
	}
	d, err := compress.NewDictionary(blob)
	if err == nil && d.ID() != id {
		err = fmt.Errorf("it says that it is %d", d.ID())
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %d: %w", ErrUnusable, id, err)
	}
	return d, nil
}

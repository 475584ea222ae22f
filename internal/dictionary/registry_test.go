package dictionary

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/korvet-io/korvet/internal/compress"
	"github.com/korvet-io/korvet/internal/redisstream"
)

// memory is a store of one topic.
type memory struct {
	identity redisstream.Identity
	newest   redisstream.NewestDictionary
	blobs    map[uint32][]byte
	removed  int
}

func (m *memory) Identity() redisstream.Identity { return m.identity }

func (m *memory) NewestDictionaries(_ context.Context, keys []redisstream.DictionaryKeys) ([]redisstream.NewestDictionary, error) {
	list := make([]redisstream.NewestDictionary, len(keys))
	for i := range list {
		list[i] = m.newest
	}
	return list, nil
}

func (m *memory) LoadDictionary(_ context.Context, _ redisstream.DictionaryKeys, id uint32) ([]byte, error) {
	return m.blobs[id], nil
}

func (m *memory) PublishDictionary(_ context.Context, _ redisstream.DictionaryKeys, known, id uint32, blob []byte, ratio float64) (bool, error) {
	if known != m.newest.ID {
		return false, nil
	}
	m.newest = redisstream.NewestDictionary{ID: id, Sum: fmt.Sprint(len(blob)), Ratio: ratio}
	m.blobs[id] = blob
	return true, nil
}

func (m *memory) RemoveDictionaries(context.Context, redisstream.DictionaryKeys) error {
	m.removed++
	return nil
}

// rig is a registry whose steps a test takes itself.
type rig struct {
	*Registry
	t       *testing.T
	store   *memory
	now     time.Time
	alive   bool
	results []string
}

func (r *rig) DictionaryTrained(result string) { r.results = append(r.results, result) }

func newRig(t *testing.T, store *memory) *rig {
	r := &rig{t: t, store: store, now: time.Unix(1_800_000_000, 0), alive: true}
	s := DefaultSettings()
	s.SampleRecords = 400
	r.Registry = New(s, Dependencies{
		Store: store, Observer: r, Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return r.now },
		Alive: func(string, string) bool { return r.alive },
	})
	return r
}

func newStore() *memory {
	return &memory{identity: redisstream.Identity{RunID: "a", ReplID: "a"}, blobs: map[uint32][]byte{}}
}

func (r *rig) look(topic *Topic) {
	r.t.Helper()
	topic.Current(r.store.identity)
	if err := r.Look(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
}

// sample gives values until no more are wanted, and trains if they were enough.
func (r *rig) sample(topic *Topic, value func(n int) []byte) {
	for n := 0; topic.Sampling() && n < 10_000; n++ {
		topic.Sample(value(n))
	}
	select {
	case t := <-r.ready:
		r.trainOne(r.t.Context(), t)
	default:
	}
}

func event(n int) []byte {
	return fmt.Appendf(nil, `{"order":%d,"customer":"c-%06d","status":"shipped","city":"Berlin","total":%d.%02d}`, 7_000_000+n, n*7919%1_000_000, n%300, n%100)
}

func noise(n int) []byte {
	r := rand.New(rand.NewPCG(3, uint64(n)))
	b := make([]byte, 200)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

func TestADictionaryIsTrainedPublishedAndUsed(t *testing.T) {
	r := newRig(t, newStore())
	topic := r.Topic("t", "01")
	if topic.Current(r.store.identity) != nil || topic.Sampling() {
		t.Error("values are sampled before it is known whether there is a dictionary")
	}
	r.look(topic)
	r.sample(topic, event)
	r.look(topic)
	if d := topic.Current(r.store.identity); d == nil || d.ID() != 1 || topic.Sampling() || fmt.Sprint(r.results) != "[published]" {
		t.Errorf("the dictionary is %v after %v", d, r.results)
	}
	if r.sampled.Load() != 0 {
		t.Errorf("%d bytes of samples are left", r.sampled.Load())
	}
}

func TestSeveralBrokersAgreeOnOne(t *testing.T) {
	store := newStore()
	one, two := newRig(t, store), newRig(t, store)
	a, b := one.Topic("t", "01"), two.Topic("t", "01")
	one.look(a)
	two.look(b)
	one.sample(a, event)
	two.sample(b, event)
	one.look(a)
	two.look(b)
	if fmt.Sprint(one.results, two.results) != "[published] [other]" {
		t.Errorf("results are %v and %v", one.results, two.results)
	}
	if x, y := a.Current(store.identity), b.Current(store.identity); x == nil || y == nil || string(x.Blob()) != string(y.Blob()) {
		t.Error("they use different ones")
	}
}

func TestValuesThatDoNotShrinkGetNoneAndAreTriedAgainLater(t *testing.T) {
	r := newRig(t, newStore())
	topic := r.Topic("t", "01")
	r.look(topic)
	r.sample(topic, noise)
	r.look(topic)
	if topic.Sampling() || fmt.Sprint(r.results) != "[useless]" {
		t.Fatalf("results are %v, sampling is %v", r.results, topic.Sampling())
	}
	r.now = r.now.Add(r.Retrain)
	r.look(topic)
	r.sample(topic, event)
	if fmt.Sprint(r.results) != "[useless published]" {
		t.Errorf("results are %v", r.results)
	}
}

func TestWhatAnotherRedisKnewIsNotUsed(t *testing.T) {
	r := newRig(t, newStore())
	topic := r.Topic("t", "01")
	r.look(topic)
	r.sample(topic, event)
	r.look(topic)
	r.store.identity = redisstream.Identity{RunID: "b", ReplID: "b"}
	r.store.newest, r.store.blobs = redisstream.NewestDictionary{}, map[uint32][]byte{}
	if topic.Current(r.store.identity) != nil || topic.Cached(1) != nil {
		t.Error("a dictionary that Redis lost is used")
	}
	r.look(topic)
	if topic.Current(r.store.identity) != nil {
		t.Error("it is used after a look")
	}
}

func TestATopicThatEndsMeanwhileLeavesNothing(t *testing.T) {
	r := newRig(t, newStore())
	topic := r.Topic("t", "01")
	r.look(topic)
	r.alive = false
	r.sample(topic, event)
	if r.store.newest.ID != 0 || fmt.Sprint(r.results) != "[other]" {
		t.Errorf("%v was published: %v", r.store.newest, r.results)
	}
}

func TestADictionaryThatDriftsIsReplacedByABetterOne(t *testing.T) {
	r := newRig(t, newStore())
	topic := r.Topic("t", "01")
	r.look(topic)
	r.sample(topic, event)
	r.look(topic)
	drifted := func() { topic.Wrote(windowRecords, 1000, int(1000*topic.current.Load().newest.Ratio*drift)+50) }
	if drifted(); topic.Sampling() {
		t.Error("it is replaced before the interval is over")
	}
	r.now = r.now.Add(r.Retrain)
	drifted()
	r.sample(topic, func(n int) []byte {
		return fmt.Appendf(nil, "<reading sensor=%q celsius='%d'/><humidity>%d</humidity>", fmt.Sprint(n*7919), n%40, n%100)
	})
	r.look(topic)
	if d := topic.Current(r.store.identity); d.ID() != 2 || topic.Cached(1) == nil {
		t.Errorf("the dictionary is %d after %v", d.ID(), r.results)
	}
}

func TestADictionaryIsFoundInThePartitionsOwnCopyElseNamed(t *testing.T) {
	r := newRig(t, newStore())
	topic := r.Topic("t", "01")
	r.look(topic)
	r.sample(topic, event)
	blob := r.store.blobs[1]
	r.store.blobs = map[uint32][]byte{}
	own := func(context.Context) ([]byte, error) { return blob, nil }
	if d, err := topic.Find(t.Context(), 1, own); err != nil || d.ID() != 1 {
		t.Errorf("%v", err)
	}
	if _, err := topic.Find(t.Context(), 2, own); !errors.Is(err, ErrUnusable) {
		t.Errorf("a blob of another id: %v", err)
	}
	none := func(context.Context) ([]byte, error) { return nil, nil }
	if _, err := topic.Find(t.Context(), 2, none); !errors.Is(err, ErrMissing) {
		t.Errorf("none: %v", err)
	}
}

func TestTheCacheIsBounded(t *testing.T) {
	var c cache
	for id := range uint32(3 * cached) {
		c.put(cacheKey{id: id}, &compress.Dictionary{})
	}
	if len(c.known) != cached || c.get(cacheKey{id: 3*cached - 1}) == nil || c.get(cacheKey{id: 0}) != nil {
		t.Errorf("%d are kept", len(c.known))
	}
}

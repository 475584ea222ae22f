package partition_test

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/korvet-io/korvet/internal/compress"
	"github.com/korvet-io/korvet/internal/dictionary"
	"github.com/korvet-io/korvet/internal/partition"
	"github.com/korvet-io/korvet/internal/redisstream"
	"github.com/korvet-io/korvet/internal/redisstream/resp"
	"github.com/korvet-io/korvet/internal/redistest"
)

// answers does something before a broker reads the answer to what it sends next.
type answers struct {
	mu     sync.Mutex
	before func() error // an error is as good as a lost connection
}

func (a *answers) next(before func() error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.before = before
}

func (a *answers) wrap(c redisstream.Conn) redisstream.Conn { return answeredConn{c, a} }

type answeredConn struct {
	redisstream.Conn
	answers *answers
}

func (c answeredConn) Send(write func(io.Writer) error, reply redisstream.Reply) {
	c.answers.mu.Lock()
	before := c.answers.before
	c.answers.before = nil
	c.answers.mu.Unlock()
	if before != nil {
		reply = answeredReply{reply, before}
	}
	c.Conn.Send(write, reply)
}

type answeredReply struct {
	redisstream.Reply
	before func() error
}

func (r answeredReply) Read(in *resp.Reader) error {
	if err := r.before(); err != nil {
		return err
	}
	return r.Reply.Read(in)
}

// dictionaries is a broker whose topic's dictionaries are the test's, and which knows those that the test has it look for.
type dictionaries struct {
	*fixture
	t        *testing.T
	redis    *redistest.Server
	ref      partition.Ref
	registry *dictionary.Registry
	all      redisstream.DictionaryKeys
	keys     redisstream.Keys
	answers  answers
}

func newDictionaries(t *testing.T) *dictionaries {
	d := &dictionaries{t: t, redis: redistest.Start(t), ref: newRef("t")}
	d.all = redisstream.NewDictionaryKeys("korvet", "t", d.ref.TopicID())
	d.keys = redisstream.NewKeys("korvet", "t", 0)
	h := &hookedShard{wrap: d.answers.wrap, Shard: redisstream.Open(options(t, d.redis), slog.New(slog.DiscardHandler))}
	d.registry = dictionary.New(dictionary.DefaultSettings(), dictionary.Dependencies{
		Store: h.Shard, Observer: counted{}, Log: slog.New(slog.DiscardHandler), Now: time.Now, Alive: func(string, string) bool { return true },
	})
	small := func(s *partition.Settings) { s.TailCacheBytes = 0 }
	d.fixture = newBrokerOn(t, h.Shard, "1/a", small, partition.Dependencies{Shard: h, Dictionaries: d.registry})
	for id := range uint32(2) {
		d.publish(id + 1)
	}
	return d
}

func (d *dictionaries) publish(id uint32) {
	d.t.Helper()
	samples := make([][]byte, 100)
	for i := range samples {
		samples[i] = fmt.Appendf(nil, `{"event":%d,"kind":"kind %d","count":%d}`, i*7919, id, i%13)
	}
	blob, err := compress.Train(samples, 2<<10, id)
	if err != nil {
		d.t.Fatal(err)
	}
	if ok, err := d.shard.PublishDictionary(d.t.Context(), d.all, id-1, id, blob, 0.5); err != nil || !ok {
		d.t.Fatal(ok, err)
	}
}

// uses has the broker compress with a dictionary from now on, whichever was published when.
func (d *dictionaries) uses(id uint32) {
	d.t.Helper()
	d.redis.Do("HSET", d.all.All, "newest", fmt.Sprint(id), "sum", fmt.Sprint("of ", id))
	topic := d.registry.Topic("t", d.ref.TopicID())
	topic.Current(d.shard.Identity())
	if err := d.registry.Look(d.t.Context()); err != nil {
		d.t.Fatal(err)
	}
	if got := topic.Current(d.shard.Identity()); got == nil || got.ID() != id {
		d.t.Fatalf("the broker uses another dictionary than %d", id)
	}
}

func (d *dictionaries) options() partition.AppendOptions {
	return partition.AppendOptions{AllReplicas: true, Values: partition.Values{Codec: compress.Zstd, Dictionary: true}}
}

// append appends one record with a dictionary.
func (d *dictionaries) append(id uint32) <-chan outcome {
	d.t.Helper()
	d.uses(id)
	return d.appendAsync(d.ref, makeBatch(d.t, -1, -1, -1, 1000, "a value"), d.options())
}

func (d *dictionaries) appended(o outcome) {
	d.t.Helper()
	if o.err != nil {
		d.t.Fatal(o.err)
	}
}

// expect compares what is noted of each dictionary.
func (d *dictionaries) expect(want map[uint32]int64) {
	d.t.Helper()
	use, err := d.shard.DictionaryUse(d.t.Context(), d.keys)
	if err != nil || !maps.Equal(use.From, want) {
		d.t.Errorf("dictionaries were used from %v on, %v, want %v", use.From, err, want)
	}
}

func TestTheLastUseOfEachDictionaryIsNoted(t *testing.T) {
	d := newDictionaries(t)
	d.appended(<-d.append(1))
	d.appended(<-d.append(1))
	d.expect(map[uint32]int64{1: 0})
	d.appended(<-d.append(2))
	d.expect(map[uint32]int64{1: 0, 2: 2})
	d.appended(<-d.append(1))
	d.expect(map[uint32]int64{1: 3, 2: 2})
}

// What waits is appended at once, in the order in which it came: dictionaries may take turns in it.
func TestTheLastUseOfEachDictionaryInOneAppendIsNoted(t *testing.T) {
	d := newDictionaries(t)
	d.appended(<-d.append(1))
	resume := make(chan struct{})
	d.answers.next(func() error { <-resume; return nil })
	var waiting []<-chan outcome
	for _, id := range []uint32{1, 2, 1, 2, 1, 1} { // the first of them is in flight while the others wait
		waiting = append(waiting, d.append(id))
	}
	close(resume)
	for _, w := range waiting {
		d.appended(<-w)
	}
	d.expect(map[uint32]int64{1: 5, 2: 4})
}

func TestUseOfADictionaryIsNotedAgainAfterAnUnknownOutcome(t *testing.T) {
	d := newDictionaries(t)
	d.appended(<-d.append(1))
	d.answers.next(func() error { return errors.New("the answer is lost") })
	d.appended(<-d.append(2))
	d.expect(map[uint32]int64{1: 0, 2: 1})
	d.appended(<-d.append(1))
	d.expect(map[uint32]int64{1: 2, 2: 1})
	d.appended(<-d.append(1))
	d.expect(map[uint32]int64{1: 2, 2: 1})
}

// The storage worker drops a dictionary when all that needs it lies below the log start: a consumer that was about to read
// there is told that the log starts above, not that a value is corrupt.
func TestAReaderWhoseDictionaryWentWithItsRecordsIsOutOfRange(t *testing.T) {
	d := newDictionaries(t)
	d.appended(<-d.append(1))
	d.appended(<-d.append(2))
	d.appended(<-d.append(2))
	fresh := newDictionariesReader(d)
	read := func(offset int64) error {
		_, err := fresh.Read(t.Context(), d.ref, partition.ReadRequest{Offset: offset, MaxBytes: 1, AtLeastOne: true, Values: d.options().Values}, nil)
		return err
	}
	if err := read(2); err != nil {
		t.Fatal(err)
	}
	d.redis.Do("HDEL", d.all.All, "1")
	d.redis.Do("HDEL", d.keys.Dictionaries, "1")
	if err := read(0); !errors.Is(err, partition.ErrCorruptValue) {
		t.Errorf("a dictionary that is gone too early: %v", err)
	}
	d.redis.Do("HSET", d.keys.Segments, "topic", d.ref.TopicID(), "start", "1") // within the second in which brokers learn of it
	if err := read(0); !errors.Is(err, partition.ErrOffsetOutOfRange) {
		t.Errorf("below the log start: %v", err)
	}
	if err := read(1); err != nil {
		t.Error(err)
	}
}

// newDictionariesReader is a broker that leads after d's and has read no dictionary but the newest.
func newDictionariesReader(d *dictionaries) *fixture {
	d.t.Helper()
	d.close()
	shard := redisstream.Open(options(d.t, d.redis), slog.New(slog.DiscardHandler))
	registry := dictionary.New(dictionary.DefaultSettings(), dictionary.Dependencies{
		Store: shard, Observer: counted{}, Log: slog.New(slog.DiscardHandler), Now: time.Now, Alive: func(string, string) bool { return true },
	})
	c := &clock{}
	small := func(s *partition.Settings) { s.TailCacheBytes, s.Lease = 0, time.Hour }
	f := newBrokerOn(d.t, shard, "2/b", small, partition.Dependencies{Dictionaries: registry, Clock: c.dependency()})
	d.appended(f.produce(d.ref, makeBatch(d.t, -1, -1, -1, 1000, "a value"), d.options()))
	return f
}

package metadata

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"github.com/korvet-io/korvet/internal/topicconfig"
)

// Options are a store's settings and surroundings.
type Options struct {
	Namespace string // prefix of every key, without a colon
	BrokerID  int32
	Host      string // what clients are told to connect to
	Port      int32
	// Tables is where new tables of the remote tier are put: korvet.storage.remote.path and the namespace, without a slash at its
	// end. Empty: this process makes none.
	Tables    string
	CreatedBy string // name and version of the program, noted in a new namespace
	// NoBroker opens the store for a process that is no broker: none is registered, and heartbeats only read.
	NoBroker bool

	Timeout   time.Duration // bounds each call of Redis
	Heartbeat time.Duration // between two heartbeats: 2 s unless set
	Stale     time.Duration // a broker silent for longer counts as dead: 6 s unless set
	// MissInterval is how often, at most, the store is asked for one name that it does not have: 50 ms unless set.
	MissInterval time.Duration

	Schema *topicconfig.Schema
	Log    *slog.Logger
	Random io.Reader        // crypto/rand unless set
	Now    func() time.Time // time.Now unless set; only for the rate of misses
}

// Store holds the cluster's metadata. Readers are served from memory; what they miss is read from Redis. All methods are
// safe for concurrent use.
type Store struct {
	opt     Options
	redis   rueidis.Client
	scripts scripts

	clusterID  string
	self       Node
	healthy    atomic.Bool // the last heartbeat succeeded
	superseded atomic.Bool

	snap    atomic.Pointer[snapshot]
	configs atomic.Pointer[configSnapshot]
	tables  atomic.Pointer[tableSnapshot]
	apply   sync.Mutex // held while a new snapshot is made
	misses  misses
	deleted chan struct{} // capacity 1: something waits in korvet:topics:deleting

	dynamic        topicconfig.Dynamic // of the settings in force; guarded by apply
	configsChanged atomic.Pointer[func()]
}

// Open claims or checks the namespace, registers the broker under its id and loads the topics. It refuses a namespace
// with data of another kind or of a newer layout. The client stays the caller's.
func Open(ctx context.Context, client rueidis.Client, opt Options) (*Store, error) {
	opt.setDefaults()
	s := &Store{opt: opt, redis: client, scripts: newScripts(), deleted: make(chan struct{}, 1)}
	s.misses.init(opt.MissInterval, opt.Now)
	s.snap.Store(&snapshot{})
	s.configs.Store(&configSnapshot{})
	s.tables.Store(&tableSnapshot{})
	id, err := newClusterID(opt.Random)
	if err != nil {
		return nil, err
	}
	if s.clusterID, err = Claim(ctx, client, opt.Namespace, id, opt.CreatedBy); err != nil {
		return nil, err
	}
	if err := s.register(ctx); err != nil {
		return nil, err
	}
	if err := s.Heartbeat(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

func (o *Options) setDefaults() {
	if o.Heartbeat == 0 {
		o.Heartbeat = 2 * time.Second
	}
	if o.Stale == 0 {
		o.Stale = 6 * time.Second
	}
	if o.MissInterval == 0 {
		o.MissInterval = 50 * time.Millisecond
	}
	if o.Random == nil {
		o.Random = rand.Reader
	}
	if o.Now == nil {
		o.Now = time.Now
	}
}

// ID is the cluster's id.
func (s *Store) ID() string { return s.clusterID }

// Deleted receives when a deletion waits for the worker.
func (s *Store) Deleted() <-chan struct{} { return s.deleted }

func (s *Store) key(rest string) string { return s.opt.Namespace + ":" + rest }

func (s *Store) topicsKey() string   { return s.key("topics") }
func (s *Store) deletingKey() string { return s.key("topics:deleting") }
func (s *Store) nodesKey() string    { return s.key("broker:nodes") }
func (s *Store) configsKey() string  { return s.key("configs") }
func (s *Store) tablesKey() string   { return s.key("storage:tables") }

// run executes a script on its key, one that writes nothing before what may be refused. Failures are ErrUnavailable, also those
// that are ErrFull or ErrNotSaved.
func (s *Store) run(ctx context.Context, script *rueidis.Lua, key string, args ...string) ([]rueidis.RedisMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, s.opt.Timeout)
	defer cancel()
	answer, err := script.Exec(ctx, s.redis, []string{key}, args).ToArray()
	if refusal := Refusal(err); refusal != nil {
		return nil, fmt.Errorf("%w: %w: %w", ErrUnavailable, refusal, err)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return answer, nil
}

// do executes a command. Failures are ErrUnavailable.
func (s *Store) do(ctx context.Context, command rueidis.Completed) (rueidis.RedisResult, error) {
	ctx, cancel := context.WithTimeout(ctx, s.opt.Timeout)
	defer cancel()
	r := s.redis.Do(ctx, command)
	if err := r.Error(); err != nil && !rueidis.IsRedisNil(err) {
		return r, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return r, nil
}

// ready refuses at once what would only wait for a Redis that does not answer heartbeats, and what a newer broker under
// this id forbids.
func (s *Store) ready() error {
	if s.superseded.Load() {
		return ErrSuperseded
	}
	if !s.healthy.Load() {
		return fmt.Errorf("%w: no answer to the last heartbeat", ErrUnavailable)
	}
	return nil
}

// text reads the i-th element of a script's answer.
func text(answer []rueidis.RedisMessage, i int) string {
	if i >= len(answer) {
		return ""
	}
	v, _ := answer[i].ToString() // scripts answer strings where strings are read
	return v
}

// integer reads the i-th element of a script's answer.
func integer(answer []rueidis.RedisMessage, i int) int64 {
	if i >= len(answer) {
		return 0
	}
	v, _ := answer[i].AsInt64()
	return v
}

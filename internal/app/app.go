// Package app wires the broker: settings in, running server out. It is the only package that knows all others.
package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/korvet-io/korvet/internal/config"
	"github.com/korvet-io/korvet/internal/httpapi"
	"github.com/korvet-io/korvet/internal/iceberg/datafile"
	"github.com/korvet-io/korvet/internal/iceberg/store"
	"github.com/korvet-io/korvet/internal/kafka/server"
	"github.com/korvet-io/korvet/internal/metrics"
	"github.com/korvet-io/korvet/internal/redisproc"
)

// Options are what a broker runs with.
type Options struct {
	Config  *config.Config
	Kafka   []config.KafkaSetting // for tools that ask for the broker's settings
	Version string
	Log     *slog.Logger
	// Out is told which commands install a Redis server, when one is needed and missing.
	Out io.Writer
	// OwnRedis runs a child Redis when none is named, also where one answers at the default place.
	OwnRedis bool
}

// Broker is a running broker. Its methods are safe for concurrent use.
type Broker struct {
	opt Options
	cfg config.Config
	log *slog.Logger

	kafkaListener, httpListener net.Listener
	http                        *httpapi.Server
	metrics                     *metrics.Metrics
	child                       *redisproc.Process // nil: the Redis is somebody else's
	state                       readiness
	storeFails                  atomic.Bool    // the newest request to the store of the remote tier that tells
	watchStore                  store.Store    // the store, if it was away at the start; else nil
	turns                       datafile.Turns // of all that encodes and decodes data files

	cancel  context.CancelFunc // ends what runs in the background
	running sync.WaitGroup
	ready   chan struct{} // closed when clients are served for the first time
	failed  chan error    // receives why the broker cannot go on; capacity 1

	mu    sync.Mutex
	parts *parts // nil until Redis was reached
	stop  sync.Once
}

// workerTick is how often the worker looks at what an earlier try left.
const workerTick = time.Minute

// Start opens the ports, makes sure that there is a Redis, and goes on in the background: Ready tells when clients are
// served, Failed when that cannot be. An error: nothing runs.
func Start(ctx context.Context, o Options) (*Broker, error) {
	b := &Broker{opt: o, cfg: *o.Config, log: o.Log, ready: make(chan struct{}), failed: make(chan error, 1)}
	processors := runtime.GOMAXPROCS(0)
	if b.cfg.Broker.Enabled { // one is left to clients
		processors--
	}
	b.turns = datafile.NewTurns(max(1, processors))
	b.state.set(reasonStarting, "starting")
	if err := b.open(ctx); err != nil {
		b.closeListeners()
		return nil, err
	}
	background, cancel := context.WithCancel(context.Background())
	b.cancel = cancel
	b.running.Go(func() {
		if err := b.http.Serve(b.httpListener); err != nil {
			b.fail(err)
		}
	})
	b.running.Go(func() { b.awaitStore(background) })
	b.running.Go(func() {
		if err := b.serve(background); err != nil && background.Err() == nil {
			b.fail(err)
		}
	})
	return b, nil
}

// open does what must succeed before anything runs.
func (b *Broker) open(ctx context.Context) error {
	var err error
	if b.cfg.Broker.Enabled {
		if b.kafkaListener, err = listen("korvet.broker.port", b.cfg.Broker.Host, b.cfg.Broker.Port); err != nil {
			return err
		}
	}
	if b.httpListener, err = listen("korvet.http.port", b.cfg.HTTP.Host, b.cfg.HTTP.Port); err != nil {
		return err
	}
	if b.kafkaListener != nil && b.cfg.Broker.AdvertisedPort == 0 {
		b.cfg.Broker.AdvertisedPort = portOf(b.kafkaListener)
	}
	b.metrics = metrics.New(metrics.Options{
		Version:    b.opt.Version,
		MaxTopics:  b.cfg.Metrics.MaxTopics,
		Topics:     b.topicNames,
		Partitions: b.openPartitions,
		Groups:     b.knownGroups,
		MaxGroups:  b.cfg.Metrics.MaxGroups,
		Waiting:    b.waitingPartitions,
		RedisUp:    func() bool { p := b.current(); return p != nil && p.shard.Available() },
	})
	b.http = httpapi.New(httpapi.Options{NotReady: b.notReady, Notes: b.notes, Metrics: b.metrics.Handler(), Profiles: b.cfg.HTTP.Pprof, Catalog: b.catalog()})
	if err := b.prepareRemote(ctx); err != nil {
		return err
	}
	return b.chooseRedis(ctx)
}

// KafkaAddr is the host:port that clients of this machine connect to.
func (b *Broker) KafkaAddr() string { return reachable(b.kafkaListener) }

// HTTPAddr is the host:port of /livez, /readyz and /metrics for clients of this machine.
func (b *Broker) HTTPAddr() string { return reachable(b.httpListener) }

// RedisAddr is where the messages are kept.
func (b *Broker) RedisAddr() string { return place(b.cfg.Messages) }

// Redis is the Redis of the messages, as the settings or the child gave it.
func (b *Broker) Redis() config.Redis { return b.cfg.Messages }

// Ready is closed when clients are served.
func (b *Broker) Ready() <-chan struct{} { return b.ready }

// Failed receives why the broker cannot go on. Stop is still to be called.
func (b *Broker) Failed() <-chan error { return b.failed }

// Stop ends the broker in order: no new requests, answers to those in flight, the partitions released, the child Redis
// last. It returns when nothing runs any more. Calls after the first do nothing.
func (b *Broker) Stop() {
	b.stop.Do(func() {
		b.state.set(reasonStarting, "stopping")
		b.metrics.Up(false)
		ctx, cancel := context.WithTimeout(context.Background(), b.cfg.Broker.ShutdownTimeout)
		defer cancel()
		if p := b.current(); p != nil {
			p.drain(ctx, b.log)
		}
		b.cancel()
		b.http.Shutdown(ctx)
		b.closeListeners()
		b.running.Wait()
		if p := b.current(); p != nil {
			p.close()
		}
		b.stopChild()
	})
}

func (b *Broker) stopChild() {
	if b.child == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second) // an orderly end writes the AOF out
	defer cancel()
	b.child.Stop(ctx)
	b.log.Info("the child Redis has ended", "dir", b.child.Dir())
}

func (b *Broker) closeListeners() {
	for _, l := range []net.Listener{b.kafkaListener, b.httpListener} {
		if l != nil {
			_ = l.Close() // its server may have closed it
		}
	}
}

// fail tells the caller, once, why the broker cannot go on.
func (b *Broker) fail(err error) {
	select {
	case b.failed <- err:
	default: // the first reason counts
	}
}

// serve reaches Redis, however long that takes, and serves clients until ctx ends.
func (b *Broker) serve(ctx context.Context) error {
	p, err := b.reach(ctx)
	if err != nil {
		return err
	}
	b.mu.Lock()
	b.parts = p
	b.mu.Unlock()
	b.runBackground(ctx, p)
	b.state.set(reasonStarting, "")
	if p.server == nil {
		return b.work(ctx)
	}
	b.metrics.Up(true)
	b.log.Info("serving Kafka clients", "listen", b.kafkaListener.Addr().String(),
		"advertised", net.JoinHostPort(b.cfg.Broker.AdvertisedHost, fmt.Sprint(b.cfg.Broker.AdvertisedPort)),
		"http", b.httpListener.Addr().String(), "redis", place(b.cfg.Messages), "version", b.opt.Version)
	if b.cfg.Broker.AdvertisedHost == "localhost" && b.kafkaListener.Addr().(*net.TCPAddr).IP.IsUnspecified() {
		b.log.Info("clients of other machines and containers cannot connect: they are told localhost; korvet.broker.advertised-host changes that")
	}
	close(b.ready)
	if err := p.server.Serve(b.kafkaListener); !errors.Is(err, server.ErrServerClosed) {
		return err
	}
	return nil
}

// reach opens everything that needs Redis, again and again until it answers.
func (b *Broker) reach(ctx context.Context) (*parts, error) {
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
		p, err := b.connect(ctx)
		if err == nil {
			b.state.set(reasonRedis, "")
			return p, nil
		}
		if ctx.Err() != nil || !isAway(err) {
			return nil, err
		}
		if away, ok := errors.AsType[*unknownLoss](err); ok {
			if b.state.set(reasonRedis, away.Error()) {
				b.log.Error("this Redis has nothing, and the store, which may have tables of an earlier one, does not answer; clients are served as soon as it does", "error", err)
			}
		} else if b.state.set(reasonRedis, "Redis is away: "+err.Error()) {
			what := "Redis does not answer; clients are served as soon as it does"
			if !b.cfg.Broker.Enabled {
				what = "Redis does not answer; the storage worker starts as soon as it does"
			}
			b.log.Error(what, "error", err)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(pause):
		}
	}
}

func (b *Broker) current() *parts {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.parts
}

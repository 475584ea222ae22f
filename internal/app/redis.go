package app

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/korvet-io/korvet/internal/config"
	"github.com/korvet-io/korvet/internal/redisproc"
	"github.com/korvet-io/korvet/internal/redisstream"
)

// probeTimeout bounds the look for a Redis on this machine that nobody named.
const probeTimeout = 300 * time.Millisecond

// chooseRedis makes sure that there is a Redis: the one that was named; else one that answers at the default place; else
// a child of our own, whose address goes into the settings.
func (b *Broker) chooseRedis(ctx context.Context) error {
	r := &b.cfg.Redis
	if r.Configured || !b.cfg.Broker.Enabled { // a worker looks after the Redis of brokers, it needs none of its own
		return nil
	}
	dir, err := b.childDir()
	if err != nil {
		return err
	}
	if !b.opt.OwnRedis && answersRedis(ctx, r.Address()) {
		b.log.Info("no Redis is named (korvet.redis.uri): using the one that answers", "redis", r.Address())
		if _, err := os.Stat(dir); err == nil {
			b.log.Warn("an earlier run kept its data in a child Redis, which is not used now", "dir", dir)
		}
		return nil
	}
	b.child, err = redisproc.Start(ctx, redisproc.Options{
		Dir:    dir,
		Binary: redisproc.System(b.opt.Out).Ensure,
		Log:    b.log.With(componentKey, "redis"),
	})
	if err != nil {
		return fmt.Errorf("run a child Redis: %w", err)
	}
	how := "started a child Redis"
	if b.child.Adopted() {
		how = "adopted the child Redis of an earlier run"
	}
	b.log.Info("no Redis is named (korvet.redis.uri) and none answers at the default place: "+how, "redis", b.child.Addr(), "dir", b.child.Dir(), "pid", b.child.PID())
	uri := "redis://" + b.child.Addr()
	r.URI = uri
	if !b.cfg.Messages.Configured {
		b.cfg.Messages.URI = uri
	}
	return nil
}

func (b *Broker) childDir() (string, error) {
	if b.cfg.Redis.DataDir != "" {
		return b.cfg.Redis.DataDir, nil
	}
	return redisproc.DefaultDir("server")
}

// answersRedis tells whether a Redis answers on an address, be it with the wish for a password.
func answersRedis(ctx context.Context, address string) bool {
	d := net.Dialer{Timeout: probeTimeout}
	c, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return false
	}
	defer c.Close()
	answer := make([]byte, 64)
	_ = c.SetDeadline(time.Now().Add(probeTimeout)) // a failure shows below
	if _, err := c.Write([]byte("*1\r\n$4\r\nPING\r\n")); err != nil {
		return false
	}
	n, _ := c.Read(answer)
	text := string(answer[:n])
	return strings.HasPrefix(text, "+PONG") || strings.HasPrefix(text, "-NOAUTH") || strings.HasPrefix(text, "-LOADING")
}

// place is where a Redis is, for messages: no credentials.
func place(r config.Redis) string {
	o, err := streamOptions(r, config.Storage{})
	if err != nil {
		return "?"
	}
	return o.Address
}

// streamOptions are the options of the messages' Redis.
func streamOptions(r config.Redis, s config.Storage) (redisstream.Options, error) {
	o := redisstream.Options{Network: "tcp", Address: r.Address()}
	if r.URI != "" {
		var err error
		if o, err = redisstream.ParseURI(r.URI); err != nil {
			return o, err
		}
	}
	if o.Username == "" && o.Password == "" {
		o.Username, o.Password = r.Username, r.Password
	}
	o.WriteConnections = s.WriteConnections
	o.ReadConnections = readConnections
	o.DialTimeout = min(r.Timeout, 5*time.Second)
	o.Breaker = r.CircuitBreaker
	o.OpenDuration = r.CircuitOpenDuration
	return o, nil
}

// readConnections is how many reads beyond the tail cache are in flight at once: more would hold up writers.
const readConnections = 2

// metadataClient connects to a Redis for commands that are few and small.
func metadataClient(r config.Redis) (rueidis.Client, error) {
	o, err := streamOptions(r, config.Storage{})
	if err != nil {
		return nil, err
	}
	option := rueidis.ClientOption{
		InitAddress:         []string{o.Address},
		Username:            o.Username,
		Password:            o.Password,
		SelectDB:            o.DB,
		TLSConfig:           o.TLS,
		ClientName:          "korvet",
		Dialer:              net.Dialer{Timeout: o.DialTimeout, KeepAlive: 15 * time.Second},
		ConnWriteTimeout:    r.Timeout,
		DisableCache:        true,
		ForceSingleClient:   true,
		PipelineMultiplex:   -1, // one connection is enough
		RingScaleEachConn:   8,
		ReadBufferEachConn:  32 << 10,
		WriteBufferEachConn: 32 << 10,
		BlockingPoolSize:    4,
	}
	if o.Network == "unix" {
		option.DialCtxFn = func(ctx context.Context, path string, d *net.Dialer, _ *tls.Config) (net.Conn, error) {
			return d.DialContext(ctx, "unix", path)
		}
	}
	client, err := rueidis.NewClient(option)
	switch {
	case err == nil:
		return client, nil
	case isPermanent(err):
		return nil, fmt.Errorf("Redis at %s refuses the connection, check user and password of its uri or settings: %w", o.Address, err)
	}
	return nil, awayError{fmt.Errorf("connect to Redis at %s: %w", o.Address, err)}
}

// isPermanent tells whether trying again cannot help: Redis answers, and refuses us.
func isPermanent(err error) bool {
	var refusal *rueidis.RedisError
	if !errors.As(err, &refusal) {
		return false
	}
	word, _, _ := strings.Cut(refusal.Error(), " ")
	switch word {
	case "NOAUTH", "WRONGPASS", "NOPERM", "ERR":
		return true
	}
	return false
}

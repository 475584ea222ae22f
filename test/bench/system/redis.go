package system

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/korvet-io/korvet/test/bench/rawredis"
)

// Redis is a redis-server of the benchmark's own, under korvet or under the bare client.
type Redis struct {
	Program string
	Dir     string // made by Open, removed by Close
	Port    int
	AOF     string // off, everysec or always
	process *process
}

// Open starts an empty server and returns when it answers.
func (r *Redis) Open(ctx context.Context) error {
	if err := os.MkdirAll(r.Dir, 0o755); err != nil {
		return fmt.Errorf("make folder of redis: %w", err)
	}
	args := []string{"--port", strconv.Itoa(r.Port), "--bind", "127.0.0.1", "--dir", r.Dir, "--save", ""}
	if r.AOF != "off" {
		args = append(args, "--appendonly", "yes", "--appendfsync", r.AOF)
	}
	started, err := startProcess(filepath.Join(r.Dir, "redis.log"), r.Program, args...)
	if err != nil {
		return err
	}
	r.process = started
	return started.await(ctx, func() error { return r.ping(ctx) })
}

func (r *Redis) ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	conn, err := rawredis.Dial(ctx, r.Address())
	if err != nil {
		return err
	}
	defer conn.Close()
	_, err = conn.Do("PING")
	return err
}

// Close stops the server and forgets its data.
func (r *Redis) Close() error {
	if r.process == nil {
		return nil
	}
	err := r.process.stop()
	r.process = nil
	if rmErr := os.RemoveAll(r.Dir); err == nil {
		err = rmErr
	}
	return err
}

// Address is host:port.
func (r *Redis) Address() string { return local(r.Port) }

// PID is the server's, while it is open.
func (r *Redis) PID() int { return r.process.pid() }

package system

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// Korvet is the program under development over a Redis of its own. Each Open starts both from nothing.
type Korvet struct {
	Program  string
	Dir      string
	Port     int
	HTTPPort int
	Redis    *Redis
	Settings []string // more --korvet.x=y
	broker   *process
}

// Name implements System.
func (k *Korvet) Name() string { return "korvet" }

// Open implements System.
func (k *Korvet) Open(ctx context.Context) error {
	if err := os.MkdirAll(k.Dir, 0o755); err != nil {
		return fmt.Errorf("make folder of korvet: %w", err)
	}
	if err := k.Redis.Open(ctx); err != nil {
		return err
	}
	return k.start(ctx)
}

func (k *Korvet) start(ctx context.Context) error {
	args := append([]string{
		"server",
		"--korvet.broker.host=127.0.0.1",
		fmt.Sprintf("--korvet.broker.port=%d", k.Port),
		"--korvet.http.host=127.0.0.1",
		fmt.Sprintf("--korvet.http.port=%d", k.HTTPPort),
		"--korvet.redis.uri=redis://" + k.Redis.Address(),
	}, k.Settings...)
	started, err := startProcess(k.Log(), k.Program, args...)
	if err != nil {
		return err
	}
	k.broker = started
	return started.await(ctx, k.ready)
}

// Log is the file that the broker's output goes to.
func (k *Korvet) Log() string { return filepath.Join(filepath.Dir(k.Dir), "korvet.log") }

func (k *Korvet) ready() error {
	client := http.Client{Timeout: time.Second}
	answer, err := client.Get(k.URL("/readyz"))
	if err != nil {
		return err
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return errors.New("readyz: " + answer.Status)
	}
	return nil
}

// URL is the address of a page of the broker's HTTP port.
func (k *Korvet) URL(path string) string { return "http://" + local(k.HTTPPort) + path }

// Cold implements System: a broker that was restarted has nothing in its tail cache.
func (k *Korvet) Cold(ctx context.Context) error { return k.Restart(ctx, func() {}) }

// Restart implements System. Redis runs on.
func (k *Korvet) Restart(ctx context.Context, began func()) error {
	if err := k.broker.stop(); err != nil {
		return err
	}
	began()
	return k.start(ctx)
}

// Close implements System: the data of one scenario is not there in the next.
func (k *Korvet) Close() error {
	err := k.broker.stop()
	k.broker = nil
	if redisErr := k.Redis.Close(); err == nil {
		err = redisErr
	}
	if rmErr := os.RemoveAll(k.Dir); err == nil {
		err = rmErr
	}
	return err
}

// Shutdown implements System.
func (k *Korvet) Shutdown() error { return k.Close() }

// Address implements System.
func (k *Korvet) Address() string { return local(k.Port) }

// Processes implements System.
func (k *Korvet) Processes() map[string]int {
	return map[string]int{"broker": k.broker.pid(), "redis": k.Redis.PID()}
}

// TopicSettings implements System.
func (k *Korvet) TopicSettings() map[string]*string { return nil }

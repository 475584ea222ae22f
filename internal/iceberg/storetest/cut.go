// Package storetest has stores for tests: one that counts and notes what is asked of it, one that dies after a number of
// operations, and a real S3 server. Only tests import it.
package storetest

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/korvet-io/korvet/internal/iceberg/store"
)

// ErrCut is what a store that was cut off answers.
var ErrCut = errors.New("the store is cut off")

// How the operation that a Cut ends at is lost.
type How int

const (
	// Before: the operation is not carried out.
	Before How = iota
	// After: it is carried out, and its answer is lost.
	After
)

// Cut is a store that dies with an operation, as a process does between two of them: those before are carried out, none after
// is. Its methods are safe for concurrent use.
type Cut struct {
	store.Store

	mu     sync.Mutex
	passed int
	limit  int // -1: none
	how    How
	dead   bool
	died   func()
}

// NewCut makes a store that is not cut off.
func NewCut(s store.Store) *Cut { return &Cut{Store: s, limit: -1} }

// Limit counts from here and lets n more operations pass; the next one is lost in the way told, and all after it fail with
// ErrCut. died, when it is not nil, is called once, when that happens. n below 0 is no limit. It heals a store that was cut.
func (c *Cut) Limit(n int, how How, died func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.passed, c.limit, c.how, c.dead, c.died = 0, n, how, false, died
}

// Passed is the number of operations that were carried out and answered since the last Limit.
func (c *Cut) Passed() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.passed
}

// Dead tells whether the store was cut off.
func (c *Cut) Dead() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.dead
}

// do carries out an operation, or does not.
func (c *Cut) do(operation func() error) error {
	c.mu.Lock()
	if c.dead {
		c.mu.Unlock()
		return ErrCut
	}
	if c.limit < 0 || c.passed < c.limit {
		c.passed++
		c.mu.Unlock()
		return operation()
	}
	c.dead = true
	how, died := c.how, c.died
	c.mu.Unlock()
	if how == After {
		_ = operation() // its answer is what is lost
	}
	if died != nil {
		died()
	}
	return ErrCut
}

// Put implements store.Store.
func (c *Cut) Put(ctx context.Context, location string, body io.Reader) error {
	return c.do(func() error { return c.Store.Put(ctx, location, body) })
}

// PutIfAbsent implements store.Store.
func (c *Cut) PutIfAbsent(ctx context.Context, location string, body []byte) error {
	return c.do(func() error { return c.Store.PutIfAbsent(ctx, location, body) })
}

// ReadRange implements store.Store.
func (c *Cut) ReadRange(ctx context.Context, location string, p []byte, off int64) error {
	return c.do(func() error { return c.Store.ReadRange(ctx, location, p, off) })
}

// Read implements store.Store.
func (c *Cut) Read(ctx context.Context, location string) (data []byte, err error) {
	err = c.do(func() error {
		data, err = c.Store.Read(ctx, location)
		return err
	})
	if err != nil {
		return nil, err
	}
	return data, nil
}

// Size implements store.Store.
func (c *Cut) Size(ctx context.Context, location string) (size int64, err error) {
	err = c.do(func() error {
		size, err = c.Store.Size(ctx, location)
		return err
	})
	return size, err
}

// List implements store.Store.
func (c *Cut) List(ctx context.Context, folder string, each func(store.Object) error) error {
	return c.do(func() error { return c.Store.List(ctx, folder, each) })
}

// Folders implements store.Store.
func (c *Cut) Folders(ctx context.Context, folder string) (names []string, err error) {
	err = c.do(func() error {
		names, err = c.Store.Folders(ctx, folder)
		return err
	})
	return names, err
}

// Delete implements store.Store.
func (c *Cut) Delete(ctx context.Context, locations []string) error {
	return c.do(func() error { return c.Store.Delete(ctx, locations) })
}

// Clear implements store.Store.
func (c *Cut) Clear(ctx context.Context, folder string) error {
	return c.do(func() error { return c.Store.Clear(ctx, folder) })
}

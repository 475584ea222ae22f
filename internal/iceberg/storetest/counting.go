package storetest

import (
	"context"
	"io"
	"sync"

	"github.com/korvet-io/korvet/internal/iceberg/store"
)

// Asked is one operation that was asked of a store.
type Asked struct {
	Operation string // put, put-if-absent, range, read, size, list, folders, clear or delete
	Location  string // of delete: the first
	Off       int64  // of range
	Bytes     int    // of range, read and put-if-absent
	Objects   int    // of delete
	Failed    bool
}

// Counting is a store that notes what is asked of it. Its methods are safe for concurrent use.
type Counting struct {
	store.Store

	mu    sync.Mutex
	asked []Asked
}

// NewCounting makes one.
func NewCounting(s store.Store) *Counting { return &Counting{Store: s} }

// Take returns what was asked since the last Take, in the order of the answers.
func (c *Counting) Take() []Asked {
	c.mu.Lock()
	defer c.mu.Unlock()
	asked := c.asked
	c.asked = nil
	return asked
}

// Count tells how often each operation was asked since the last Take, and takes nothing.
func (c *Counting) Count() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	counts := map[string]int{}
	for _, a := range c.asked {
		counts[a.Operation]++
	}
	return counts
}

func (c *Counting) note(a Asked, err error) {
	a.Failed = err != nil
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = append(c.asked, a)
}

// Put implements store.Store.
func (c *Counting) Put(ctx context.Context, location string, body io.Reader) error {
	err := c.Store.Put(ctx, location, body)
	c.note(Asked{Operation: "put", Location: location}, err)
	return err
}

// PutIfAbsent implements store.Store.
func (c *Counting) PutIfAbsent(ctx context.Context, location string, body []byte) error {
	err := c.Store.PutIfAbsent(ctx, location, body)
	c.note(Asked{Operation: "put-if-absent", Location: location, Bytes: len(body)}, err)
	return err
}

// ReadRange implements store.Store.
func (c *Counting) ReadRange(ctx context.Context, location string, p []byte, off int64) error {
	err := c.Store.ReadRange(ctx, location, p, off)
	c.note(Asked{Operation: "range", Location: location, Off: off, Bytes: len(p)}, err)
	return err
}

// Read implements store.Store.
func (c *Counting) Read(ctx context.Context, location string) ([]byte, error) {
	data, err := c.Store.Read(ctx, location)
	c.note(Asked{Operation: "read", Location: location, Bytes: len(data)}, err)
	return data, err
}

// Size implements store.Store.
func (c *Counting) Size(ctx context.Context, location string) (int64, error) {
	size, err := c.Store.Size(ctx, location)
	c.note(Asked{Operation: "size", Location: location}, err)
	return size, err
}

// List implements store.Store.
func (c *Counting) List(ctx context.Context, folder string, each func(store.Object) error) error {
	err := c.Store.List(ctx, folder, each)
	c.note(Asked{Operation: "list", Location: folder}, err)
	return err
}

// Folders implements store.Store.
func (c *Counting) Folders(ctx context.Context, folder string) ([]string, error) {
	names, err := c.Store.Folders(ctx, folder)
	c.note(Asked{Operation: "folders", Location: folder}, err)
	return names, err
}

// Clear implements store.Store.
func (c *Counting) Clear(ctx context.Context, folder string) error {
	err := c.Store.Clear(ctx, folder)
	c.note(Asked{Operation: "clear", Location: folder}, err)
	return err
}

// Delete implements store.Store.
func (c *Counting) Delete(ctx context.Context, locations []string) error {
	err := c.Store.Delete(ctx, locations)
	a := Asked{Operation: "delete", Objects: len(locations)}
	if len(locations) > 0 {
		a.Location = locations[0]
	}
	c.note(a, err)
	return err
}

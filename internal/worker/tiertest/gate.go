package tiertest

import (
	"context"
	"io"
	"strings"
	"sync"

	objectstore "github.com/korvet-io/korvet/internal/iceberg/store"
)

// gate is a store that calls a function before it writes objects whose location has a text in it.
type gate struct {
	objectstore.Store
	text string
	mu   sync.Mutex
	call func()
}

func (g *gate) pass(location string) {
	g.mu.Lock()
	call := g.call
	if strings.Contains(location, g.text) {
		g.call = nil
	} else {
		call = nil
	}
	g.mu.Unlock()
	if call != nil {
		call()
	}
}

func (g *gate) Put(ctx context.Context, location string, body io.Reader) error {
	g.pass(location)
	return g.Store.Put(ctx, location, body)
}

func (g *gate) PutIfAbsent(ctx context.Context, location string, body []byte) error {
	g.pass(location)
	return g.Store.PutIfAbsent(ctx, location, body)
}

// Gated puts a gate before the worker's store.
func (c *Rig) Gated(text string, call func()) {
	g := &gate{Store: c.Plain, text: text, call: call}
	c.Storage.Copier.Tables = c.TablesOn(g)
}

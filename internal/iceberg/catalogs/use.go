package catalogs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
)

// DefaultTimeout bounds one request to a catalog where nothing else is set.
const DefaultTimeout = time.Minute

// callsAtOnce bounds the connections to a metastore, those among them that nobody waits for any more.
const callsAtOnce = 16

// errUnreached is a catalog that could not be opened: nothing was asked of it.
var errUnreached = errors.New("reach catalog")

// use asks something of a catalog, for as long as one request may take.
func use[T any](ctx context.Context, c *Catalog, ask func(context.Context, catalog.Catalog) (T, error)) (T, error) {
	within, cancel := context.WithTimeout(ctx, c.settings.Timeout)
	defer cancel()
	answer, err := reach(within, c, ask)
	if err != nil && ctx.Err() == nil && within.Err() != nil {
		err = fmt.Errorf("the catalog has not answered within %v: %w", c.settings.Timeout, err)
	}
	return answer, err
}

func reach[T any](ctx context.Context, c *Catalog, ask func(context.Context, catalog.Catalog) (T, error)) (answer T, err error) {
	if c.settings.Type == "hive" {
		return call(ctx, c, ask)
	}
	cat, err := c.open(ctx)
	if err != nil {
		return answer, err
	}
	return ask(ctx, cat)
}

// open makes the catalog's client, which is kept.
func (c *Catalog) open(ctx context.Context) (catalog.Catalog, error) {
	if cat := c.opened.Load(); cat != nil {
		return *cat, nil
	}
	select {
	case c.opening <- struct{}{}:
		defer func() { <-c.opening }()
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: %w", errUnreached, ctx.Err())
	}
	if cat := c.opened.Load(); cat != nil {
		return *cat, nil
	}
	lasting, cancel := context.WithCancel(context.WithoutCancel(ctx)) // the client keeps it
	stop := context.AfterFunc(ctx, cancel)
	cat, err := c.load(lasting)
	if !stop() && err == nil {
		err = fmt.Errorf("%w: %w", errUnreached, ctx.Err())
	}
	if err != nil {
		cancel()
		return nil, err
	}
	c.opened.Store(&cat)
	return cat, nil
}

func (c *Catalog) load(ctx context.Context) (catalog.Catalog, error) {
	p := iceberg.Properties(maps.Clone(c.settings.Properties))
	p["type"], p["uri"] = c.settings.Type, c.settings.URI
	cat, err := catalog.Load(ctx, p.Get("name", "korvet"), p)
	if err != nil {
		return nil, fmt.Errorf("%w of type %s: %w", errUnreached, c.settings.Type, err)
	}
	return cat, nil
}

// call asks a metastore on a connection of its own: its client serves one caller at a time, does not come back from a connection that
// broke, and knows no deadline. What has not answered in time is left alone until its connection ends.
func call[T any](ctx context.Context, c *Catalog, ask func(context.Context, catalog.Catalog) (T, error)) (answer T, err error) {
	select {
	case c.calls <- struct{}{}:
	case <-ctx.Done():
		return answer, fmt.Errorf("%w: %w", errUnreached, ctx.Err())
	}
	type answered struct {
		answer T
		err    error
	}
	done := make(chan answered, 1)
	go func() {
		defer func() { <-c.calls }()
		var a answered
		a.answer, a.err = askOnce(ctx, c, ask)
		done <- a
	}()
	select {
	case a := <-done:
		return a.answer, a.err
	case <-ctx.Done():
		return answer, ctx.Err()
	}
}

// askOnce asks on a new connection. What the client makes of a malformed answer is an error, too.
func askOnce[T any](ctx context.Context, c *Catalog, ask func(context.Context, catalog.Catalog) (T, error)) (answer T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("ask catalog: malformed answer: %v", p)
		}
	}()
	cat, err := c.load(ctx)
	if err != nil {
		return answer, err
	}
	if closer, ok := cat.(io.Closer); ok {
		defer func() { _ = closer.Close() }()
	}
	return ask(ctx, cat)
}

package store

import (
	"context"
	"errors"
	"io"
	"time"
)

// Observer is told of each request to a store, for metrics. It must not block.
type Observer interface {
	// StoreRequest tells of one request: read, write, list, size or delete; bytes are of the objects. kind is empty after a
	// success, else one of not_found, exists, denied, full, short, canceled, timeout and failed.
	StoreRequest(operation string, bytes int64, took time.Duration, kind string)
}

// Observe makes a store that tells an observer of what is asked of it.
func Observe(s Store, o Observer) Store { return &observed{Store: s, to: o, now: time.Now} }

type observed struct {
	Store
	to  Observer
	now func() time.Time
}

func (o *observed) tell(operation string, bytes int64, began time.Time, err error) {
	o.to.StoreRequest(operation, bytes, o.now().Sub(began), Kind(err))
}

// Kind is a word for what a request's error is; "" for none.
func Kind(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, ErrNotFound):
		return "not_found"
	case errors.Is(err, ErrExists):
		return "exists"
	case errors.Is(err, ErrDenied):
		return "denied"
	case errors.Is(err, ErrFull):
		return "full"
	case errors.Is(err, ErrShort):
		return "short"
	case errors.Is(err, context.Canceled):
		return "canceled"
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	}
	return "failed"
}

func (o *observed) Put(ctx context.Context, location string, body io.Reader) error {
	began, counted := o.now(), &counting{r: body}
	err := o.Store.Put(ctx, location, counted)
	o.tell("write", counted.n, began, err)
	return err
}

func (o *observed) PutIfAbsent(ctx context.Context, location string, body []byte) error {
	began := o.now()
	err := o.Store.PutIfAbsent(ctx, location, body)
	o.tell("write", int64(len(body)), began, err)
	return err
}

func (o *observed) ReadRange(ctx context.Context, location string, p []byte, off int64) error {
	began := o.now()
	err := o.Store.ReadRange(ctx, location, p, off)
	n := int64(len(p))
	if err != nil {
		n = 0
	}
	o.tell("read", n, began, err)
	return err
}

func (o *observed) Read(ctx context.Context, location string) ([]byte, error) {
	began := o.now()
	data, err := o.Store.Read(ctx, location)
	o.tell("read", int64(len(data)), began, err)
	return data, err
}

func (o *observed) Size(ctx context.Context, location string) (int64, error) {
	began := o.now()
	size, err := o.Store.Size(ctx, location)
	o.tell("size", 0, began, err)
	return size, err
}

func (o *observed) List(ctx context.Context, folder string, each func(Object) error) error {
	began := o.now()
	err := o.Store.List(ctx, folder, each)
	o.tell("list", 0, began, err)
	return err
}

func (o *observed) Folders(ctx context.Context, folder string) ([]string, error) {
	began := o.now()
	names, err := o.Store.Folders(ctx, folder)
	o.tell("list", 0, began, err)
	return names, err
}

func (o *observed) Clear(ctx context.Context, folder string) error {
	began := o.now()
	err := o.Store.Clear(ctx, folder)
	o.tell("delete", 0, began, err)
	return err
}

func (o *observed) Delete(ctx context.Context, locations []string) error {
	if len(locations) == 0 {
		return nil
	}
	began := o.now()
	err := o.Store.Delete(ctx, locations)
	o.tell("delete", 0, began, err)
	return err
}

// counting counts what is read.
type counting struct {
	r io.Reader
	n int64
}

func (c *counting) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// Package fileio shows a store to the Iceberg library: it reads and writes manifests and manifest lists through it. Data files
// do not come this way.
package fileio

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"time"

	iceio "github.com/apache/iceberg-go/io"

	"github.com/korvet-io/korvet/internal/iceberg/store"
)

// IO is a store for the length of one operation: its context ends what is read and written through it.
type IO struct {
	ctx   context.Context
	store store.Store
	check func(name string, data []byte) error // may be nil
}

var (
	_ iceio.WriteFileIO = IO{}
	_ iceio.ReadFileIO  = IO{}
)

// New makes the store's IO for an operation.
func New(ctx context.Context, s store.Store) IO { return IO{ctx: ctx, store: s} }

// Checked has each file that is read be checked first. check is called by several goroutines at once.
func (i IO) Checked(check func(name string, data []byte) error) IO {
	i.check = check
	return i
}

// Open reads a file whole.
func (i IO) Open(name string) (iceio.File, error) {
	data, err := i.ReadFile(name)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return &file{Reader: bytes.NewReader(data), name: name}, nil
}

// ReadFile reads a file whole.
func (i IO) ReadFile(name string) ([]byte, error) {
	data, err := i.store.Read(i.ctx, name)
	if errors.Is(err, store.ErrNotFound) {
		err = errors.Join(fs.ErrNotExist, err)
	}
	if err == nil && i.check != nil {
		err = i.check(name, data)
	}
	return data, err
}

// Remove deletes a file.
func (i IO) Remove(name string) error { return i.store.Delete(i.ctx, []string{name}) }

// WriteFile writes a file whole.
func (i IO) WriteFile(name string, data []byte) error {
	return i.store.Put(i.ctx, name, bytes.NewReader(data))
}

// Create gathers a file, which is written when it is closed.
func (i IO) Create(name string) (iceio.FileWriter, error) { return &writer{io: i, name: name}, nil }

type writer struct {
	bytes.Buffer
	io     IO
	name   string
	closed bool
}

func (w *writer) ReadFrom(r io.Reader) (int64, error) { return w.Buffer.ReadFrom(r) }

func (w *writer) Close() error {
	if w.closed {
		return nil
	}
	w.closed = true
	return w.io.WriteFile(w.name, w.Bytes())
}

// Held is files that were read already, by name.
type Held map[string][]byte

// Open opens one of them.
func (h Held) Open(name string) (iceio.File, error) {
	data, ok := h[name]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return &file{Reader: bytes.NewReader(data), name: name}, nil
}

// Remove is refused.
func (h Held) Remove(name string) error {
	return &fs.PathError{Op: "remove", Path: name, Err: fs.ErrPermission}
}

type file struct {
	*bytes.Reader
	name string
}

func (f *file) Close() error               { return nil }
func (f *file) Stat() (fs.FileInfo, error) { return info{f}, nil }

type info struct{ f *file }

func (i info) Name() string       { return path.Base(i.f.name) }
func (i info) Size() int64        { return i.f.Reader.Size() }
func (i info) Mode() fs.FileMode  { return 0o444 }
func (i info) ModTime() time.Time { return time.Time{} }
func (i info) IsDir() bool        { return false }
func (i info) Sys() any           { return nil }

package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// makeDirs makes a directory and those above it up to the root, which must be there. The name of each one made is on disk.
func makeDirs(dir, root string) error {
	if info, err := os.Stat(dir); err == nil {
		if !info.IsDir() {
			return &fs.PathError{Op: "mkdir", Path: dir, Err: unix.ENOTDIR}
		}
		return nil
	}
	if dir == root || dir == "/" {
		return fmt.Errorf("%w: directory %s", ErrGone, root)
	}
	if err := makeDirs(filepath.Dir(dir), root); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o755); errors.Is(err, fs.ErrExist) { // somebody else, just now; who syncs it, too
		return nil
	} else if err != nil {
		return err
	}
	return syncDir(filepath.Dir(dir))
}

func (f files) Put(ctx context.Context, location string, body io.Reader) error {
	return f.write(ctx, location, body, os.Rename)
}

func (f files) PutIfAbsent(ctx context.Context, location string, body []byte) error {
	return f.write(ctx, location, strings.NewReader(string(body)), func(from, to string) error {
		if err := os.Link(from, to); err != nil { // unlike a rename, it never replaces
			return err
		}
		return os.Remove(from)
	})
}

// write writes a file beside the place it is for and then puts it there.
func (f files) write(ctx context.Context, location string, body io.Reader, place func(from, to string) error) (err error) {
	defer func() { err = wrap("write", location, err) }()
	name, err := path(location)
	if err != nil {
		return err
	}
	dir := filepath.Dir(name)
	if err := makeDirs(dir, f.root); err != nil {
		return err
	}
	temp, err := os.CreateTemp(dir, unfinished)
	if err != nil {
		return err
	}
	defer func() {
		_ = temp.Close()
		if err != nil {
			_ = os.Remove(temp.Name())
			err = named(err, temp.Name(), name)
		}
	}()
	if _, err := io.Copy(temp, &stoppable{ctx, body}); err != nil {
		return err
	}
	if err := errors.Join(temp.Chmod(0o644), temp.Sync(), temp.Close()); err != nil {
		return err
	}
	if err := place(temp.Name(), name); err != nil {
		return err
	}
	return syncDir(dir)
}

// named tells of the object what happened to the file that it was written to, whose name differs each time: whoever tells a failure
// once knows by the text that it is still the same.
func named(err error, temp, name string) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok && p.Path == temp {
		return &fs.PathError{Op: p.Op, Path: name, Err: p.Err}
	}
	if l, ok := errors.AsType[*os.LinkError](err); ok && l.Old == temp {
		return &fs.PathError{Op: l.Op, Path: name, Err: l.Err}
	}
	return err
}

// stoppable ends a copy when its context ends.
type stoppable struct {
	ctx context.Context
	r   io.Reader
}

func (s *stoppable) Read(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	return s.r.Read(p)
}

// syncDir makes a new name survive a power cut.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }()
	if err := d.Sync(); err != nil && !errors.Is(err, unix.EINVAL) { // some file systems have no such thing
		return err
	}
	return nil
}

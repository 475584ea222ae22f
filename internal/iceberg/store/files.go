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

// files is the store of file:// locations. An object is in place under its name only once it is on disk.
type files struct{}

// unfinished marks what is being written. Listings pass it over.
const unfinished = ".unfinished-"

// path takes file:///dir and, as Java writes it, file:/dir.
func path(location string) (string, error) {
	p, found := strings.CutPrefix(location, "file:")
	if !found {
		return "", fmt.Errorf("%q is no file: location", location)
	}
	if strings.HasPrefix(p, "///") {
		p = p[2:]
	}
	if !strings.HasPrefix(p, "/") || strings.HasPrefix(p, "//") {
		return "", fmt.Errorf("%q is no absolute file location", location)
	}
	return filepath.Clean(p), nil
}

func (files) Put(ctx context.Context, location string, body io.Reader) error {
	return write(ctx, location, body, os.Rename)
}

func (files) PutIfAbsent(ctx context.Context, location string, body []byte) error {
	return write(ctx, location, strings.NewReader(string(body)), func(from, to string) error {
		if err := os.Link(from, to); err != nil { // unlike a rename, it never replaces
			return err
		}
		return os.Remove(from)
	})
}

// write writes a file beside the place it is for and then puts it there.
func write(ctx context.Context, location string, body io.Reader, place func(from, to string) error) (err error) {
	defer func() { err = wrap("write", location, err) }()
	name, err := path(location)
	if err != nil {
		return err
	}
	dir := filepath.Dir(name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, unfinished)
	if err != nil {
		return err
	}
	defer func() {
		_ = f.Close()
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	if _, err := io.Copy(f, &stoppable{ctx, body}); err != nil {
		return err
	}
	if err := errors.Join(f.Chmod(0o644), f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := place(f.Name(), name); err != nil {
		return err
	}
	return syncDir(dir)
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

func (files) ReadRange(ctx context.Context, location string, p []byte, off int64) error {
	return reading(ctx, location, func(f *os.File) error {
		_, err := io.ReadFull(io.NewSectionReader(f, off, int64(len(p))), p)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return ErrShort
		}
		return err
	})
}

func (files) Read(ctx context.Context, location string) (data []byte, err error) {
	err = reading(ctx, location, func(f *os.File) error {
		data, err = readSmall(f)
		return err
	})
	return data, err
}

func (files) Size(ctx context.Context, location string) (size int64, err error) {
	err = reading(ctx, location, func(f *os.File) error {
		info, err := f.Stat()
		if err == nil {
			size = info.Size()
		}
		return err
	})
	return size, err
}

func reading(ctx context.Context, location string, do func(*os.File) error) error {
	name, err := path(location)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return wrap("read", location, err)
	}
	f, err := os.Open(name)
	if err != nil {
		return wrap("read", location, err)
	}
	defer func() { _ = f.Close() }()
	return wrap("read", location, do(f))
}

func (files) List(ctx context.Context, folder string, each func(Object) error) error {
	root, err := path(folder)
	if err != nil {
		return wrap("list", folder, err)
	}
	err = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) { // removed meanwhile, or nothing was ever written
			return nil
		}
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		if d.IsDir() || strings.HasPrefix(d.Name(), unfinished) {
			return nil
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		return each(Object{Location: "file://" + name, Size: info.Size(), Modified: info.ModTime()})
	})
	return wrap("list", folder, err)
}

func (files) Folders(ctx context.Context, folder string) (names []string, err error) {
	root, err := path(folder)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, wrap("list", folder, err)
	}
	entries, err := os.ReadDir(root)
	if errors.Is(err, fs.ErrNotExist) { // nothing was ever written
		return nil, nil
	}
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names, wrap("list", folder, err)
}

func (files) Clear(ctx context.Context, folder string) error {
	root, err := path(folder)
	if err == nil {
		err = ctx.Err()
	}
	if err == nil {
		err = os.RemoveAll(root)
	}
	return wrap("delete", folder, err)
}

func (files) Delete(ctx context.Context, locations []string) error {
	var failed []error
	for _, l := range locations {
		name, err := path(l)
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = os.Remove(name)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			failed = append(failed, wrap("delete", l, err))
		}
	}
	return errors.Join(failed...)
}

func readSmall(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxSmall+1))
	if err == nil && len(data) > maxSmall {
		err = fmt.Errorf("larger than %d bytes", maxSmall)
	}
	return data, err
}

// wrap names the object, and the kind of what happened.
func wrap(verb, location string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		err = errors.Join(ErrNotFound, err)
	case errors.Is(err, fs.ErrExist):
		err = errors.Join(ErrExists, err)
	case errors.Is(err, fs.ErrPermission):
		err = errors.Join(ErrDenied, err)
	}
	return fmt.Errorf("%s %s: %w", verb, location, err)
}

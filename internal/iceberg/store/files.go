package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// files is the store of file:// locations. An object is in place under its name only once it is on disk, and so are the folders
// that it is in.
type files struct {
	root string // what must be there: it is a mount, perhaps, that is gone
}

const (
	// unfinished marks what is being written. Listings pass it over.
	unfinished = ".unfinished-"
	// abandoned is how long nothing was written to a file until whoever wrote it is gone: listings tell of it then, so that it is swept
	// like other objects that nothing names.
	abandoned = 24 * time.Hour
)

// openFiles makes the root, unless it is there.
func openFiles(location string) (Store, error) {
	root, err := path(location)
	if err == nil {
		if err = makeDirs(root, "/"); err != nil {
			err = fmt.Errorf("%w: %w", ErrDirectory, err)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", location, err)
	}
	return files{root: root}, nil
}

// path takes file:///dir and, as Java writes it, file:/dir; what is percent-encoded, as URLs are, is the same object as what is not.
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
	if plain, err := url.PathUnescape(p); err == nil {
		p = plain
	}
	return filepath.Clean(p), nil
}

// below is the location of a name below a folder, spelled as the folder is: callers compare it with locations that they made of that.
func below(folder, name string) string {
	return strings.TrimRight(folder, "/") + "/" + strings.ReplaceAll(name, "%", "%25")
}

func (f files) ReadRange(ctx context.Context, location string, p []byte, off int64) error {
	return f.reading(ctx, location, func(o *os.File) error {
		_, err := io.ReadFull(io.NewSectionReader(o, off, int64(len(p))), p)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return ErrShort
		}
		return err
	})
}

func (f files) Read(ctx context.Context, location string) (data []byte, err error) {
	err = f.reading(ctx, location, func(o *os.File) error {
		data, err = readSmall(o)
		return err
	})
	return data, err
}

func (f files) Size(ctx context.Context, location string) (size int64, err error) {
	err = f.reading(ctx, location, func(o *os.File) error {
		info, err := o.Stat()
		if err == nil {
			size = info.Size()
		}
		return err
	})
	return size, err
}

func (f files) reading(ctx context.Context, location string, do func(*os.File) error) error {
	name, err := path(location)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return wrap("read", location, err)
	}
	o, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		err = cmp.Or(f.there(), err)
	}
	if err != nil {
		return wrap("read", location, err)
	}
	defer func() { _ = o.Close() }()
	return wrap("read", location, do(o))
}

// there tells whether the root is there: a folder that is not has no objects, unless all are gone.
func (f files) there() error {
	if _, err := os.Stat(f.root); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: directory %s", ErrGone, f.root)
	} else if err != nil {
		return err
	}
	return nil
}

func (f files) List(ctx context.Context, folder string, each func(Object) error) error {
	root, err := path(folder)
	if err == nil {
		err = f.there()
	}
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
		if d.IsDir() {
			return nil
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if strings.HasPrefix(d.Name(), unfinished) && time.Since(info.ModTime()) < abandoned {
			return nil
		}
		return each(Object{Location: below(folder, strings.TrimPrefix(name[len(root):], "/")), Size: info.Size(), Modified: info.ModTime()})
	})
	return wrap("list", folder, err)
}

func (f files) Folders(ctx context.Context, folder string) (names []string, err error) {
	root, err := path(folder)
	if err == nil {
		err = errors.Join(ctx.Err(), f.there())
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

func (f files) Delete(ctx context.Context, locations []string) error {
	var failed []error
	for _, l := range locations {
		name, err := path(l)
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = os.Remove(name)
		}
		if errors.Is(err, fs.ErrNotExist) {
			err = cmp.Or(f.there(), err)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			failed = append(failed, wrap("delete", l, err))
		}
	}
	return errors.Join(failed...)
}

var errLarge = errors.New("object too large")

func readSmall(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxSmall+1))
	if err == nil && len(data) > maxSmall {
		err = fmt.Errorf("%w: more than %d bytes", errLarge, maxSmall)
	}
	return data, err
}

// wrap names the object, and the kind of what happened.
func wrap(verb, location string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s: %w", verb, location, wrapKind(err))
}

func wrapKind(err error) error {
	switch {
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EDQUOT):
		return fmt.Errorf("%w: %w", ErrFull, err)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: %w", ErrNotFound, err)
	case errors.Is(err, fs.ErrExist):
		return fmt.Errorf("%w: %w", ErrExists, err)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, unix.EROFS):
		return fmt.Errorf("%w: %w", ErrDenied, err)
	}
	return err
}

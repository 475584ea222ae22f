package store_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/korvet-io/korvet/internal/iceberg/store"
)

func TestFileLocationsOfTheSameObject(t *testing.T) {
	dir := t.TempDir()
	s := open(t, "file://"+dir, store.S3{})
	must(t, s.Put(t.Context(), "file://"+dir+"/a b/ü", strings.NewReader("x")))
	for _, l := range []string{"file:" + dir + "/a b/ü", "file://" + dir + "/a%20b/%C3%BC", "file:" + dir + "/a%20b/ü", "file://" + dir + "//a b/./ü"} {
		if got, err := s.Read(t.Context(), l); string(got) != "x" || err != nil {
			t.Errorf("%s: %q, %v", l, got, err)
		}
	}
}

func TestFullDiskIsToldAndLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	s := open(t, "file://"+dir, store.S3{})
	err := s.Put(t.Context(), "file://"+dir+"/a/b", &failing{bytes.NewReader(noise(1 << 20)), unix.ENOSPC})
	if !errors.Is(err, store.ErrFull) || store.Kind(err) != "full" || !strings.Contains(err.Error(), dir+"/a/b") {
		t.Errorf("%v, want ErrFull and the object's name", err)
	}
	left, err := os.ReadDir(filepath.Join(dir, "a"))
	if len(left) > 0 || err != nil {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestDirectoryThatIsGoneIsNotMadeAnew(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "mount")
	s := open(t, "file://"+dir, store.S3{})
	must(t, s.Put(t.Context(), "file://"+dir+"/a/b", strings.NewReader("x")))
	must(t, os.Rename(dir, dir+".away"))
	at := "file://" + dir + "/a/b"
	_, err := s.Read(t.Context(), at)
	_, err2 := s.Size(t.Context(), at)
	_, err3 := s.Folders(t.Context(), "file://"+dir+"/a/")
	for i, err := range []error{
		err, err2, err3, s.Put(t.Context(), at, strings.NewReader("y")), s.PutIfAbsent(t.Context(), at, nil), s.Delete(t.Context(), []string{at}),
		s.List(t.Context(), "file://"+dir+"/", func(store.Object) error { return nil }),
	} {
		if !errors.Is(err, store.ErrGone) || errors.Is(err, store.ErrNotFound) {
			t.Errorf("%d: %v, want ErrGone", i, err)
		}
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("the directory was made anew")
	}
	must(t, os.Rename(dir+".away", dir))
	if got, err := s.Read(t.Context(), at); string(got) != "x" || err != nil {
		t.Errorf("back again: %q, %v", got, err)
	}
}

func TestReadOnlyDirectoryIsDenied(t *testing.T) {
	if os.Getuid() == 0 { // whom no mode stops: what cannot be a directory stops him
		dir := t.TempDir()
		s := open(t, "file://"+dir, store.S3{})
		must(t, os.WriteFile(filepath.Join(dir, "a"), nil, 0o600))
		if err := s.Put(t.Context(), "file://"+dir+"/a/b", strings.NewReader("x")); err == nil || !strings.Contains(err.Error(), "not a directory") {
			t.Errorf("a file instead of a directory: %v", err)
		}
		return
	}
	dir := t.TempDir()
	s := open(t, "file://"+dir, store.S3{})
	must(t, os.Chmod(dir, 0o555))
	if err := s.Put(t.Context(), "file://"+dir+"/a/b", strings.NewReader("x")); !errors.Is(err, store.ErrDenied) {
		t.Errorf("%v, want ErrDenied", err)
	}
}

func TestUnfinishedFilesAreListedOnceTheyAreADayOld(t *testing.T) {
	dir := t.TempDir()
	s := open(t, "file://"+dir, store.S3{})
	must(t, os.WriteFile(filepath.Join(dir, ".unfinished-1"), []byte("x"), 0o600))
	list := func() (names []string) {
		must(t, s.List(t.Context(), "file://"+dir+"/", func(o store.Object) error {
			names = append(names, o.Location)
			return nil
		}))
		return names
	}
	if names := list(); len(names) > 0 {
		t.Errorf("listed %q", names)
	}
	old := time.Now().Add(-25 * time.Hour)
	must(t, os.Chtimes(filepath.Join(dir, ".unfinished-1"), old, old))
	if names := list(); len(names) != 1 {
		t.Errorf("of a day ago are listed %q", names)
	}
	must(t, s.Delete(t.Context(), list()))
	if names := list(); len(names) > 0 {
		t.Errorf("deleted was %q", names)
	}
}

package store_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/korvet-io/korvet/internal/iceberg/store"
)

// fullDisk names the directory that the test's own process, in a mount namespace of its own, is to put a small file system on.
const fullDisk = "KORVET_TEST_FULL_DISK"

// TestAFullDiskKeepsNothingOfAnObject writes to a file system of 1 MiB. Where this process may make none, the writes end by an
// injected error alone (TestFullDiskIsToldAndLeavesNothing).
func TestAFullDiskKeepsNothingOfAnObject(t *testing.T) {
	dir := os.Getenv(fullDisk)
	if dir == "" {
		inner := exec.Command("unshare", "-m", os.Args[0], "-test.run=^TestAFullDiskKeepsNothingOfAnObject$", "-test.v")
		inner.Env = append(os.Environ(), fullDisk+"="+t.TempDir())
		out, err := inner.CombinedOutput()
		switch {
		case bytes.Contains(out, []byte("--- PASS")):
		case bytes.Contains(out, []byte("unshare")) || errors.Is(err, exec.ErrNotFound) || bytes.Contains(out, []byte("cannot mount")):
			t.Logf("this machine allows no file system of the test's own: %v %s", err, out)
		default:
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	if err := unix.Mount("none", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Fatalf("cannot mount: %v", err)
	}
	defer func() { must(t, unix.Unmount(dir, unix.MNT_DETACH)) }()
	at := "file://" + dir
	s := open(t, at, store.S3{})
	must(t, s.Put(t.Context(), at+"/a/small", bytes.NewReader(noise(400<<10))))
	text := ""
	for range 2 {
		err := s.Put(t.Context(), at+"/a/large", bytes.NewReader(noise(2<<20)))
		if !errors.Is(err, store.ErrFull) || text != "" && err.Error() != text || strings.Contains(err.Error(), "unfinished") {
			t.Errorf("%v, want ErrFull in the same words as before: %s", err, text)
		}
		text = err.Error()
		if err := s.PutIfAbsent(t.Context(), at+"/a/commit", noise(1<<20)); !errors.Is(err, store.ErrFull) {
			t.Errorf("a commit: %v", err)
		}
	}
	for _, name := range []string{"/a/large", "/a/commit"} {
		if _, err := s.Size(t.Context(), at+name); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s is there: %v", name, err)
		}
	}
	if left, err := os.ReadDir(dir + "/a"); err != nil || len(left) != 1 {
		t.Errorf("left is %v, %v", left, err)
	}
	must(t, unix.Mount("none", dir, "tmpfs", unix.MS_REMOUNT, "size=8m"))
	must(t, s.Put(t.Context(), at+"/a/large", bytes.NewReader(noise(2<<20))))
}

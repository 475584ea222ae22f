package faults

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/korvet-io/korvet/internal/redistest"
)

// disk is a directory of which a test decides whether it can be written to.
type disk struct {
	dir  string
	kind string // what a broker's metric calls the refusal
	// reads tells whether what is there can be read while nothing can be written.
	reads        bool
	refuse, take func() error
}

// newDisk makes a file system of so many bytes that will be full, or what comes next to it where this process may make none: a
// directory that refuses files, or one that goes away.
func newDisk(t *testing.T, bytes int) *disk {
	t.Helper()
	if d := ownFileSystem(t, bytes); d != nil {
		return d
	}
	dir := filepath.Join(t.TempDir(), "tier")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() != 0 {
		return &disk{dir: dir, kind: "denied", reads: true, refuse: func() error { return permit(dir, 0o555) }, take: func() error { return permit(dir, 0o755) }}
	}
	away := dir + "-away" // modes do not bind root
	return &disk{dir: dir, kind: "failed", refuse: func() error { return os.Rename(dir, away) }, take: func() error { return os.Rename(away, dir) }}
}

// permit sets the mode of all folders of a directory.
func permit(dir string, mode fs.FileMode) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			err = os.Chmod(path, mode)
		}
		return err
	})
}

// ownFileSystem makes a file system in memory, in a mount namespace of a process of its own, through which others reach it: it is
// gone with that process, and on most machines it takes no privilege. nil: this process may not.
func ownFileSystem(t *testing.T, bytes int) *disk {
	t.Helper()
	at := t.TempDir()
	script := fmt.Sprintf(`mount -t tmpfs -o size=%d none "$0" && echo ready && exec cat`, bytes)
	for _, namespaces := range []string{"-m", "-Urm"} {
		holder := exec.Command("unshare", namespaces, "sh", "-c", script, at)
		in, errIn := holder.StdinPipe()
		out, errOut := holder.StdoutPipe()
		if err := errors.Join(errIn, errOut); err != nil {
			t.Fatal(err)
		}
		if holder.Start() != nil { // there is no such program
			continue
		}
		line, _ := bufio.NewReader(out).ReadString('\n')
		end := func() { _ = errors.Join(in.Close(), holder.Wait()) } // it has nothing to say any more
		dir := filepath.Join("/proc", strconv.Itoa(holder.Process.Pid), "root", at)
		if line != "ready\n" || os.Mkdir(filepath.Join(dir, "tier"), 0o755) != nil {
			end()
			continue
		}
		t.Cleanup(end)
		ballast := filepath.Join(dir, "ballast")
		return &disk{
			dir: filepath.Join(dir, "tier"), kind: "full", reads: true,
			refuse: func() error { return fill(ballast) }, take: func() error { return os.Remove(ballast) },
		}
	}
	return nil
}

// room is what a full disk has left, in bytes: what is written to it fails at some place in its middle.
const room = 1 << 20

// fill writes a file until the file system is full but for that.
func fill(name string) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	n, err := io.Copy(f, zeroes{})
	if err = errors.Join(err, f.Close()); !errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("fill %s: %w", name, err)
	}
	return os.Truncate(name, max(0, n-room))
}

type zeroes struct{}

func (zeroes) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// files are those of the disk by their suffix.
func (d *disk) files(t *testing.T, suffix string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(d.dir, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) { // it has gone since the folder was read
			return nil
		}
		if err == nil && !entry.IsDir() && strings.HasSuffix(path, suffix) {
			names = append(names, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// requireWholeFiles fails the test for each data file whose beginning or end is missing, by the names under which readers find them.
func (d *disk) requireWholeFiles(t *testing.T) {
	t.Helper()
	const magic = "PAR1"
	for _, name := range d.files(t, ".parquet") {
		body, err := os.ReadFile(name)
		if err != nil || len(body) < 3*len(magic) || !strings.HasPrefix(string(body), magic) || !strings.HasSuffix(string(body), magic) {
			t.Errorf("%s is visible with %d bytes and not whole: %v", name, len(body), err)
		}
	}
}

// requireNothingUnfinished waits until nothing is left of what could not be written to its end.
func (d *disk) requireNothingUnfinished(t *testing.T) {
	t.Helper()
	redistest.Eventually(t, "what was not finished to be removed", func() bool {
		for _, name := range d.files(t, "") {
			if strings.HasPrefix(filepath.Base(name), ".") {
				return false
			}
		}
		return true
	})
}

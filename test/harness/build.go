package harness

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// build returns the path of the korvet binary to test. A test process builds it once.
var build = sync.OnceValues(func() (string, error) {
	if path := os.Getenv("KORVET_TEST_BINARY"); path != "" {
		return path, nil
	}
	root, err := ModuleRoot()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(root, ".cache", "bin")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("create folder for the binary: %w", err)
	}
	// The tests of several packages run at the same time and may all build: each renames a whole file into place.
	fresh, err := os.CreateTemp(dir, "korvet-*")
	if err != nil {
		return "", fmt.Errorf("create file for the binary: %w", err)
	}
	_ = fresh.Close()
	defer func() { _ = os.Remove(fresh.Name()) }()
	cmd := exec.Command("go", "build", "-ldflags=-w", "-o", fresh.Name(), "./cmd/korvet") // without what debuggers need: it halves the linker's work
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	binary := filepath.Join(dir, "korvet")
	if err := os.Rename(fresh.Name(), binary); err != nil {
		return "", fmt.Errorf("put the binary in place: %w", err)
	}
	return binary, nil
})

// ModuleRoot returns the folder of this checkout's go.mod, found upwards from the working directory.
func ModuleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find working directory: %w", err)
	}
	for {
		_, err := os.Stat(filepath.Join(dir, "go.mod"))
		if err == nil {
			return dir, nil
		}
		if !errors.Is(err, os.ErrNotExist) {
			return "", fmt.Errorf("look for go.mod: %w", err)
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("look for go.mod: not inside a Go module")
		}
		dir = parent
	}
}

// Command runs a subcommand of korvet to its end and returns what it printed. It fails the test when that fails.
func Command(t testing.TB, args ...string) string {
	t.Helper()
	binary, err := build()
	if err != nil {
		t.Fatalf("build korvet: %v", err)
	}
	cmd := exec.CommandContext(t.Context(), binary, args...)
	var complaint strings.Builder
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("korvet %s: %v\n%s%s", strings.Join(args, " "), err, out, complaint.String())
	}
	return string(out)
}

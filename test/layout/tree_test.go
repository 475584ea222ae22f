package layout

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// root is the module's folder, seen from this package's.
const root = "../.."

// made are folders that builds, tests and package managers make; what is in them is nobody's source.
var made = map[string]bool{".git": true, "bin": true, "out": true, "node_modules": true, "target": true, "__pycache__": true, ".korvet": true}

// walk calls visit with each source file's path below the module's folder and its content.
func walk(t *testing.T, visit func(path, content string)) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (made[entry.Name()] || strings.Contains(entry.Name(), "venv")):
			return fs.SkipDir
		case !entry.Type().IsRegular():
			return nil
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		visit(filepath.ToSlash(rel), string(content))
		return nil
	})
	if err != nil {
		t.Fatalf("walk the tree: %v", err)
	}
}

func TestSourceFilesStayShort(t *testing.T) {
	const limit = 500
	walk(t, func(path, content string) {
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return
		}
		if lines := strings.Count(content, "\n"); lines > limit {
			t.Errorf("%s has %d lines, at most %d are allowed: split it by what it does", path, lines, limit)
		}
	})
}

// Work left undone is allowed while a line of docs/ names the file and its owner ("`internal/x/y.go` ... owner: ...").
func TestEveryTodoHasAnOwner(t *testing.T) {
	todo := "TO" + "DO" // this file must not find itself
	var owned []string
	var open []string
	walk(t, func(path, content string) {
		if strings.HasPrefix(path, "docs/") {
			for line := range strings.Lines(content) {
				if strings.Contains(line, "owner:") {
					owned = append(owned, line)
				}
			}
		}
		if strings.Contains(content, todo) {
			open = append(open, path)
		}
	})
	for _, path := range open {
		if !containsAny(owned, path) {
			t.Errorf("%s says %s, and no line of docs/ gives it an owner", path, todo)
		}
	}
}

func containsAny(lines []string, path string) bool {
	for _, line := range lines {
		if strings.Contains(line, "`"+path+"`") {
			return true
		}
	}
	return false
}

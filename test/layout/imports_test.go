package layout

import (
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/korvet-io/korvet/"

// room is a row of the table in docs/architecture.md.
type room struct {
	imports []string // as the table has them, below internal/
	all     bool
}

// rooms reads the table: it is the rule, this test only enforces it.
func rooms(t *testing.T) map[string]room {
	t.Helper()
	table := map[string]room{}
	row := regexp.MustCompile("^\\| `([^`]+)` \\|.*\\|([^|]*)\\|$")
	name := regexp.MustCompile("`([^`]+)`")
	walk(t, func(path, content string) {
		if path != "docs/architecture.md" {
			return
		}
		for line := range strings.Lines(content) {
			cells := row.FindStringSubmatch(strings.TrimSpace(line))
			if cells == nil {
				continue
			}
			r := room{all: strings.HasPrefix(strings.TrimSpace(cells[2]), "all")}
			for _, found := range name.FindAllStringSubmatch(cells[2], -1) {
				r.imports = append(r.imports, "internal/"+found[1])
			}
			table[cells[1]] = r
		}
	})
	if len(table) == 0 {
		t.Fatal("docs/architecture.md has no table of rooms")
	}
	return table
}

// roomOf is the room that a folder belongs to: itself, or the nearest folder above that the table names.
func roomOf(table map[string]room, dir string) (string, bool) {
	for ; dir != "."; dir = path.Dir(dir) {
		if _, ok := table[dir]; ok {
			return dir, true
		}
	}
	return "", false
}

// Test files are free: an integration test may start what it needs.
func TestNothingImportsUpwards(t *testing.T) {
	table := rooms(t)
	walk(t, func(file, content string) {
		inRoom := strings.HasPrefix(file, "cmd/") || strings.HasPrefix(file, "internal/")
		if !inRoom || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return
		}
		from, ok := roomOf(table, path.Dir(file))
		if !ok {
			t.Errorf("%s: docs/architecture.md names no room for it", file)
			return
		}
		for _, imported := range importsOf(t, file, content) {
			to, ok := roomOf(table, imported)
			if !ok {
				t.Errorf("%s imports %s: docs/architecture.md names no room for it", file, imported)
				continue
			}
			if to != from && !table[from].all && !slices.Contains(table[from].imports, to) {
				t.Errorf("%s (room %s) must not import %s", file, from, to)
			}
		}
	})
}

// The table itself must not have a circle, or "upwards" would mean nothing.
func TestRoomsFormNoCircle(t *testing.T) {
	table := rooms(t)
	var visit func(name string, above []string)
	visit = func(name string, above []string) {
		if slices.Contains(above, name) {
			t.Fatalf("a circle: %s", strings.Join(append(above, name), " -> "))
		}
		r, ok := table[name]
		if !ok {
			t.Errorf("the table allows an import of %s, which is not in it", name)
		}
		for _, next := range r.imports {
			visit(next, append(slices.Clone(above), name))
		}
	}
	for name := range table {
		visit(name, nil)
	}
}

// Only cmd and internal/app know everything: nobody else may import them.
func TestNobodyImportsTheWiring(t *testing.T) {
	for name, r := range rooms(t) {
		if r.all && name != "cmd/korvet" && name != "internal/app" {
			t.Errorf("%s may import all: only cmd/korvet and internal/app may", name)
		}
		for _, imported := range r.imports {
			if imported == "internal/app" {
				t.Errorf("%s may import internal/app: only cmd/korvet may", name)
			}
		}
	}
}

// importsOf lists the module's own packages that a file imports.
func importsOf(t *testing.T, file, content string) []string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, content, parser.ImportsOnly)
	if err != nil {
		t.Fatalf("parse imports: %v", err)
	}
	var own []string
	for _, spec := range parsed.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatalf("unquote import of %s: %v", file, err)
		}
		if dir, ok := strings.CutPrefix(name, module); ok {
			own = append(own, dir)
		}
	}
	return own
}

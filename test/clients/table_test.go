package clients_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/korvet-io/korvet/test/harness"
)

var update = flag.Bool("update", false, "write docs/clients.md from the results")

// table holds one cell for each client and row: "ok", "failed", or why the client does not have it.
type table struct {
	mu    sync.Mutex
	rows  []string
	cells map[[2]string]string
}

const unsupportedPrefix = "not supported by the client: "

func newTable() *table { return &table{cells: map[[2]string]string{}} }

func unsupported(why string) string { return unsupportedPrefix + why }

func okUnless(failed bool) string {
	if failed {
		return "failed"
	}
	return "ok"
}

func result(err error) string { return okUnless(err != nil) }

// set fills a cell. What has failed once stays failed.
func (t *table) set(row, client, text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !slices.Contains(t.rows, row) {
		t.rows = append(t.rows, row)
	}
	if cell := [2]string{row, client}; t.cells[cell] != "failed" {
		t.cells[cell] = text
	}
}

// has tells whether the cell is filled.
func (t *table) has(row, client string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.cells[[2]string{row, client}] != ""
}

// report prints one line for each cell and, asked to, writes the page for users.
func (s *suite) report(t *testing.T) {
	rows := s.orderedRows()
	for _, c := range s.clients {
		for _, row := range rows {
			if text := s.table.cells[[2]string{row, c.name}]; text != "" {
				t.Logf("%s: %s: %s", c.name, row, text)
			}
		}
	}
	if whole := flag.Lookup("test.run").Value.String() == ""; whole {
		s.checkComplete(t, rows)
	}
	if !*update {
		return
	}
	if t.Failed() || long() {
		t.Fatal("docs/clients.md is not written: there are failures, or not everything was tried (KORVET_TEST_LONG)")
	}
	page, err := s.page(t.Context(), rows)
	if err != nil {
		t.Fatalf("make docs/clients.md: %v", err)
	}
	root, err := harness.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "docs", "clients.md"), []byte(page), 0o644); err != nil {
		t.Fatalf("write docs/clients.md: %v", err)
	}
}

// checkComplete fails for each cell that was neither tried nor listed with a reason.
func (s *suite) checkComplete(t *testing.T, rows []string) {
	for _, row := range rows {
		for _, c := range s.clients {
			if !s.table.has(row, c.name) && !long() {
				t.Errorf("%s: %s: was not tried", c.name, row)
			}
		}
	}
}

// orderedRows are the rows in an order that does not depend on which client was first: features, kinds of records, everybody at once, groups, administration, readers.
func (s *suite) orderedRows() []string {
	var rows []string
	for _, f := range features() {
		rows = append(rows, f.name)
	}
	for bit := trait(1); traitNames[bit] != ""; bit <<= 1 {
		rows = append(rows, traitNames[bit])
	}
	rows = append(rows, "all clients at once")
	rows = append(rows, rowSeek)
	rows = append(rows, groupRows()...)
	for _, call := range adminCalls() {
		rows = append(rows, call.row)
	}
	for _, c := range s.clients {
		rows = append(rows, "read what "+c.name+" produced")
	}
	return rows
}

// page is docs/clients.md.
func (s *suite) page(ctx context.Context, rows []string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	var b strings.Builder
	b.WriteString(pageHead)
	b.WriteString("| client | version |\n|---|---|\n")
	names := make([]string, len(s.clients))
	for i, c := range s.clients {
		version, err := c.version(ctx)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "| %s | %s |\n", c.name, version)
		names[i] = c.name
	}
	b.WriteString("\n| | " + strings.Join(names, " | ") + " |\n|---|" + strings.Repeat("---|", len(names)) + "\n")
	var notes []string
	for _, row := range rows {
		b.WriteString("| " + row + " |")
		for _, name := range names {
			text := s.table.cells[[2]string{row, name}]
			if why, no := strings.CutPrefix(text, unsupportedPrefix); no {
				if !slices.Contains(notes, why) {
					notes = append(notes, why)
				}
				text = fmt.Sprintf("(%d)", slices.Index(notes, why)+1)
			}
			b.WriteString(" " + text + " |")
		}
		b.WriteString("\n")
	}
	b.WriteString("\nNot supported by the client itself:\n\n")
	for i, why := range notes {
		fmt.Fprintf(&b, "%d. %s\n", i+1, why)
	}
	b.WriteString("\nReaders that do not show all of a record are compared in what they show:\n\n")
	for _, c := range s.clients {
		if c.shows != "" {
			fmt.Fprintf(&b, "- %s %s\n", c.name, c.shows)
		}
	}
	return b.String(), nil
}

const pageHead = `# Clients

Real clients, unchanged, run against korvet by ` + "`go test ./test/clients`" + `, which writes this page with ` + "`-update`" + `. "ok" says that every byte came back: keys,
values, headers, offsets, timestamps. A number says that the client itself cannot do it, and why. Each feature is produced with the cases of the rows
below it (nulls, empties, headers ...) and read back; the last rows are what one client produced in all its features, read by another.

Reading is by assigned partition, and in a group where a client has nothing else. In the rows of groups each member is a process of its own, beside a producer
that never stops: a join, a leave and a kill -9 each end in an even share, every newest record read by one member alone, and none lost. "consumer protocol"
is group.protocol=consumer (KIP-848); the rows without it are the classic protocol. What an admin row has done is looked up with another client.

franz-go's own suites of kgo and kadm run, too: ` + "`go test ./test/suites`" + `, which lists in its testdata what does not run, and why.

`

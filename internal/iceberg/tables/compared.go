package tables

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"sync"

	"github.com/korvet-io/korvet/internal/iceberg/jsoncolumns"
)

// mostCompared is how many comparisons a table remembers: 32 bytes each.
const mostCompared = 4096

// compared remembers which files were found to have the rows of which others. Data files never change, and a commit that came second
// to another is tried again, mostly with the same files.
type compared struct {
	mu    sync.Mutex
	known map[[sha256.Size]byte]bool
	order [][sha256.Size]byte // oldest first
}

func (c *compared) has(key [sha256.Size]byte) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.known[key]
}

func (c *compared) add(key [sha256.Size]byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil {
		c.known = map[[sha256.Size]byte]bool{}
	}
	if c.known[key] {
		return
	}
	if len(c.order) == mostCompared {
		delete(c.known, c.order[0])
		c.order = c.order[1:]
	}
	c.known[key], c.order = true, append(c.order, key)
}

// key stands for all that a comparison depends on.
func (s *swap) key(columns []jsoncolumns.Column) [sha256.Size]byte {
	var lines []string
	for _, c := range columns {
		lines = append(lines, fmt.Sprintf("column %d %d %q", c.ID, c.Kind, c.Comment()))
	}
	line := func(what string, f *File) {
		lines = append(lines, fmt.Sprintf("%s %q %d %d %d %d-%d %t %d-%d %d-%d", what, f.Location, f.Partition, f.Bytes, f.Rows, f.First, f.Last,
			f.Timed, f.MinTimestamp, f.MaxTimestamp, f.MinAppendMs, f.MaxAppendMs))
	}
	for i := range s.come {
		line("come", &s.come[i])
	}
	for i := range s.gone {
		g := &s.gone[i]
		line("gone", &g.File)
		for _, d := range []struct {
			what string
			set  interface{ All(func(int64) bool) }
		}{{"before", g.before}, {"newly", g.newly}} {
			sum := sha256.New()
			d.set.All(func(position int64) bool {
				_, _ = fmt.Fprintln(sum, position)
				return true
			})
			lines = append(lines, fmt.Sprintf("%s %x", d.what, sum.Sum(nil)))
		}
	}
	return sha256.Sum256([]byte(strings.Join(lines, "\n")))
}

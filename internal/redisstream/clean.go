package redisstream

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/korvet-io/korvet/internal/redisstream/resp"
)

// Clean is what the registry says of a partition's compaction. The zero Clean is that of a log never compacted.
type Clean struct {
	To         int64             // offsets below were looked at by a pass
	Ms         uint64            // records appended before this are all below To
	Kept       int64             // records left below To
	Passed     uint64            // when the newest pass ended, in ms of Redis's time
	Largest    Stamp             // of the records left below To
	Tombstones []Tombstones      // what is left of them, by rising To
	Dense      map[int64]Density // by a stream's number: as it was before entries were taken out of it
	Holes      map[int64]string  // by a stream's number: it is to be written anew, so many percent of its nodes are used
}

// Stamp is the largest timestamp of some records, and the first of them that has it; Offset -1 where there is none.
type Stamp struct {
	Known      bool
	Ms, Offset int64
}

// Tombstones are those that one pass, or a few, found: they may go once consumers had the time to see them.
type Tombstones struct {
	To    int64  // they lie below, and not below that of those before
	Ms    uint64 // when the pass ended
	Count int64
}

// Density is how many entries a stream has in how many nodes.
type Density struct{ Entries, Nodes int64 }

// Fill compares a stream with how it was before: 1 is as dense.
func (d Density) Fill(before Density) float64 {
	if d.Nodes == 0 || before.Entries == 0 || before.Nodes == 0 {
		return 1
	}
	return float64(d.Entries) / float64(d.Nodes) / (float64(before.Entries) / float64(before.Nodes))
}

// Names of the registry's fields of compaction.
const (
	cleanField      = "clean"
	tombstonesField = "tombstones"
	densePrefix     = "dense:"
	holesPrefix     = "holes:"
)

// field takes a field of the registry. One that cannot be read counts as absent: a pass that begins at the log's start is
// always right.
func (c *Clean) field(name string, value resp.Value) {
	switch {
	case name == cleanField:
		var r Clean
		n, _ := fmt.Sscan(value.Str, &r.To, &r.Ms, &r.Kept, &r.Passed, &r.Largest.Ms, &r.Largest.Offset)
		if n >= 4 && r.To >= 0 {
			c.To, c.Ms, c.Kept, c.Passed = r.To, r.Ms, r.Kept, r.Passed
		}
		if n == 6 && r.To >= 0 {
			c.Largest = Stamp{Known: true, Ms: r.Largest.Ms, Offset: r.Largest.Offset}
		}
	case name == tombstonesField:
		c.Tombstones = parseTombstones(value.Str)
	case strings.HasPrefix(name, densePrefix):
		var d Density
		stream, err := strconv.ParseInt(name[len(densePrefix):], 10, 64)
		if n, bad := fmt.Sscan(value.Str, &d.Entries, &d.Nodes); err == nil && bad == nil && n == 2 {
			if c.Dense == nil {
				c.Dense = map[int64]Density{}
			}
			c.Dense[stream] = d
		}
	case strings.HasPrefix(name, holesPrefix):
		if stream, err := strconv.ParseInt(name[len(holesPrefix):], 10, 64); err == nil {
			if c.Holes == nil {
				c.Holes = map[int64]string{}
			}
			c.Holes[stream] = value.Str
		}
	}
}

func parseTombstones(text string) (all []Tombstones) {
	for word := range strings.FieldsSeq(text) {
		var t Tombstones
		if n, err := fmt.Sscanf(word, "%d:%d:%d", &t.To, &t.Ms, &t.Count); n != 3 || err != nil {
			return nil
		}
		all = append(all, t)
	}
	return all
}

func (c *Clean) text() string {
	text := fmt.Sprintf("%d %d %d %d", c.To, c.Ms, c.Kept, c.Passed)
	if c.Largest.Known {
		text += fmt.Sprintf(" %d %d", c.Largest.Ms, c.Largest.Offset)
	}
	return text
}

func (c *Clean) tombstonesText() string {
	words := make([]string, len(c.Tombstones))
	for i, t := range c.Tombstones {
		words[i] = fmt.Sprintf("%d:%d:%d", t.To, t.Ms, t.Count)
	}
	return strings.Join(words, " ")
}

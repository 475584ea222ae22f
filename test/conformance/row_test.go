package conformance

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
)

// row is one line of a table: what is sent, and what comes back, as a short text. Rows of a table run in parallel, each
// with a connection and topics of its own.
type row struct {
	name string
	do   func(c *conn) string
	want string // what Apache Kafka answers
	// korvet, when set, is what korvet answers instead.
	korvet *difference
	// rebuilt, when set, is what korvet answers once batches have left its memory and are rebuilt from their records.
	rebuilt string
}

// difference is an answer of korvet's that differs from Kafka's on purpose.
type difference struct {
	want string
	doc  string // the bold words that begin its passage in docs/compatibility.md
}

func differs(want, doc string) *difference { return &difference{want: want, doc: doc} }

func run(t *testing.T, to *target, rows []row) {
	t.Helper()
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			want := r.want
			if r.korvet != nil {
				checkDocumented(t, r.korvet.doc)
				if to.korvet {
					want = r.korvet.want
				}
			}
			if r.rebuilt != "" {
				checkDocumented(t, "Rebuilt batches")
				if to.uncached {
					want = r.rebuilt
				}
			}
			if got := r.do(dial(t, to)); got != want {
				t.Errorf("answer:\n got %s\nwant %s", got, want)
			}
		})
	}
}

// expected picks the answer to expect where a test is no table.
func (c *conn) expected(kafka string, korvet *difference) string {
	c.t.Helper()
	checkDocumented(c.t, korvet.doc)
	if c.to.korvet {
		return korvet.want
	}
	return kafka
}

// checkDocumented demands that users are told of a difference.
func checkDocumented(t *testing.T, words string) {
	t.Helper()
	doc, err := os.ReadFile("../../docs/compatibility.md")
	if err != nil {
		t.Fatalf("read compatibility page: %v", err)
	}
	if !strings.Contains(string(doc), "**"+words+"**") {
		t.Errorf("docs/compatibility.md has no passage **%s**", words)
	}
}

// code is the name of a Kafka error code, OK for none.
func code(c int16) string {
	if c == 0 {
		return "OK"
	}
	e := kerr.TypedErrorForCode(c)
	if e == nil || e.Code != c {
		return fmt.Sprintf("error code %d", c)
	}
	if e == kerr.NotLeaderForPartition {
		return "NOT_LEADER_OR_FOLLOWER" // its name since Kafka 2.6
	}
	return e.Message
}

// outcome is the text for a request that was not answered.
func outcome(err error) string {
	if err == errClosed {
		return "closed"
	}
	return err.Error()
}

func text(s *string) string {
	if s == nil {
		return "null"
	}
	return *s
}

package tiered

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/korvet-io/korvet/internal/iceberg/datafile"
	"github.com/korvet-io/korvet/internal/redistest"
)

// An engine may move rows with typed columns to other files, and change no column of them alone: the analyst's answer is that of the
// values that consumers read.
func TestTypedColumnsAreNotForEnginesToChange(t *testing.T) {
	for name, at := range places {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := start(t, at(t), noCache)
			w.create("cities", 1, tiered("segment.ms=1000", "remote.storage.iceberg.value.format=json"))
			e, values := w.engine("cities"), []string{}
			for _, format := range []string{`{"city":"city %d","n":%[1]d}`, `{"city":null,"n":%d.5,"list":[%[1]d]}`} {
				var list []*kgo.Record
				for i := range 300 {
					values = append(values, fmt.Sprintf(format, i))
					list = append(list, &kgo.Record{Topic: "cities", Value: []byte(values[len(values)-1])})
				}
				if err := w.client.ProduceSync(t.Context(), list...).FirstErr(); err != nil {
					t.Fatal(err)
				}
				redistest.Eventually(t, "the values to be in the table", func() bool {
					s, err := e.load(t.Context())
					return err == nil && s.table.Metadata().Properties()["korvet.end.0"] == strconv.Itoa(len(values))
				})
			}
			for column, to := range map[string]datafile.Cell{"city": {Valid: true, Bytes: []byte("x")}, "n": {}, "n_double": {Valid: true, Float: -1}, "list": {Valid: true, Bytes: []byte("[]")}} {
				err := w.rewriteAll(e, func(s *seen, r *datafile.Row) {
					i := slices.IndexFunc(s.typed, func(c datafile.Column) bool { return c.Name == column })
					r.Cells[i] = to
				})
				if err == nil || !strings.Contains(err.Error(), "400 Bad Request") || !strings.Contains(err.Error(), "column "+column+" of the record at offset") {
					t.Errorf("column %s is changed: %v, want it refused with 400", column, err)
				}
			}
			if err := w.rewriteAll(e, func(_ *seen, r *datafile.Row) { r.Cells = nil }); err == nil || !strings.Contains(err.Error(), "400 Bad Request") {
				t.Errorf("columns are left out: %v, want it refused with 400", err)
			}
			if err := w.rewriteAll(e, func(*seen, *datafile.Row) {}); err != nil {
				t.Errorf("a rewrite: %v", err)
			}
			w.readsValues("cities", values)
		})
	}
}

// rewriteAll puts all data files of a table anew, with rows that are changed.
func (w *world) rewriteAll(e *engine, change func(*seen, *datafile.Row)) error {
	w.Helper()
	for {
		s, err := e.load(w.Context())
		if err != nil {
			return err
		}
		err = s.rewrite(w.Context(), func(r *datafile.Row) bool {
			change(s, r)
			return true
		}, s.data...)
		if !errors.Is(err, errAgain) {
			return err
		}
	}
}

// readsValues has a consumer read a topic of one partition.
func (w *world) readsValues(topic string, values []string) {
	w.Helper()
	c, err := kgo.NewClient(kgo.SeedBrokers(w.Addr), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().At(0)}}))
	if err != nil {
		w.Fatal(err)
	}
	defer c.Close()
	for next := 0; next < len(values); {
		fetches := c.PollFetches(w.Context())
		if err := fetches.Err(); err != nil {
			w.Fatal(err)
		}
		for _, r := range fetches.Records() {
			if r.Offset != int64(next) || string(r.Value) != values[next] {
				w.Fatalf("offset %d has %s where %s was expected at %d", r.Offset, r.Value, values[next], next)
			}
			next++
		}
	}
}

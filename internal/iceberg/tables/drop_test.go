package tables

import (
	"errors"
	"slices"
	"testing"

	"github.com/apache/iceberg-go/table"
)

// locations lists the data files of a partition.
func locations(t *testing.T, tb *Table, s *State, partition int32) (list []string) {
	t.Helper()
	files, err := tb.Files(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files.Data[partition] {
		list = append(list, f.Location)
	}
	return list
}

func TestOnlyWholeFilesBelowTheStartAreDropped(t *testing.T) {
	tb := newTable(t)
	added := []Added{put(t, tb, 0, 0, 100), put(t, tb, 0, 100, 200), put(t, tb, 0, 200, 300), put(t, tb, 1, 0, 50)}
	s, err := tb.Append(t.Context(), state(t, tb), 3, added)
	if err != nil {
		t.Fatal(err)
	}
	same, gone, err := tb.DropBefore(t.Context(), s, 3, map[int32]int64{0: 99, 7: 1000})
	if err != nil || same != s || len(gone) != 0 {
		t.Fatalf("with nothing below the start: %v, %d gone, state changed: %v", err, len(gone), same != s)
	}
	if _, _, err := tb.DropBefore(t.Context(), s, 2, map[int32]int64{0: 250}); !errors.Is(err, ErrFenced) {
		t.Errorf("an earlier worker: %v, want ErrFenced", err)
	}
	s, gone, err = tb.DropBefore(t.Context(), s, 4, map[int32]int64{0: 250})
	if err != nil || len(gone) != 2 || gone[0].Last != 99 || gone[1].Last != 199 {
		t.Fatalf("gone %+v, %v", gone, err)
	}
	for _, s := range []*State{s, state(t, tb)} {
		if s.Fence != 4 || s.Ends[0] != 300 || s.Ends[1] != 50 {
			t.Errorf("the table is at %+v", s)
		}
		if got := locations(t, tb, s, 0); !slices.Equal(got, []string{added[2].Location}) {
			t.Errorf("partition 0 has %v", got)
		}
		if got := locations(t, tb, s, 1); len(got) != 1 {
			t.Errorf("partition 1 has %v", got)
		}
	}
	if op := s.version.Metadata.CurrentSnapshot().Summary.Operation; op != table.OpDelete {
		t.Errorf("the snapshot is a %s, want a delete", op)
	}
	s, gone, err = tb.DropBefore(t.Context(), s, 4, map[int32]int64{0: 300, 1: 50})
	if err != nil || len(gone) != 2 || len(locations(t, tb, s, 0))+len(locations(t, tb, s, 1)) != 0 {
		t.Fatalf("all of it: gone %+v, %v", gone, err)
	}
	if s, err = tb.Append(t.Context(), s, 4, []Added{put(t, tb, 0, 300, 400)}); err != nil || len(locations(t, tb, s, 0)) != 1 {
		t.Errorf("append after all was dropped: %v", err)
	}
}

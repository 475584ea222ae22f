package partition_test

import (
	"testing"

	"github.com/korvet-io/korvet/internal/redistest"
)

func TestProducersAreToldByWhoeverLeads(t *testing.T) {
	s := redistest.Start(t)
	f := newFixture(t, s, "1/a", nil)
	ref := newRef("t")
	f.play(t, ref, 42, step{seq: 0, count: 3, want: 0}, step{seq: 3, want: 3})
	f.play(t, ref, 41, step{epoch: 2, seq: 7, want: 4})
	f.close()
	f = newFixture(t, s, "1/a", nil) // has not used the partition yet
	got, err := f.Producers(t.Context(), ref)
	if err != nil || len(got) != 2 || got[0].ID != 41 || got[0].Epoch != 2 || got[0].LastSequence != 7 || got[1].ID != 42 || got[1].LastSequence != 3 || got[1].LastMs == 0 {
		t.Errorf("producers %+v, %v", got, err)
	}
	if got, err := f.Producers(t.Context(), newRef("empty")); err != nil || len(got) != 0 {
		t.Errorf("of a partition nobody wrote to: %+v, %v", got, err)
	}
}

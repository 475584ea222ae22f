package coordinator

import (
	"context"
	"errors"
	"maps"
	"testing"
	"time"
)

// shownGroups is a Mirror in memory.
type shownGroups struct {
	at    map[string]int64 // by group and partition
	calls int
}

func (s *shownGroups) Show(_ context.Context, name string, o Offset) error {
	s.calls++
	if o.Partition == 7 {
		return errors.New("another broker's partition")
	}
	s.at[name+o.Topic+string('0'+rune(o.Partition))] = o.Offset
	return nil
}

func (s *shownGroups) Hide(_ context.Context, name string, o Offset) error {
	s.calls++
	delete(s.at, name+o.Topic+string('0'+rune(o.Partition)))
	return nil
}

func TestCommitsAreShownOnceInAWhileAndNoLongerThanTheyAreThere(t *testing.T) {
	w := newWorld(t, 1)
	c, ctx := w.now(), context.Background()
	shown := &shownGroups{at: map[string]int64{}}
	c.Mirror, c.set.MirrorEvery = shown, time.Second
	for i := range int64(100) {
		must(t, commit(c, "g", nobody, offset(0, i), offset(1, 2*i), offset(7, i)))
	}
	c.mirror(ctx)
	if want := map[string]int64{"gt0": 99, "gt1": 198}; !maps.Equal(shown.at, want) || shown.calls != 3 {
		t.Errorf("%v with %d calls, want %v with 3", shown.at, shown.calls, want)
	}
	if c.mirror(ctx); shown.calls != 3 {
		t.Error("shown again although nothing was committed")
	}
	if _, err := c.DeleteOffsets(ctx, "g", []TopicPartition{{"t", 1}}); err != nil {
		t.Fatal(err)
	}
	c.mirror(ctx)
	if want := map[string]int64{"gt0": 99}; !maps.Equal(shown.at, want) {
		t.Errorf("%v, want %v", shown.at, want)
	}
	must(t, c.Delete(ctx, "g"))
	c.mirror(ctx)
	if len(shown.at) != 0 {
		t.Errorf("%v of a deleted group", shown.at)
	}
}

package chain

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestOldVersionsStayForADayAndSomeMore(t *testing.T) {
	c := newChain(t)
	v := create(t, c)
	for i := range 20 {
		var err error
		if v, err = c.Commit(t.Context(), v, with(t, v, "n", fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
	}
	if old, next, err := c.Old(t.Context(), v, 5, 100); len(old) != 0 || next != 1 || err != nil {
		t.Errorf("within a day: %v, next %d, %v", old, next, err)
	}
	c.Now = func() time.Time { return time.Now().Add(keep + time.Minute) }
	if old, next, err := c.Old(t.Context(), v, 5, 3); !slices.Equal(old, []int64{1, 2, 3}) || next != 4 || err != nil {
		t.Errorf("at most three: %v, next %d, %v", old, next, err)
	}
	old, next, err := c.Old(t.Context(), v, 5, 100)
	if len(old) != 15 || next != 16 || err != nil {
		t.Errorf("after a day: %v, next %d, %v", old, next, err)
	}
	if err := c.Remove(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	if got, err := c.Current(t.Context()); err != nil || got.Number != v.Number {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := c.At(t.Context(), next); err != nil || got.Metadata.Properties()["n"] != "14" {
		t.Errorf("the oldest that stays: %+v, %v", got, err)
	}
	if _, err := c.At(t.Context(), 15); err == nil {
		t.Error("a version that was removed is there")
	}
}

// Whoever deletes old files by what the current version names must not take one for the current one that is not.
func TestAVersionThatIsMissingInTheMiddleIsNamed(t *testing.T) {
	c := newChain(t)
	v := create(t, c)
	for i := range 6 {
		var err error
		if v, err = c.Commit(t.Context(), v, with(t, v, "n", fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Store.Delete(t.Context(), []string{c.location(4), c.hintFile()}); err != nil {
		t.Fatal(err)
	}
	if err := c.Hint.Store(t.Context(), c.Location, 2); err != nil {
		t.Fatal(err)
	}
	got, err := c.Current(t.Context())
	if err != nil || got.Number != 3 {
		t.Fatalf("current is %+v, %v", got, err)
	}
	if _, _, err := c.Old(t.Context(), got, 0, 100); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), c.location(4)) {
		t.Errorf("old versions: %v", err)
	}
}

package chain

import (
	"errors"
	"fmt"
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
	past, err := c.Past(t.Context(), v)
	if err != nil || len(past) != 20 {
		t.Fatalf("%d past versions, %v", len(past), err)
	}
	if old := c.Old(past, 5, 100); len(old) != 0 {
		t.Errorf("within a day: %v", old)
	}
	c.Now = func() time.Time { return time.Now().Add(keep + time.Minute) }
	if old := c.Old(past, 5, 3); len(old) != 3 || old[0].Location != c.location(1) || old[2].Location != c.location(3) {
		t.Errorf("at most three: %v", old)
	}
	old := c.Old(past, 5, 100)
	if len(old) != 15 || past[15].Location != c.location(16) {
		t.Errorf("after a day: %v of %v", old, past)
	}
	if err := c.Remove(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	if got, err := c.Current(t.Context()); err != nil || got.Number != v.Number {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := c.At(t.Context(), past[15].Location); err != nil || got.Metadata.Properties()["n"] != "14" {
		t.Errorf("the oldest that stays: %+v, %v", got, err)
	}
	if _, err := c.At(t.Context(), c.location(15)); err == nil {
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
	if _, err := c.Past(t.Context(), got); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), c.location(4)) {
		t.Errorf("old versions: %v", err)
	}
}

package partition_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/korvet-io/korvet/internal/partition"
	"github.com/korvet-io/korvet/internal/redisstream"
	"github.com/korvet-io/korvet/internal/redistest"
)

// mirrors is the native groups of a partition's stream and the offset that each has read to, -1 for 0-0.
func mirrors(t *testing.T, s *redistest.Server, ref partition.Ref) string {
	t.Helper()
	m := s.Do("XINFO", "GROUPS", redisstream.NewKeys("korvet", ref.Topic, ref.Partition).Stream)
	groups, err := m.ToArray()
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]int64{}
	for _, g := range groups {
		fields, err := g.AsMap()
		if err != nil {
			t.Fatal(err)
		}
		name, last := fields["name"], fields["last-delivered-id"]
		group, err := name.ToString()
		if err != nil {
			t.Fatal(err)
		}
		text, err := last.ToString()
		if err != nil {
			t.Fatal(err)
		}
		id, err := redisstream.ParseID(text)
		if err != nil {
			t.Fatal(err)
		}
		shown[group] = int64(id.Seq)
		if id == (redisstream.ID{}) {
			shown[group] = -1
		}
	}
	return fmt.Sprint(shown)
}

func TestLeaderMirrorsCommitsOfItsLog(t *testing.T) {
	s := redistest.Start(t)
	f := newFixture(t, s, "1/a", nil)
	ref := newRef("t")
	f.mustAppend(ref, numbers(0, 5)...)
	for _, c := range []struct {
		group  string
		offset int64
		want   string
	}{
		{"g", -1, "map[]"},
		{"g", 6, "map[]"}, // beyond the end
		{"g", 3, "map[kafka:g:2]"},
		{"g", 5, "map[kafka:g:4]"},
		{"g", 0, "map[kafka:g:-1]"}, // back
		{"a b:*", 1, "map[kafka:a b:*:0 kafka:g:-1]"},
		{"g", 6, "map[kafka:a b:*:0 kafka:g:-1]"},
	} {
		if err := f.Mirror(t.Context(), ref, c.group, c.offset); err != nil {
			t.Errorf("mirror %q at %d: %v", c.group, c.offset, err)
		}
		if got := mirrors(t, s, ref); got != c.want {
			t.Errorf("%q at %d: groups %s, want %s", c.group, c.offset, got, c.want)
		}
	}
	if err := f.Unmirror(t.Context(), ref, "g"); err != nil {
		t.Error(err)
	}
	if got := mirrors(t, s, ref); got != "map[kafka:a b:*:0]" {
		t.Errorf("groups %s after one was removed", got)
	}
	f.mustAppend(ref, "more")
	if got := f.readAll(ref, 0, 1000); !same(got, dense(0, "0", "1", "2", "3", "4", "more")) {
		t.Errorf("the log is %v", got)
	}
}

func TestOnlyTheLeaderMirrors(t *testing.T) {
	s := redistest.Start(t)
	ref := newRef("t")
	leader, other := newFixture(t, s, "1/a", nil), newFixture(t, s, "2/b", nil)
	leader.mustAppend(ref, "a")
	other.readAll(ref, 0, 1000) // it knows the partition
	for what, f := range map[string]*fixture{"follower": other, "stranger": newFixture(t, s, "3/c", nil)} {
		if err := f.Mirror(t.Context(), ref, "g", 1); !errors.Is(err, partition.ErrNotLeader) {
			t.Errorf("%s: %v, want ErrNotLeader", what, err)
		}
	}
	if got := mirrors(t, s, ref); got != "map[]" {
		t.Errorf("groups %s", got)
	}
	if err := leader.Mirror(t.Context(), ref, "g", 1); err != nil {
		t.Error(err)
	}
	if err := other.Unmirror(t.Context(), ref, "g"); err != nil {
		t.Error(err)
	}
	if got := mirrors(t, s, ref); got != "map[]" {
		t.Errorf("groups %s after the removal", got)
	}
}

func TestMirrorOfADeletedTopicTouchesNoNextLife(t *testing.T) {
	s := redistest.Start(t)
	f := newFixture(t, s, "1/a", nil)
	old, next := newRef("t"), newRef("t")
	f.mustAppend(old, "a")
	if err := f.DeletePartition(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	f.mustAppend(next, "b")
	if err := f.Mirror(t.Context(), next, "g", 1); err != nil {
		t.Error(err)
	}
	if err := f.Mirror(t.Context(), old, "g", 0); !errors.Is(err, partition.ErrNotLeader) {
		t.Errorf("mirror of the old life: %v, want ErrNotLeader", err)
	}
	if err := f.Unmirror(t.Context(), old, "g"); err != nil {
		t.Error(err)
	}
	if got := mirrors(t, s, next); got != "map[kafka:g:0]" {
		t.Errorf("groups %s", got)
	}
}

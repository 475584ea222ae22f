package app

import (
	"fmt"
	"testing"
)

func TestOwnersNamedBeforeAreGoneOnceTheLockIsHad(t *testing.T) {
	dir := t.TempDir()
	first, err := lockOwner(dir, "cluster", 0, "first")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lockOwner(dir, "cluster", 0, "second"); err == nil {
		t.Error("two brokers have one lock")
	}
	first.release()
	third, err := lockOwner(dir, "cluster", 0, "third")
	if err != nil {
		t.Fatal(err)
	}
	defer third.release()
	for owner, want := range map[string]bool{"first": true, "second": false, "third": false, "": false} {
		if got := third.isGone(owner); got != want {
			t.Errorf("%q gone: %v, want %v", owner, got, want)
		}
	}
}

func TestOwnersOfOtherBrokersAndClustersAreNotProvenGone(t *testing.T) {
	dir := t.TempDir()
	for i, name := range []string{"a", "b"} {
		l, err := lockOwner(dir, name, int32(i), name)
		if err != nil {
			t.Fatal(err)
		}
		l.release()
	}
	l, err := lockOwner(dir, "a", 1, "c")
	if err != nil {
		t.Fatal(err)
	}
	defer l.release()
	if l.isGone("a") || l.isGone("b") {
		t.Error("a broker of another lock counts as gone")
	}
}

func TestOwnerFilesStaySmall(t *testing.T) {
	dir := t.TempDir()
	for i := range 3 * mostOwners {
		l, err := lockOwner(dir, "cluster", 0, fmt.Sprint("owner", i))
		if err != nil {
			t.Fatal(err)
		}
		if len(l.gone) > mostOwners {
			t.Fatalf("%d owners are kept", len(l.gone))
		}
		l.release()
	}
}

func TestWithoutALockNobodyIsProvenGone(t *testing.T) {
	if (*ownerLock)(nil).isGone("a") {
		t.Error("gone without a lock")
	}
}

package storetest

import (
	"errors"
	"strings"
	"testing"

	"github.com/korvet-io/korvet/internal/iceberg/store"
)

func TestCutEndsAtAnOperation(t *testing.T) {
	plain, err := store.Open(t.Context(), "file:///", store.S3{})
	if err != nil {
		t.Fatal(err)
	}
	dir := "file://" + t.TempDir() + "/"
	for _, how := range []How{Before, After} {
		c, died := NewCut(NewCounting(plain)), 0
		c.Limit(1, how, func() { died++ })
		if err := c.Put(t.Context(), dir+"1", strings.NewReader("1")); err != nil {
			t.Fatal(err)
		}
		name := dir + string(rune('a'+how))
		if err := c.PutIfAbsent(t.Context(), name, []byte("2")); !errors.Is(err, ErrCut) {
			t.Errorf("the operation it ends at: %v", err)
		}
		if _, err := c.Read(t.Context(), dir+"1"); !errors.Is(err, ErrCut) || !c.Dead() || died != 1 || c.Passed() != 1 {
			t.Errorf("after its end: %v, dead %v, %d times, %d passed", err, c.Dead(), died, c.Passed())
		}
		c.Limit(-1, Before, nil)
		if _, err := c.Read(t.Context(), name); (err == nil) != (how == After) {
			t.Errorf("%d: what was lost: %v", how, err)
		}
	}
}

func TestServerKeepsObjectsOfAStore(t *testing.T) {
	server := Start(t)
	s, err := store.Open(t.Context(), server.Location(), server.Options(""))
	if err != nil {
		t.Fatal(err)
	}
	c := NewCounting(s)
	if err := c.PutIfAbsent(t.Context(), server.Location()+"/a/b", []byte("there")); err != nil {
		t.Fatal(err)
	}
	data, err := c.Read(t.Context(), server.Location()+"/a/b")
	if err != nil || string(data) != "there" {
		t.Errorf("read %q: %v", data, err)
	}
	if n := c.Count(); n["put-if-absent"] != 1 || n["read"] != 1 || len(c.Take()) != 2 || len(c.Take()) != 0 {
		t.Errorf("counted %v", n)
	}
}

func TestTheReadersAccountReadsAndChangesNothing(t *testing.T) {
	server := Start(t)
	own, err := store.Open(t.Context(), server.Location(), server.Options(""))
	if err != nil {
		t.Fatal(err)
	}
	object := server.Location() + "/a/b"
	if err := own.PutIfAbsent(t.Context(), object, []byte("there")); err != nil {
		t.Fatal(err)
	}
	o := server.Options("")
	o.AccessKeyID, o.SecretAccessKey = ReaderKeyID, ReaderSecret
	reader, err := store.Open(t.Context(), server.Location(), o)
	if err != nil {
		t.Fatal(err)
	}
	if data, err := reader.Read(t.Context(), object); err != nil || string(data) != "there" {
		t.Errorf("read %q: %v", data, err)
	}
	if err := reader.PutIfAbsent(t.Context(), object+"2", nil); !errors.Is(err, store.ErrDenied) {
		t.Errorf("put: %v", err)
	}
	if err := reader.Delete(t.Context(), []string{object}); err == nil {
		t.Error("the reader's account deletes")
	}
}

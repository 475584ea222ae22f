package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// told notes what an observer is told.
type told []string

func (l *told) StoreRequest(operation string, bytes int64, _ time.Duration, kind string) {
	*l = append(*l, strings.TrimSpace(fmt.Sprintf("%s %d %s", operation, bytes, kind)))
}

func TestObserverIsToldOfEachRequest(t *testing.T) {
	plain, err := Open(t.Context(), "file:///", S3{})
	if err != nil {
		t.Fatal(err)
	}
	var requests told
	s, dir := Observe(plain, &requests), "file://"+t.TempDir()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(s.Put(t.Context(), dir+"/a/1", strings.NewReader("12345")))
	must(s.PutIfAbsent(t.Context(), dir+"/b/c/2", []byte("123")))
	if err := s.PutIfAbsent(t.Context(), dir+"/b/c/2", []byte("123")); Kind(err) != "exists" {
		t.Errorf("a second put: %v", err)
	}
	must(s.ReadRange(t.Context(), dir+"/a/1", make([]byte, 2), 1))
	if err := s.ReadRange(t.Context(), dir+"/a/1", make([]byte, 9), 1); Kind(err) != "short" {
		t.Errorf("a range beyond the end: %v", err)
	}
	_, err = s.Read(t.Context(), dir+"/none")
	if Kind(err) != "not_found" {
		t.Errorf("an object that is not there: %v", err)
	}
	_, err = s.Size(t.Context(), dir+"/a/1")
	must(err)
	must(s.List(t.Context(), dir+"/", func(Object) error { return nil }))
	names, err := s.Folders(t.Context(), dir+"/")
	must(err)
	if !slices.Equal(names, []string{"a", "b"}) {
		t.Errorf("folders %v", names)
	}
	must(s.Delete(t.Context(), []string{dir + "/a/1"}))
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Folders(canceled, dir+"/"); Kind(err) != "canceled" {
		t.Errorf("after the end: %v", err)
	}
	if names, err := s.Folders(t.Context(), dir+"/none/"); len(names) > 0 || err != nil {
		t.Errorf("a folder that is not there: %v, %v", names, err)
	}
	want := told{
		"write 5", "write 3", "write 3 exists", "read 2", "read 0 short", "read 0 not_found", "size 0", "list 0", "list 0", "delete 0",
		"list 0 canceled", "list 0",
	}
	if !slices.Equal(requests, want) {
		t.Errorf("told of\n%q, want\n%q", requests, want)
	}
}

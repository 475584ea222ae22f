package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"gocloud.dev/blob/fileblob"
	"gocloud.dev/blob/memblob"

	"github.com/korvet-io/korvet/internal/iceberg/store"
	"github.com/korvet-io/korvet/internal/iceberg/storetest"
)

// each runs a test on all stores, with a location that is empty. What reaches Google's and Microsoft's clouds runs on buckets in
// memory and in a directory: the real ones cannot be had here.
func each(t *testing.T, test func(t *testing.T, s store.Store, at string)) {
	eachExclusive(t, test)
	t.Run("blob in files", func(t *testing.T) {
		bucket, err := fileblob.OpenBucket(t.TempDir(), nil)
		must(t, err)
		t.Cleanup(func() { must(t, bucket.Close()) })
		test(t, store.OnBucket(bucket, "abfs", "c@a.dfs.core.windows.net"), "abfs://c@a.dfs.core.windows.net/prefix")
	})
}

// eachExclusive is each with the stores of which one writer is the first. fileblob is none: it looks for the file and then renames
// its own, under a lock that each writer has for itself.
func eachExclusive(t *testing.T, test func(t *testing.T, s store.Store, at string)) {
	t.Run("file", func(t *testing.T) {
		at := "file://" + t.TempDir()
		test(t, open(t, at, store.S3{}), at)
	})
	t.Run("s3", func(t *testing.T) {
		server := storetest.Start(t)
		at := server.Location() + "/prefix"
		test(t, open(t, at, server.Options("")), at)
	})
	t.Run("blob in memory", func(t *testing.T) {
		bucket := memblob.OpenBucket(nil)
		t.Cleanup(func() { must(t, bucket.Close()) })
		test(t, store.OnBucket(bucket, "gs", "bucket"), "gs://bucket/prefix")
	})
}

func open(t testing.TB, location string, o store.S3) store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), location, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func noise(n int) []byte {
	b, random := make([]byte, n), rand.New(rand.NewPCG(uint64(n), 1))
	for i := range b {
		b[i] = byte(random.Uint32())
	}
	return b
}

func TestObjectsAreReadAsTheyWereWritten(t *testing.T) {
	each(t, func(t *testing.T, s store.Store, at string) {
		for _, n := range []int{0, 1, 1000, 8<<20 - 1, 8 << 20, 8<<20 + 1, 25 << 20} {
			name, data := fmt.Sprintf("%s/a/%d", at, n), noise(n)
			must(t, s.Put(t.Context(), name, io.MultiReader(bytes.NewReader(data)))) // not one that can seek
			got, err := s.Read(t.Context(), name)
			must(t, err)
			size, err := s.Size(t.Context(), name)
			must(t, err)
			if !bytes.Equal(got, data) || size != int64(n) {
				t.Errorf("%d bytes: read %d, size %d", n, len(got), size)
			}
			for _, r := range [][2]int{{0, 0}, {0, n}, {n / 2, n - n/2}, {n / 3, n / 3}} {
				p := make([]byte, r[1])
				must(t, s.ReadRange(t.Context(), name, p, int64(r[0])))
				if !bytes.Equal(p, data[r[0]:r[0]+r[1]]) {
					t.Errorf("%d bytes: range %v differs", n, r)
				}
			}
			for _, off := range []int{1, n, n + 1, n + 1000} {
				if err := s.ReadRange(t.Context(), name, make([]byte, max(n, 1)), int64(off)); !errors.Is(err, store.ErrShort) {
					t.Errorf("%d bytes: a range from %d beyond the end: %v", n, off, err)
				}
			}
		}
		must(t, s.Put(t.Context(), at+"/a/1", strings.NewReader("again")))
		got, err := s.Read(t.Context(), at+"/a/1")
		if string(got) != "again" || err != nil {
			t.Errorf("written again: %q, %v", got, err)
		}
	})
}

func TestOfEightWritersOneIsFirst(t *testing.T) {
	eachExclusive(t, func(t *testing.T, s store.Store, at string) {
		for round := range 20 {
			name, won := fmt.Sprintf("%s/v%d.json", at, round), make([]bool, 8)
			var writers sync.WaitGroup
			for w := range won {
				writers.Go(func() {
					err := s.PutIfAbsent(t.Context(), name, fmt.Appendf(nil, "writer %d", w))
					if won[w] = err == nil; err != nil && !errors.Is(err, store.ErrExists) {
						t.Error(err)
					}
				})
			}
			writers.Wait()
			got, err := s.Read(t.Context(), name)
			must(t, err)
			first := slices.Index(won, true)
			if first < 0 || slices.Contains(won[first+1:], true) || string(got) != fmt.Sprintf("writer %d", first) {
				t.Errorf("round %d: winners %v, there is %q", round, won, got)
			}
		}
	})
}

func TestListingsHaveAllObjects(t *testing.T) {
	each(t, func(t *testing.T, s store.Store, at string) {
		const n = 1203
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf("%s/data/partition=%d/%04d", at, i%3, i))
			must(t, s.PutIfAbsent(t.Context(), all[i], []byte("12345")))
		}
		must(t, s.PutIfAbsent(t.Context(), at+"/data2", nil))
		list := func(folder string) (found []string) {
			must(t, s.List(t.Context(), folder, func(o store.Object) error {
				if o.Size != 5 || o.Modified.IsZero() {
					t.Errorf("%+v", o)
				}
				found = append(found, o.Location)
				return nil
			}))
			slices.Sort(found)
			return found
		}
		slices.Sort(all)
		if got := list(at + "/data/"); !slices.Equal(got, all) {
			t.Errorf("listed %d of %d", len(got), n)
		}
		names, err := s.Folders(t.Context(), at+"/data/")
		if !slices.Equal(names, []string{"partition=0", "partition=1", "partition=2"}) || err != nil {
			t.Errorf("folders %q, %v", names, err)
		}
		stop := errors.New("stop")
		if err := s.List(t.Context(), at+"/data/", func(store.Object) error { return stop }); !errors.Is(err, stop) {
			t.Errorf("a listing that was ended: %v", err)
		}
		must(t, s.Delete(t.Context(), append(slices.Clone(all[5:]), at+"/data/none")))
		if got := list(at + "/data/"); !slices.Equal(got, all[:5]) {
			t.Errorf("after the removal: %q", got)
		}
		if got := list(at + "/none/"); got != nil {
			t.Errorf("a folder that is not there has %q", got)
		}
	})
}

func TestUnusualCharactersAreKept(t *testing.T) {
	names := []string{"a b", "a+b", "a=b&c", "ä€𝄞", "a#b?c", "a'b(c)!*", "a;b,c@d:e$f", "a~b^c`d", "a%25b", "a\\b", "<a>\"b\""}
	each(t, func(t *testing.T, s store.Store, at string) {
		var all []string
		for _, n := range names {
			name := at + "/odd/" + n + "/x"
			must(t, s.Put(t.Context(), name, strings.NewReader(n)))
			got, err := s.Read(t.Context(), name)
			if string(got) != n || err != nil {
				t.Errorf("%s: read %q, %v", n, got, err)
			}
		}
		must(t, s.List(t.Context(), at+"/odd/", func(o store.Object) error {
			all = append(all, o.Location)
			got, err := s.Read(t.Context(), o.Location)
			if !strings.Contains(o.Location, string(got)) || err != nil {
				t.Errorf("%s: read %q, %v", o.Location, got, err)
			}
			return nil
		}))
		if len(all) != len(names) {
			t.Errorf("listed %q", all)
		}
		must(t, s.Delete(t.Context(), all))
		must(t, s.List(t.Context(), at+"/odd/", func(o store.Object) error {
			t.Errorf("%s is there still", o.Location)
			return nil
		}))
	})
}

func TestWhatIsNotThereIsNotFound(t *testing.T) {
	each(t, func(t *testing.T, s store.Store, at string) {
		_, err := s.Read(t.Context(), at+"/none")
		_, err2 := s.Size(t.Context(), at+"/none")
		for _, err := range []error{err, err2, s.ReadRange(t.Context(), at+"/none", make([]byte, 1), 0)} {
			if !errors.Is(err, store.ErrNotFound) || !strings.Contains(err.Error(), at+"/none") {
				t.Errorf("%v, want ErrNotFound and its name", err)
			}
		}
		canceled, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = s.Read(canceled, at+"/none")
		for _, err := range []error{err, s.Put(canceled, at+"/x", strings.NewReader("x")), s.PutIfAbsent(canceled, at+"/x", nil), s.Delete(canceled, []string{at + "/x"})} {
			if !errors.Is(err, context.Canceled) {
				t.Errorf("after the end: %v", err)
			}
		}
		if _, err := s.Size(t.Context(), at+"/x"); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("a write that was canceled is there: %v", err)
		}
	})
}

// failing is a body that breaks off.
type failing struct {
	r   io.Reader
	err error
}

func (f *failing) Read(p []byte) (int, error) {
	n, err := f.r.Read(p)
	if errors.Is(err, io.EOF) {
		err = f.err
	}
	return n, err
}

func TestBodyThatFailsLeavesNothing(t *testing.T) {
	broken := errors.New("the body broke")
	each(t, func(t *testing.T, s store.Store, at string) {
		for _, n := range []int{100, 20 << 20} {
			err := s.Put(t.Context(), at+"/half", &failing{bytes.NewReader(noise(n)), broken})
			if !errors.Is(err, broken) {
				t.Errorf("%d bytes: %v", n, err)
			}
			must(t, s.List(t.Context(), at+"/", func(o store.Object) error {
				t.Errorf("%d bytes: there is %s", n, o.Location)
				return nil
			}))
		}
	})
}

func TestOtherSchemesAreRefused(t *testing.T) {
	for _, l := range []string{"ftp://host/dir", "/dir", "file://host/dir", "file:dir", "s3:///x", "hdfs://a/b", "", "%zz"} {
		if _, err := store.Open(t.Context(), l, store.S3{}); err == nil {
			t.Errorf("%q was opened", l)
		}
	}
}

func TestABucketThatIsGoneIsNoObjectThatIsNotThere(t *testing.T) {
	dir := t.TempDir()
	for _, words := range []string{"ContainerNotFound", "no such host", "The specified bucket does not exist"} {
		bucket, err := fileblob.OpenBucket(dir, nil)
		must(t, err)
		t.Cleanup(func() { must(t, bucket.Close()) })
		s := store.OnBucket(bucket, "gs", "b")
		if _, err := s.Read(t.Context(), "gs://b/"+words); err == nil || errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s: %v", words, err)
		}
	}
}

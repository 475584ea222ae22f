package store_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/korvet-io/korvet/internal/iceberg/store"
	"github.com/korvet-io/korvet/internal/iceberg/storetest"
)

func TestAStoreTellsWhetherItCanBeUsed(t *testing.T) {
	each(t, func(t *testing.T, s store.Store, at string) {
		must(t, store.Check(t.Context(), s, at+"/korvet"))
		if names, err := s.Folders(t.Context(), at+"/"); err != nil || len(names) != 0 {
			t.Errorf("the look left %v, %v", names, err)
		}
	})
}

func TestABucketThatCannotBeUsedSaysWhy(t *testing.T) {
	server := storetest.Start(t)
	right := server.Options("")
	keys := right
	keys.SecretAccessKey += "x"
	unknown := right
	unknown.AccessKeyID = "nobody"
	other := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(other.Close)
	elsewhere := right
	elsewhere.Endpoint, elsewhere.PathStyle = other.URL, true
	away := right
	away.Endpoint, away.Attempts = "http://127.0.0.1:1", 1
	for what, c := range map[string]struct {
		at   string
		o    store.S3
		want error
	}{
		"no such bucket":  {"s3://nobody-made-this", right, store.ErrNoBucket},
		"a wrong secret":  {server.Location(), keys, store.ErrDenied},
		"a wrong key":     {server.Location(), unknown, store.ErrDenied},
		"another server":  {server.Location(), elsewhere, store.ErrNoStore},
		"nobody answers":  {server.Location(), away, nil},
		"all is as it is": {server.Location(), right, nil},
	} {
		err := store.Check(t.Context(), open(t, c.at, c.o), c.at+"/prefix/korvet")
		if (err == nil) != (what == "all is as it is") || store.Unusable(err) != (c.want != nil) || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestADirectoryThatCannotBeUsedSaysWhy(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(file, nil, 0o600))
	for _, at := range []string{"file:///proc", "file:///proc/below", "file://" + file, "file://" + file + "/below"} {
		s, err := store.Open(t.Context(), at, store.S3{})
		if err == nil {
			err = store.Check(t.Context(), s, at+"/korvet")
		}
		if !errors.Is(err, store.ErrDirectory) || strings.Contains(err.Error(), "unfinished") || !store.Unusable(err) {
			t.Errorf("%s: %v", at, err)
		} else {
			t.Log(err)
		}
	}
}

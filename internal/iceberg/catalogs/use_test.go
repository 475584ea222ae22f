package catalogs

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/korvet-io/korvet/internal/iceberg/chain"
	"github.com/korvet-io/korvet/internal/iceberg/store"
)

// silent is a server that takes connections and says nothing.
func silent(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { _ = c.Close() })
		}
	}()
	return l.Addr().String()
}

// A catalog that does not answer is given up after its time, by everybody who asks it: also while it is opened.
func TestASilentCatalogIsGivenUp(t *testing.T) {
	objects, err := store.Open(t.Context(), "file:///", store.S3{})
	if err != nil {
		t.Fatal(err)
	}
	for kind, scheme := range map[string]string{"rest": "http://", "hive": "thrift://"} {
		c, err := Open(Settings{Type: kind, URI: scheme + silent(t), Timeout: 200 * time.Millisecond}, objects)
		if err != nil {
			t.Fatal(err)
		}
		held := c.Table("korvet", "events")
		failed := make(chan error, 3)
		for range cap(failed) {
			go func() {
				_, _, err := held.Load(t.Context())
				failed <- err
			}()
		}
		for range cap(failed) {
			if err := <-failed; err == nil || !strings.Contains(err.Error(), "not answered within") {
				t.Errorf("%s: %v", kind, err)
			}
		}
		if _, _, err := held.Commit(t.Context(), nil, nil); err == nil || kind == "rest" && !errors.Is(err, chain.ErrConflict) {
			t.Errorf("%s: a commit that was not sent: %v", kind, err)
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if _, _, err := held.Load(gone); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, want that nobody waits any more", kind, err)
		}
	}
}

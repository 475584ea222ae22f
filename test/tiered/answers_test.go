package tiered

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/korvet-io/korvet/internal/iceberg/storetest"
	"github.com/korvet-io/korvet/internal/redistest"
	"github.com/korvet-io/korvet/test/harness"
)

// unwilling is a way to an S3 server that answers some requests otherwise.
type unwilling struct {
	*httptest.Server
	proxy *httputil.ReverseProxy

	mu    sync.Mutex
	kind  string // how requests are answered; "": as the server does
	each  int    // of so many requests one
	seen  int    // requests since kind was set
	given int    // of those that were answered so
}

func newUnwilling(t *testing.T, to string) *unwilling {
	upstream, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	u := &unwilling{proxy: &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(upstream)
			r.Out.Host = r.In.Host // it is signed
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}}
	u.Server = httptest.NewServer(u)
	t.Cleanup(u.Close)
	return u
}

// answer has one of so many requests answered in a way from now on.
func (u *unwilling) answer(kind string, each int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.kind, u.each, u.seen, u.given = kind, each, 0, 0
}

func (u *unwilling) count() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.given
}

func (u *unwilling) next() string {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.seen++; u.kind == "" || u.seen%u.each != 0 {
		return ""
	}
	u.given++
	return u.kind
}

func (u *unwilling) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	refuse := func(status int, code string) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, `<?xml version="1.0"?><Error><Code>%s</Code><Message>no</Message></Error>`, code)
	}
	switch u.next() {
	case "403":
		refuse(http.StatusForbidden, "AccessDenied")
	case "404":
		refuse(http.StatusNotFound, "NoSuchBucket")
	case "500":
		refuse(http.StatusInternalServerError, "InternalError")
	case "503":
		w.Header().Set("Retry-After", "1")
		refuse(http.StatusServiceUnavailable, "SlowDown")
	case "slow":
		<-time.After(150 * time.Millisecond)
		u.proxy.ServeHTTP(w, r)
	case "cut": // in the middle of the body
		u.proxy.ServeHTTP(&half{ResponseWriter: w}, r)
		panic(http.ErrAbortHandler)
	case "lost": // it is carried out
		u.proxy.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	default:
		u.proxy.ServeHTTP(w, r)
	}
}

// half sends the first half of a body.
type half struct{ http.ResponseWriter }

func (h *half) Write(p []byte) (int, error) {
	_, err := h.ResponseWriter.Write(p[:len(p)/2])
	_ = http.NewResponseController(h.ResponseWriter).Flush()
	return len(p), errors.Join(err, http.ErrAbortHandler)
}

// What an S3 server answers now and then, or to all requests for a while, is got over: the log is whole, and the table has each record
// once. Consumers of cold records are told of nothing but a refusal for good.
func TestAnswersOfAnS3ServerAreGotOver(t *testing.T) {
	t.Parallel()
	server := storetest.Start(t)
	u := newUnwilling(t, server.Endpoint)
	p := onS3(server, u.URL)
	w := start(t, p, noCache, "--korvet.storage.remote.s3.max-attempts=3", "--korvet.storage.remote.read-cache-bytes=1KB", "--korvet.broker.remote-log-index-file-cache-total-size-bytes=1KB")
	w.create("t", 2, tiered())
	w.produce("t", 1, 0, 100) // this one is in Redis alone
	w.produce("t", 0, 0, 2500)
	w.awaitDropped("t", 0, 1000)
	end := int64(2500)
	for i, c := range []struct {
		kind string
		each int
		want error // of a cold read
	}{
		{"cut", 3, nil}, {"lost", 3, nil}, {"403", 1, kerr.KafkaStorageError}, {"503", 3, nil}, {"slow", 2, nil}, {"500", 2, nil}, {"500", 1, nil}, {"404", 1, nil},
	} {
		if i > 2 && !long { // what only the store sees, which has tests of its own
			break
		}
		u.answer(c.kind, c.each)
		w.produce("t", 0, end, end+1500)
		end += 1500
		redistest.Eventually(t, c.kind+" to be answered", func() bool { return u.count() >= 5 })
		if c.want != nil {
			redistest.Eventually(t, c.kind+" to be told", func() bool { return errors.Is(w.fetched("t", 0, 0), c.want) })
		} else if err := w.fetched("t", 0, 0); err != nil {
			t.Errorf("%s: a cold read: %v", c.kind, err)
		}
		w.consume("t", 1, 0, 100)
		u.answer("", 1)
		w.awaitDropped("t", 0, end-1500)
		w.consume("t", 0, 0, end)
	}
	out := harness.Command(t, append([]string{"tables", "verify", "t", "--json", "--korvet.redis.uri=" + w.Redis.URI()}, p.args...)...)
	var found []struct {
		Rows     int64             `json:"rows"`
		Holes    []json.RawMessage `json:"holes"`
		Problems []json.RawMessage `json:"problems"`
	}
	if err := json.NewDecoder(strings.NewReader(out)).Decode(&found); err != nil || len(found) != 1 {
		t.Fatalf("decode %s: %v", out, err)
	}
	if v := found[0]; len(v.Problems)+len(v.Holes) > 0 || v.Rows < end-1500 {
		t.Errorf("the table has %s", out)
	}
}

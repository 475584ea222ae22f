package store_test

import (
	"bytes"
	"context"
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

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"

	"github.com/korvet-io/korvet/internal/iceberg/store"
	"github.com/korvet-io/korvet/internal/iceberg/storetest"
)

// scripted is an S3 server that answers as a test says and notes what it was asked.
type scripted struct {
	*httptest.Server
	mu    sync.Mutex
	asked []string
}

// script starts one; n counts the requests from 1 on.
func script(t *testing.T, answer func(n int, w http.ResponseWriter, r *http.Request)) *scripted {
	s := &scripted{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.asked = append(s.asked, strings.TrimSpace(r.Method+" "+r.URL.RequestURI()+" "+r.Header.Get("Range")))
		n := len(s.asked)
		s.mu.Unlock()
		answer(n, w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *scripted) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.asked...)
}

func (s *scripted) open(t *testing.T, attempts int, timeout time.Duration) store.Store {
	return open(t, "s3://b", store.S3{Region: "r", Endpoint: s.URL, PathStyle: true, AccessKeyID: "k", SecretAccessKey: "s", Attempts: attempts, Timeout: timeout, Backoff: time.Millisecond})
}

func refuse(w http.ResponseWriter, status int, code string) {
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, `<?xml version="1.0"?><Error><Code>%s</Code><Message>no</Message></Error>`, code)
}

// hangUp ends a connection in the middle of an answer.
func hangUp(http.ResponseWriter) { panic(http.ErrAbortHandler) }

func TestRefusalsAreToldApart(t *testing.T) {
	for _, c := range []struct {
		status   int
		code     string
		kind     string
		requests int
	}{
		{403, "AccessDenied", "denied", 1}, {401, "InvalidAccessKeyId", "denied", 1}, {404, "NoSuchKey", "not_found", 1}, {404, "NoSuchBucket", "failed", 1},
		{400, "InvalidArgument", "failed", 1}, {500, "InternalError", "failed", 3}, {503, "SlowDown", "failed", 3}, {429, "TooManyRequests", "failed", 3},
		{507, "InsufficientStorage", "full", 1}, {412, "PreconditionFailed", "exists", 1}, {409, "ConditionalRequestConflict", "failed", 3}, {502, "", "failed", 3},
	} {
		server := script(t, func(_ int, w http.ResponseWriter, _ *http.Request) { refuse(w, c.status, c.code) })
		err := server.open(t, 3, time.Minute).PutIfAbsent(t.Context(), "s3://b/key", []byte("x"))
		if store.Kind(err) != c.kind || !strings.Contains(err.Error(), "s3://b/key") || !strings.Contains(err.Error(), c.code) || strings.Contains(err.Error(), "RequestID") {
			t.Errorf("%d %s: %s: %v", c.status, c.code, store.Kind(err), err)
		}
		if n := len(server.requests()); n != c.requests {
			t.Errorf("%d %s: asked %d times, want %d", c.status, c.code, n, c.requests)
		}
	}
}

func TestWithoutKeysItSaysWhereTheyMayBe(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "AWS_SHARED_CREDENTIALS_FILE", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI"} {
		t.Setenv(name, "")
	}
	s := open(t, "s3://b", store.S3{Region: "r", Endpoint: "http://127.0.0.1:1", PathStyle: true, Attempts: 1})
	if _, err := s.Size(t.Context(), "s3://b/x"); err == nil || !strings.Contains(err.Error(), "s3.access-key-id") || !strings.Contains(err.Error(), "AWS_ACCESS_KEY_ID") {
		t.Errorf("without keys: %v", err)
	}
}

func TestTransientRefusalsAreTriedAgain(t *testing.T) {
	server := script(t, func(n int, w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch {
		case n == 1:
			refuse(w, 503, "SlowDown")
		case n == 2:
			refuse(w, 500, "InternalError")
		case string(body) != "whole":
			refuse(w, 400, "IncompleteBody")
		}
	})
	must(t, server.open(t, 3, time.Minute).Put(t.Context(), "s3://b/key", strings.NewReader("whole")))
}

func TestServerThatDoesNotAnswerIsGivenUp(t *testing.T) {
	server := script(t, func(_ int, _ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	})
	_, err := server.open(t, 2, 100*time.Millisecond).Read(t.Context(), "s3://b/key")
	if store.Kind(err) != "timeout" || len(server.requests()) != 2 {
		t.Errorf("%v after %q", err, server.requests())
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := server.open(t, 2, time.Minute).Read(ctx, "s3://b/key"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a caller's deadline: %v", err)
	}
}

// serve answers a range of an object, and at most so many bytes of it before the connection ends.
func serve(w http.ResponseWriter, r *http.Request, object []byte, most int) {
	from, to := 0, len(object)-1
	w.Header().Set("Accept-Ranges", "bytes")
	if _, err := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-%d", &from, &to); err == nil {
		to = min(to, len(object)-1)
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, to, len(object)))
	}
	w.Header().Set("Content-Length", fmt.Sprint(to-from+1))
	if r.Header.Get("Range") != "" {
		w.WriteHeader(http.StatusPartialContent)
	}
	part := object[from : to+1]
	if len(part) <= most {
		_, _ = w.Write(part)
		return
	}
	_, _ = w.Write(part[:most])
	_ = http.NewResponseController(w).Flush()
	hangUp(w)
}

func TestBodyThatIsCutIsReadOn(t *testing.T) {
	object := noise(100_000)
	server := script(t, func(n int, w http.ResponseWriter, r *http.Request) { serve(w, r, object, 30_000) })
	s, p := server.open(t, 5, time.Minute), make([]byte, 80_000)
	must(t, s.ReadRange(t.Context(), "s3://b/key", p, 10_000))
	if !bytes.Equal(p, object[10_000:90_000]) {
		t.Error("what was read in pieces differs")
	}
	if asked := server.requests(); len(asked) != 3 || !strings.Contains(asked[1], "bytes=40000-89999") {
		t.Errorf("asked %q", asked)
	}
	clear(p)
	if err := server.open(t, 2, time.Minute).ReadRange(t.Context(), "s3://b/key", p, 0); err == nil || errors.Is(err, store.ErrShort) {
		t.Errorf("a body that is cut each time: %v", err)
	}
	if data, err := s.Read(t.Context(), "s3://b/key"); err == nil {
		t.Errorf("%d bytes taken for the whole object", len(data))
	}
	often := script(t, func(n int, w http.ResponseWriter, r *http.Request) { serve(w, r, object, 10_000+n*60_000) })
	if data, err := often.open(t, 5, time.Minute).Read(t.Context(), "s3://b/key"); err != nil || !bytes.Equal(data, object) {
		t.Errorf("read again: %d bytes, %v", len(data), err)
	}
}

func TestServerWithoutRangesIsReadAllTheSame(t *testing.T) {
	object := noise(1000)
	server := script(t, func(_ int, w http.ResponseWriter, r *http.Request) { _, _ = w.Write(object) })
	p := make([]byte, 100)
	must(t, server.open(t, 1, time.Minute).ReadRange(t.Context(), "s3://b/key", p, 500))
	if !bytes.Equal(p, object[500:600]) {
		t.Error("another part was read")
	}
}

// A conditional put that was carried out without an answer meets itself: the caller compares.
func TestPutWithoutAnswerMeetsItself(t *testing.T) {
	var there []byte
	server := script(t, func(n int, w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodGet:
			_, _ = w.Write(there)
		case there != nil:
			refuse(w, 412, "PreconditionFailed")
		default:
			there, _ = io.ReadAll(r.Body)
			hangUp(w)
		}
	})
	s := server.open(t, 3, time.Minute)
	err := s.PutIfAbsent(t.Context(), "s3://b/v1.metadata.json", []byte("mine"))
	if !errors.Is(err, store.ErrExists) {
		t.Fatalf("%v, want ErrExists", err)
	}
	if got, err := s.Read(t.Context(), "s3://b/v1.metadata.json"); string(got) != "mine" || err != nil {
		t.Errorf("there is %q, %v", got, err)
	}
}

func TestUploadThatFailsIsAborted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, how := range []string{"refused", "canceled", "not completed"} {
		aborted := make(chan struct{})
		server := script(t, func(_ int, w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			q := r.URL.Query()
			switch {
			case r.Method == http.MethodPost && q.Has("uploads"):
				_, _ = io.WriteString(w, `<InitiateMultipartUploadResult><Bucket>b</Bucket><Key>key</Key><UploadId>u1</UploadId></InitiateMultipartUploadResult>`)
			case r.Method == http.MethodPost: // S3 tells of a failure in the body of an answer 200, too
				_, _ = io.WriteString(w, `<Error><Code>InternalError</Code><Message>no</Message></Error>`)
			case r.Method == http.MethodDelete && q.Get("uploadId") == "u1":
				w.WriteHeader(http.StatusNoContent)
				close(aborted)
			case q.Get("partNumber") == "2" && how == "refused":
				refuse(w, 403, "AccessDenied")
			case q.Get("partNumber") == "2" && how == "canceled":
				cancel()
				refuse(w, 503, "SlowDown")
			default:
				w.Header().Set("ETag", `"e"`)
			}
		})
		use := t.Context()
		if how == "canceled" {
			use = ctx
		}
		if err := server.open(t, 2, time.Minute).Put(use, "s3://b/key", bytes.NewReader(noise(20<<20))); err == nil {
			t.Errorf("%s: no error", how)
		}
		select {
		case <-aborted:
		default:
			t.Errorf("%s: not aborted: %q", how, server.requests())
		}
	}
}

// strict forwards to a server unless a request has what only some servers know.
func strict(t *testing.T, to string) *httptest.Server {
	upstream, err := url.Parse(to)
	must(t, err)
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(upstream)
		r.Out.Host = r.In.Host // it is signed
	}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name := range r.Header {
			if name = strings.ToLower(name); strings.HasPrefix(name, "x-amz-checksum-") || name == "x-amz-trailer" || name == "x-amz-sdk-checksum-algorithm" {
				t.Errorf("%s %s has %s", r.Method, r.URL, name)
			}
		}
		if strings.Contains(r.Header.Get("Content-Encoding"), "aws-chunked") || r.Method == http.MethodPost && r.URL.Query().Has("delete") && r.Header.Get("Content-Md5") == "" {
			t.Errorf("%s %s: %v", r.Method, r.URL, r.Header)
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server
}

func TestRequestsHaveOnlyWhatAllServersKnow(t *testing.T) {
	server := storetest.Start(t)
	s, at := open(t, server.Location(), server.Options(strict(t, server.Endpoint).URL)), server.Location()
	must(t, s.Put(t.Context(), at+"/large", bytes.NewReader(noise(9<<20))))
	must(t, s.Put(t.Context(), at+"/small", strings.NewReader("x")))
	must(t, s.PutIfAbsent(t.Context(), at+"/absent", []byte("x")))
	_, err := s.Read(t.Context(), at+"/large")
	must(t, err)
	must(t, s.List(t.Context(), at+"/", func(store.Object) error { return nil }))
	must(t, s.Delete(t.Context(), []string{at + "/large", at + "/small", at + "/absent"}))
}

// proxied is a server behind a proxy that spoils connections.
func proxied(t *testing.T) (*storetest.Server, *toxiproxy.Proxy, store.Store) {
	server := storetest.Start(t)
	p := toxiproxy.NewProxy(toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop()), "s3", "127.0.0.1:0", strings.TrimPrefix(server.Endpoint, "http://"))
	must(t, p.Start())
	t.Cleanup(p.Stop)
	o := server.Options("http://" + p.Listen)
	o.Backoff, o.Attempts = 10*time.Millisecond, 10
	return server, p, open(t, server.Location(), o)
}

func TestConnectionsThatBreakAreMadeAnew(t *testing.T) {
	server, p, s := proxied(t)
	object, at := noise(3<<20), server.Location()+"/object"
	for _, toxic := range []string{
		`{"name":"t","type":"reset_peer","toxicity":0.5,"attributes":{"timeout":0}}`,
		`{"name":"t","type":"limit_data","attributes":{"bytes":900000}}`,
		`{"name":"t","type":"slicer","attributes":{"average_size":4000,"size_variation":2000,"delay":10}}`,
	} {
		_, err := p.Toxics.AddToxicJson(strings.NewReader(toxic))
		must(t, err)
		must(t, s.Put(t.Context(), at, bytes.NewReader(object)))
		p1, p2 := make([]byte, len(object)), make([]byte, 1000)
		must(t, s.ReadRange(t.Context(), at, p1, 0))
		must(t, s.ReadRange(t.Context(), at, p2, 2<<20))
		if !bytes.Equal(p1, object) || !bytes.Equal(p2, object[2<<20:2<<20+1000]) {
			t.Errorf("%s: read something else", toxic)
		}
		must(t, p.Toxics.RemoveToxic(t.Context(), "t"))
	}
}

func TestServerThatIsAwayAndComesBack(t *testing.T) {
	server, p, s := proxied(t)
	at := server.Location() + "/object"
	must(t, s.PutIfAbsent(t.Context(), at, []byte("x")))
	p.Stop()
	if _, err := s.Read(t.Context(), at); store.Kind(err) != "failed" {
		t.Errorf("away: %v", err)
	}
	must(t, p.Start())
	if got, err := s.Read(t.Context(), at); string(got) != "x" || err != nil {
		t.Errorf("back: %q, %v", got, err)
	}
}

package app

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/korvet-io/korvet/internal/redistest"
)

func TestAPlaceThatCannotBeUsedStopsTheStart(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"file://" + file, "file://" + file + "/below", "file:///proc", "file:///proc/below"} {
		c := load(t, "--korvet.storage.remote.path="+path)
		b, err := Start(t.Context(), Options{Config: c, Version: "test", Log: slog.New(slog.DiscardHandler)})
		if err == nil {
			b.Stop()
		}
		if err == nil || !strings.HasPrefix(err.Error(), "korvet.storage.remote.path="+path+": ") || !strings.Contains(err.Error(), "name one that exists") || strings.Contains(err.Error(), "unfinished") {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestADirectoryOfTheRemoteTierIsMadeAndLeftAsItWas(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	redis := redistest.Start(t)
	start(t, load(t, "--korvet.redis.uri="+redis.URI(), "--korvet.storage.remote.path=file://"+dir))
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("%v, %v", entries, err)
	}
}

func TestAStoreThatRefusesStopsTheStart(t *testing.T) {
	for code, settings := range map[string]string{
		"403 AccessDenied": "s3.access-key-id", "404 NoSuchBucket": "make it, or name another one", "301 PermanentRedirect": "s3.region", "405 MethodNotAllowed": "remote.s3.endpoint",
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			status, word, _ := strings.Cut(code, " ")
			number, _ := strconv.Atoi(status)
			w.WriteHeader(number)
			fmt.Fprintf(w, "<Error><Code>%s</Code></Error>", word)
		}))
		c := load(t, "--korvet.storage.remote.path=s3://bucket/prefix", "--korvet.storage.remote.s3.endpoint="+server.URL,
			"--korvet.storage.remote.s3.path-style-access=true", "--korvet.storage.remote.s3.access-key-id=a", "--korvet.storage.remote.s3.secret-access-key=b")
		b, err := Start(t.Context(), Options{Config: c, Version: "test", Log: slog.New(slog.DiscardHandler)})
		if err == nil {
			b.Stop()
		}
		if err == nil || !strings.HasPrefix(err.Error(), "korvet.storage.remote.path=s3://bucket/prefix: ") || !strings.Contains(err.Error(), settings) {
			t.Errorf("%s: %v", code, err)
		}
		server.Close()
	}
}

// A store that does not answer keeps nobody from starting; it is told of early.
func TestAStoreThatIsAwayDoesNotStopTheStart(t *testing.T) {
	redis, log := redistest.Start(t), &logText{}
	start(t, load(t, "--korvet.redis.uri="+redis.URI())).Stop() // that Redis has something
	c := load(t, "--korvet.redis.uri="+redis.URI(), "--korvet.storage.remote.path=s3://bucket/prefix", "--korvet.storage.remote.s3.endpoint=http://127.0.0.1:1",
		"--korvet.storage.remote.s3.path-style-access=true", "--korvet.storage.remote.s3.access-key-id=a", "--korvet.storage.remote.s3.secret-access-key=b")
	b := startLogging(t, c, slog.NewTextHandler(log, nil))
	redistest.Eventually(t, "the broker to be ready all the same", func() bool { return len(b.notReady()) == 0 })
	redistest.Eventually(t, "a line about the store", func() bool { return log.count("the store of the remote tier cannot be used now") == 1 })
	if notes := b.notes(); len(notes) != 1 {
		t.Errorf("/readyz has %q", notes)
	}
	if log.count("secret-access-key") > 0 {
		t.Error("the log holds the secret key")
	}
}

// An empty Redis may have been lost: the store that may have its tables has to answer first.
func TestAnEmptyRedisWaitsForTheStore(t *testing.T) {
	redis, log := redistest.Start(t), &logText{}
	var answers atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !answers.Load():
			w.WriteHeader(http.StatusServiceUnavailable)
		case r.URL.Query().Has("list-type"):
			fmt.Fprint(w, "<ListBucketResult></ListBucketResult>")
		default:
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, "<Error><Code>NoSuchKey</Code></Error>")
		}
	}))
	t.Cleanup(server.Close)
	c := load(t, "--korvet.redis.uri="+redis.URI(), "--korvet.storage.remote.path=s3://bucket/prefix", "--korvet.storage.remote.s3.endpoint="+server.URL,
		"--korvet.storage.remote.s3.max-attempts=1",
		"--korvet.storage.remote.s3.path-style-access=true", "--korvet.storage.remote.s3.access-key-id=a", "--korvet.storage.remote.s3.secret-access-key=b")
	b, err := Start(t.Context(), Options{Config: c, Version: "test", Log: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Stop)
	redistest.Eventually(t, "a line about the store", func() bool { return log.count("this Redis has nothing, and the store") == 1 })
	size := redis.Do("DBSIZE")
	keys, err := size.AsInt64()
	if why := strings.Join(b.notReady(), "\n"); !strings.Contains(why, "tables of an earlier Redis") || err != nil || keys != 0 {
		t.Errorf("it is not ready because of %q, and Redis has %d keys, %v", why, keys, err)
	}
	answers.Store(true)
	redistest.Eventually(t, "the broker to be ready", func() bool { return len(b.notReady()) == 0 })
	redistest.Eventually(t, "nothing to be told of the store", func() bool { return len(b.notes()) == 0 })
}

// silent takes requests for metrics.
type silent struct{ requests int }

func (s *silent) StoreRequest(string, int64, time.Duration, string) { s.requests++ }

func TestTheLogTellsOnceThatTheStoreFailsAndOnceThatItAnswers(t *testing.T) {
	log, metrics := &logText{}, &silent{}
	w := &storeWatch{Observer: metrics, failing: new(atomic.Bool), log: slog.New(slog.NewTextHandler(log, nil))}
	for _, kind := range []string{"", "not_found", "failed", "timeout", "canceled", "denied", "exists", "", "short", "canceled", ""} {
		w.StoreRequest("read", 1, 0, kind)
	}
	if fails, answers := log.count("fails:"), log.count("answers again"); fails != 1 || answers != 1 || metrics.requests != 11 {
		t.Errorf("%d and %d lines, %d requests", fails, answers, metrics.requests)
	}
	for range 3 { // a full one is read all the while
		w.StoreRequest("write", 1, 0, "full")
		w.StoreRequest("size", 1, 0, "not_found")
		w.StoreRequest("read", 1, 0, "")
	}
	if fails, answers := log.count("fails:"), log.count("answers again"); fails != 2 || answers != 1 {
		t.Errorf("a full store: %d and %d lines", fails, answers)
	}
	if w.StoreRequest("write", 1, 0, ""); log.count("answers again") != 2 {
		t.Error("that it takes writes again was not told")
	}
}

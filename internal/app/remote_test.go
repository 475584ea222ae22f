package app

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/korvet-io/korvet/internal/redistest"
)

func TestAPlaceThatCannotBeUsedStopsTheStart(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"file://" + file, "file://" + file + "/below"} {
		c := load(t, "--korvet.storage.remote.path="+path)
		b, err := Start(t.Context(), Options{Config: c, Version: "test", Log: slog.New(slog.DiscardHandler)})
		if err == nil {
			b.Stop()
		}
		if err == nil || !strings.HasPrefix(err.Error(), "korvet.storage.remote.path="+path+": ") {
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

// A store that does not answer keeps nobody from starting; it is told of early.
func TestAStoreThatIsAwayDoesNotStopTheStart(t *testing.T) {
	redis, log := redistest.Start(t), &logText{}
	c := load(t, "--korvet.redis.uri="+redis.URI(), "--korvet.storage.remote.path=s3://bucket/prefix", "--korvet.storage.remote.s3.endpoint=http://127.0.0.1:1",
		"--korvet.storage.remote.s3.path-style-access=true", "--korvet.storage.remote.s3.access-key-id=a", "--korvet.storage.remote.s3.secret-access-key=b")
	b := startLogging(t, c, slog.NewTextHandler(log, nil))
	redistest.Eventually(t, "the broker to be ready all the same", func() bool { return len(b.notReady()) == 0 })
	redistest.Eventually(t, "a line about the store", func() bool { return log.count("the store of the remote tier cannot be used now") == 1 })
	if log.count("secret-access-key") > 0 {
		t.Error("the log holds the secret key")
	}
}

// silent takes requests for metrics.
type silent struct{ requests int }

func (s *silent) StoreRequest(string, int64, time.Duration, string) { s.requests++ }

func TestTheLogTellsOnceThatTheStoreFailsAndOnceThatItAnswers(t *testing.T) {
	log, metrics := &logText{}, &silent{}
	w := &storeWatch{Observer: metrics, log: slog.New(slog.NewTextHandler(log, nil))}
	for _, kind := range []string{"", "not_found", "failed", "timeout", "canceled", "denied", "exists", "", "short", "canceled", ""} {
		w.StoreRequest("read", 1, 0, kind)
	}
	if fails, answers := log.count("fails:"), log.count("answers again"); fails != 1 || answers != 1 || metrics.requests != 11 {
		t.Errorf("%d and %d lines, %d requests", fails, answers, metrics.requests)
	}
}

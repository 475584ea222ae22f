package tiered

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"

	"github.com/korvet-io/korvet/internal/iceberg/storetest"
	"github.com/korvet-io/korvet/internal/redistest"
)

// long tells whether tests take minutes.
var long = os.Getenv("KORVET_TEST_LONG") != ""

// outage is how long the store is away; in the short form for as long as it takes to produce what is to be dropped.
func outage(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv("KORVET_TEST_OUTAGE")
	if text == "" && long {
		text = "3m"
	}
	if text == "" {
		return 0
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// behindProxy is an S3 server that a test can take away.
func behindProxy(t *testing.T) (place, *toxiproxy.Proxy) {
	s := storetest.Start(t)
	proxy := toxiproxy.NewProxy(toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop()), "store", "127.0.0.1:0", strings.TrimPrefix(s.Endpoint, "http://"))
	if err := proxy.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Stop)
	return onS3(s, "http://"+proxy.Listen), proxy
}

// number is the value of a series, 0 where there is none.
func (w *world) number(series string) float64 {
	w.Helper()
	text := w.metric(series)
	if text == "" {
		return 0
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		w.Fatalf("%s is %s", series, text)
	}
	return n
}

// coldReaders has clients come, read the first record and go.
func (w *world) coldReaders(topic string, n int) {
	w.Helper()
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			if err := w.fetched(topic, 0, 0); err != nil {
				w.Errorf("a cold read: %v", err)
			}
		})
	}
	all.Wait()
}

// silent is what leaves connections open on which nothing is answered.
const silent = `{"name":"silent","type":"timeout","stream":"upstream","attributes":{"timeout":0}}`

// The store is away for longer than local retention keeps anything: what is within total retention stays in Redis, metrics tell how
// much waits, consumers of what Redis has and producers notice nothing, those of cold records get nothing and no error, and all of it
// is copied once the store is there again.
func TestAStoreThatIsAwayForLongCostsNothing(t *testing.T) {
	t.Parallel()
	away := map[string]func(*testing.T, *toxiproxy.Proxy) (back func()){
		"refuses": func(t *testing.T, p *toxiproxy.Proxy) func() {
			p.Stop()
			return func() {
				if err := p.Start(); err != nil {
					t.Fatal(err)
				}
			}
		},
		"is silent": func(t *testing.T, p *toxiproxy.Proxy) func() {
			if _, err := p.Toxics.AddToxicJson(strings.NewReader(silent)); err != nil {
				t.Fatal(err)
			}
			return func() {
				if err := p.Toxics.RemoveToxic(t.Context(), "silent"); err != nil {
					t.Fatal(err)
				}
			}
		},
	}
	for name, leaves := range away {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, proxy := behindProxy(t)
			w := start(t, p, noCache, "--korvet.storage.remote.s3.request-timeout=2s", "--korvet.storage.remote.read-cache-bytes=1KB", "--korvet.storage.remote.s3.max-attempts=2")
			w.create("t", 1, tiered("retention.ms=86400000"))
			w.produce("t", 0, 0, 2500)
			w.awaitDropped("t", 0, 1500)
			lag := `korvet_storage_archive_lag_segments{topic="t"}`
			back := leaves(t, proxy)
			until, end := time.Now().Add(outage(t)), int64(2500)
			for end < 8000 || time.Now().Before(until) {
				if end >= 8000 {
					<-time.After(2 * time.Second)
				}
				w.produce("t", 0, end, end+500)
				end += 500
			}
			redistest.Eventually(t, "the metrics to tell what waits", func() bool {
				return w.number(lag) >= 3 && w.number(`korvet_storage_archive_lag_oldest_seconds{topic="t"}`) > 0
			})
			redistest.Eventually(t, "the log to tell of it", func() bool { return strings.Contains(w.Logs(), "the store of the remote tier fails") })
			local := w.offset("t", 0, earliestLocal)
			if begins := w.offset("t", 0, earliest); begins != 0 || local > 3500 {
				t.Errorf("the log starts at %d, in Redis at %d", begins, local)
			}
			w.consume("t", 0, local, end)
			w.coldReaders("t", 5)
			if status := w.status("/readyz"); status != 200 {
				t.Errorf("/readyz answers %d", status)
			}
			back()
			w.awaitDropped("t", 0, end-2500)
			w.consume("t", 0, 0, end)
			redistest.Eventually(t, "nothing to wait any more", func() bool { return w.number(lag) == 0 })
			if told := strings.Count(w.Logs(), "the store of the remote tier fails"); told != 1 {
				t.Errorf("the log says %d times that the store fails", told)
			}
		})
	}
}

// used is what a process has of things that may leak.
type used struct{ goroutines, files, heap float64 }

func (w *world) used() used {
	return used{w.number("go_goroutines"), w.number("process_open_fds"), w.number("go_memstats_heap_inuse_bytes")}
}

// Outages and cold readers that come and go leave nothing behind: goroutines, files, memory.
func TestOutagesAndReadersLeaveNothingBehind(t *testing.T) {
	t.Parallel()
	p, proxy := behindProxy(t)
	w := start(t, p, noCache, "--korvet.storage.remote.s3.request-timeout=300ms", "--korvet.storage.remote.s3.max-attempts=2", "--korvet.storage.remote.read-cache-bytes=1MB")
	w.create("t", 1, tiered())
	end, outages := int64(0), 2
	if long {
		outages = 20
	}
	outage := func(i int) {
		if i%2 == 0 {
			proxy.Stop()
		} else if _, err := proxy.Toxics.AddToxicJson(strings.NewReader(silent)); err != nil {
			t.Fatal(err)
		}
		failures := w.failures()
		w.produce("t", 0, end, end+1500)
		end += 1500
		w.coldReaders("t", 50/outages+1)
		redistest.Eventually(t, "the outage to be noticed", func() bool { return w.failures() > failures })
		var err error
		if i%2 == 0 {
			err = proxy.Start()
		} else {
			err = proxy.Toxics.RemoveToxic(t.Context(), "silent")
		}
		if err != nil {
			t.Fatal(err)
		}
		w.awaitDropped("t", 0, end-1500)
		w.consume("t", 0, 0, end)
	}
	w.produce("t", 0, 0, 2500)
	end = 2500
	outage(0)
	outage(1)
	before := w.used()
	for i := range outages {
		outage(i)
	}
	w.coldReaders("t", 50)
	var after used
	redistest.Eventually(t, fmt.Sprintf("what is used to be as it was: %+v", before), func() bool {
		after = w.used()
		return after.goroutines <= before.goroutines+10 && after.files <= before.files+10 && after.heap <= before.heap+32<<20
	})
	t.Logf("before %+v, after %d outages %+v", before, outages, after)
}

// failures are the requests to the store that failed, of all kinds.
func (w *world) failures() (n float64) {
	w.Helper()
	for line := range strings.Lines(w.metrics()) {
		if strings.HasPrefix(line, "korvet_storage_remote_failures_total{") {
			var v float64
			if _, err := fmt.Sscan(line[strings.LastIndexByte(line, ' ')+1:], &v); err != nil {
				w.Fatal(err)
			}
			n += v
		}
	}
	return n
}

package faults

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/korvet-io/korvet/internal/redistest"
	"github.com/korvet-io/korvet/test/faults/cut"
	"github.com/korvet-io/korvet/test/harness"
	"github.com/rs/zerolog"
)

// Every place inside a command or an answer is cut sooner or later.
func TestConnectionToRedisCutAtRandomBytes(t *testing.T) {
	redis := redistest.Start(t, always...)
	proxy, err := cut.Start(redis.Addr(), seed())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	w := newWorld(t, harness.Options{Redis: redis, Args: []string{"--korvet.redis.uri=redis://" + proxy.Addr()}})
	w.start(nil)
	w.progress(20)
	for range rounds(5) {
		cuts := proxy.Cuts() + 10
		proxy.Arm(30_000)
		redistest.Eventually(t, "ten cuts", func() bool { return proxy.Cuts() >= cuts })
		proxy.Disarm()
		w.moment()
	}
	w.progress(50)
	w.faults = proxy.Cuts()
	w.verdict()
}

// The toxics leave each half of "outcome unknown": commands that arrived and whose answer did not, commands that never
// arrived, answers that end in the middle, answers in small pieces.
func TestConnectionToRedisSuffersToxics(t *testing.T) {
	redis := redistest.Start(t, always...)
	proxy := toxiproxy.NewProxy(toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop()), "redis", "127.0.0.1:0", redis.Addr())
	if err := proxy.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Stop)
	w := newWorld(t, harness.Options{Redis: redis, Args: []string{"--korvet.redis.uri=redis://" + proxy.Listen}})
	w.start(nil)
	w.progress(20)
	toxics := []string{
		`"type":"limit_data","stream":"downstream","attributes":{"bytes":%d}`,
		`"type":"limit_data","stream":"upstream","attributes":{"bytes":%d}`,
		`"type":"reset_peer","stream":"downstream","attributes":{"timeout":%d}`,
		`"type":"reset_peer","stream":"upstream","attributes":{"timeout":%d}`,
		`"type":"timeout","stream":"downstream","attributes":{"timeout":%d}`,
		`"type":"timeout","stream":"upstream","attributes":{"timeout":%d}`,
		`"type":"slicer","stream":"downstream","attributes":{"average_size":20,"size_variation":10,"delay":%d}`,
	}
	for i := range rounds(len(toxics)) {
		toxic := fmt.Sprintf(toxics[i%len(toxics)], 1+w.rnd.IntN(300))
		if _, err := proxy.Toxics.AddToxicJson(strings.NewReader(`{"name":"t",` + toxic + `}`)); err != nil {
			t.Fatalf("add %s: %v", toxic, err)
		}
		w.faults++
		w.pass(600 * time.Millisecond)
		if err := proxy.Toxics.RemoveToxic(context.Background(), "t"); err != nil {
			t.Fatalf("remove %s: %v", toxic, err)
		}
		w.moment()
	}
	w.progress(50)
	w.verdict()
}

package tiered

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/korvet-io/korvet/internal/redistest"
)

// requests counts those that the broker has made to the store.
func (w *world) requests() (n int) {
	w.Helper()
	for line := range strings.Lines(w.metrics()) {
		if !strings.HasPrefix(line, "korvet_storage_remote_request_seconds_count{") {
			continue
		}
		one, err := strconv.Atoi(strings.TrimSpace(line[strings.LastIndexByte(line, ' '):]))
		if err != nil {
			w.Fatal(err)
		}
		n += one
	}
	return n
}

// ticks counts those of the storage worker.
func (w *world) ticks() int {
	w.Helper()
	n, err := strconv.Atoi(w.metric("korvet_storage_worker_tick_seconds_count"))
	if err != nil {
		w.Fatal(err)
	}
	return n
}

// idle waits until the broker has made no request to the store for some ticks.
func (w *world) idle() {
	w.Helper()
	requests, since := w.requests(), w.ticks()
	redistest.Eventually(w, "ticks without a request to the store", func() bool {
		ticks, now := w.ticks(), w.requests()
		if now != requests {
			requests, since = now, ticks
		}
		return ticks >= since+5
	})
}

// Each request to an object store costs money: tables of topics that nobody writes to cost none at a tick. What is committed to one is
// seen all the same, whoever does it.
func TestIdleTopicsCostTheStoreNoRequest(t *testing.T) {
	t.Parallel()
	w := start(t, places["file"](t))
	const topics = 3
	for i := range topics {
		topic := fmt.Sprintf("idle%d", i)
		w.create(topic, 1, tiered())
		w.produce(topic, 0, 0, 1200)
	}
	for i := range topics {
		w.awaitDropped(fmt.Sprintf("idle%d", i), 0, 900)
	}
	w.idle()
	before := w.requests()
	w.produce("idle0", 0, 1200, 2400) // the others go on costing nothing
	w.awaitDropped("idle0", 0, 1900)
	w.idle()
	t.Logf("%d requests until 3 topics were copied, %d for more of one", before, w.requests()-before)
	w.consume("idle0", 0, 0, 2400)
	w.consume("idle1", 0, 0, 1200)
}

package main

import (
	"strings"
	"syscall"
	"testing"

	"github.com/korvet-io/korvet/internal/redistest"
)

func TestWorkerRunsWithoutAKafkaPort(t *testing.T) {
	h := newHome(t)
	redis := redistest.Start(t)
	http := freePort(t)
	r := h.start("worker", "--korvet.redis.uri="+redis.URI(), "--korvet.http.host=127.0.0.1", "--korvet.http.port="+http)
	r.says("this process has the lease")
	if code, body := get("http://127.0.0.1:" + http + "/metrics"); code != 200 || !strings.Contains(body, "korvet_storage_worker_up 1") {
		t.Errorf("metrics: %d, without the worker", code)
	}
	if code := r.interrupt(syscall.SIGTERM); code != 0 {
		t.Errorf("exit %d, said %s", code, r.out)
	}
}

func TestProcessWithNeitherBrokerNorWorkerDoesNotStart(t *testing.T) {
	h := newHome(t)
	for _, args := range [][]string{
		{"worker", "--korvet.storage.worker.enabled=false"},
		{"server", "--korvet.broker.enabled=false", "--korvet.storage.worker.enabled=false"},
	} {
		code, _, stderr := h.run(args...)
		if code != exitError || !strings.Contains(stderr, "korvet.storage.worker.enabled") {
			t.Errorf("%v: exit %d, said %s", args, code, stderr)
		}
	}
}

func TestWorkerRefusesAFlagThatMakesItABroker(t *testing.T) {
	h := newHome(t)
	for _, flag := range []string{"--korvet.broker.enabled=true", "--korvet.broker.enabled"} {
		code, _, stderr := h.run("worker", "--korvet.broker.enabled=false", flag)
		if code != exitUsage || !strings.Contains(stderr, "--korvet.broker.enabled=true contradicts korvet worker") {
			t.Errorf("%s: exit %d, said %s", flag, code, stderr)
		}
	}
}

func TestWorkersLeaseMustExceedItsTick(t *testing.T) {
	h := newHome(t)
	code, _, stderr := h.run("server", "--korvet.storage.worker.tick-interval=2m")
	if code != exitError || !strings.Contains(stderr, "korvet.storage.worker.lease-duration") {
		t.Errorf("exit %d, said %s", code, stderr)
	}
}

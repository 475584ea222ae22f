package harness

import (
	"strconv"
	"syscall"
	"testing"

	"github.com/korvet-io/korvet/internal/redistest"
)

// Worker is a `korvet worker` process: the storage worker without a broker. Its methods are not safe for concurrent use.
type Worker struct {
	t    testing.TB
	proc *process
}

// StartWorker starts one on a Redis that a broker uses, with further arguments, and waits for nothing. It ends with the test.
func StartWorker(t testing.TB, redis *redistest.Server, args ...string) *Worker {
	t.Helper()
	binary, err := build()
	if err != nil {
		t.Fatalf("build korvet: %v", err)
	}
	args = append([]string{"worker", "--korvet.http.host=127.0.0.1", "--korvet.http.port=" + strconv.Itoa(freePort(t)), "--korvet.redis.uri=" + redis.URI()}, args...)
	w := &Worker{t: t, proc: newProcess(t, "worker", binary, args, nil)}
	w.Launch()
	return w
}

// Launch starts the process again, which does not run.
func (w *Worker) Launch() {
	w.t.Helper()
	if err := w.proc.spawn(); err != nil {
		w.t.Fatalf("launch worker: %v", err)
	}
}

// Pause freezes the process, Resume lets it go on where it was.
func (w *Worker) Pause() { w.signal("pause", syscall.SIGSTOP) }

// Resume ends a Pause.
func (w *Worker) Resume() { w.signal("resume", syscall.SIGCONT) }

func (w *Worker) signal(verb string, s syscall.Signal) {
	w.t.Helper()
	if !w.proc.signal(w.t, s) {
		w.t.Fatalf("%s the worker: it does not run", verb)
	}
}

// Kill9 ends the process with SIGKILL and returns when it is gone.
func (w *Worker) Kill9() { w.proc.kill(w.t) }

// Logs returns what the process has written in all its lives.
func (w *Worker) Logs() string { return w.proc.logs() }

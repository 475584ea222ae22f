package harness

import (
	"syscall"
	"time"
)

// Launch starts a broker that does not run and does not wait for anything, so that a test can kill it while it starts.
func (b *Broker) Launch() {
	b.t.Helper()
	p := b.own("launch")
	if p.pid() != 0 {
		b.t.Fatalf("launch %s: it runs", p.name)
	}
	if err := p.spawn(); err != nil {
		b.t.Fatalf("launch %s: %v", p.name, err)
	}
}

// AwaitReady waits until a launched broker is ready. It fails the test when the broker ends before that.
func (b *Broker) AwaitReady() {
	b.t.Helper()
	b.own("wait for").awaitReady(b.t, b.ready)
}

// AwaitExit waits until the broker has ended by itself and returns its exit code, -1 after a signal.
func (b *Broker) AwaitExit() int {
	b.t.Helper()
	p := b.own("wait for")
	select {
	case <-p.exited:
	case <-time.After(stopTimeout):
		b.t.Fatalf("%s still runs after %v", p.name, stopTimeout)
	}
	return p.cmd.ProcessState.ExitCode()
}

// Pause freezes the broker: connections stay open and nothing is answered.
func (b *Broker) Pause() { b.signal("pause", syscall.SIGSTOP) }

// Resume ends a Pause.
func (b *Broker) Resume() { b.signal("resume", syscall.SIGCONT) }

func (b *Broker) signal(verb string, s syscall.Signal) {
	b.t.Helper()
	if !b.own(verb).signal(b.t, s) {
		b.t.Fatalf("%s the broker: it does not run", verb)
	}
}

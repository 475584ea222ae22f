package system

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"
)

// process is a child whose output goes to a file.
type process struct {
	name    string
	log     string
	command *exec.Cmd
	exited  chan struct{}
}

func startProcess(log, program string, args ...string) (*process, error) {
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open log of %s: %w", program, err)
	}
	defer out.Close()
	p := &process{name: program, log: log, command: exec.Command(program, args...), exited: make(chan struct{})}
	p.command.Stdout, p.command.Stderr = out, out
	// korvet takes every KORVET_ variable for a setting, and those of the benchmark are none.
	p.command.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "KORVET_BENCH_") })
	// A Ctrl-C in the terminal is ours alone to handle.
	p.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.command.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", program, err)
	}
	go func() {
		defer close(p.exited)
		_ = p.command.Wait() // how it ended stands in its log
	}()
	return p, nil
}

func (p *process) pid() int { return p.command.Process.Pid }

// await calls ready until it succeeds, the process ends or ctx does.
func (p *process) await(ctx context.Context, ready func() error) error {
	for {
		err := ready()
		if err == nil {
			return nil
		}
		select {
		case <-p.exited:
			return fmt.Errorf("%s ended: %w: %s", p.name, err, p.lastWords())
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w: %s", p.name, err, p.lastWords())
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// stop asks the process to end and kills it when it takes longer than ten seconds.
func (p *process) stop() error {
	if p == nil {
		return nil
	}
	if err := p.command.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop %s: %w", p.name, err)
	}
	select {
	case <-p.exited:
		return nil
	case <-time.After(10 * time.Second):
	}
	_ = p.command.Process.Kill() // it may just have ended
	<-p.exited
	return fmt.Errorf("stop %s: killed after 10 s: %s", p.name, p.lastWords())
}

// lastWords is the end of what the process has written.
func (p *process) lastWords() string {
	const most = 1000
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-most):])
}

// Ports hands out free loopback ports from a base on.
type Ports struct{ next int }

// NewPorts starts at base.
func NewPorts(base int) *Ports { return &Ports{next: base} }

// Take returns the first of n neighbouring ports that were free when it looked.
func (p *Ports) Take(n int) (int, error) {
	for p.next+n < 1<<16 {
		first := p.next
		p.next += n
		if allFree(first, n) {
			return first, nil
		}
	}
	return 0, errors.New("find free ports: none left")
}

func allFree(first, n int) bool {
	for port := first; port < first+n; port++ {
		listener, err := net.Listen("tcp", local(port))
		if err != nil {
			return false
		}
		listener.Close()
	}
	return true
}

func local(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }

package system

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestPortsAreHandedOutOnceAndFree(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	base := taken.Addr().(*net.TCPAddr).Port
	ports := NewPorts(base)
	first, err := ports.Take(2)
	if err != nil || first <= base {
		t.Fatalf("got %d, error %v, where %d is taken", first, err, base)
	}
	if second, err := ports.Take(1); err != nil || second < first+2 {
		t.Fatalf("got %d after %d and its neighbour, error %v", second, first, err)
	}
}

func TestAProcessThatEndsTooSoonIsAnErrorWithItsLastWords(t *testing.T) {
	p, err := startProcess(filepath.Join(t.TempDir(), "log"), "sh", "-c", "echo no such setting; exit 1")
	if err != nil {
		t.Fatal(err)
	}
	err = p.await(context.Background(), func() error { return errors.New("refused") })
	if err == nil || !strings.Contains(err.Error(), "no such setting") {
		t.Fatalf("got %v", err)
	}
	if err := p.stop(); err != nil {
		t.Errorf("stop what has ended: %v", err)
	}
}

func TestKafkaIsRunByItsScript(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "kafka.sh")
	calls := filepath.Join(dir, "calls")
	text := "#!/bin/sh\necho \"$@\" >>" + calls + "\nif [ \"$1\" = start ]; then echo \"ready, pid 42, data $3\"; fi\n"
	if err := os.WriteFile(script, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	k := &Kafka{Script: script, Dir: filepath.Join(dir, "data"), Port: 1234}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	began := false
	for _, step := range []func() error{
		func() error { return k.Open(ctx) },
		func() error { return k.Open(ctx) }, // it runs already
		func() error { return k.Restart(ctx, func() { began = true }) },
		k.Shutdown,
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(calls)
	if err != nil {
		t.Fatal(err)
	}
	start, stop := "start 1234 "+k.Dir+"\n", "stop 1234\n"
	if want := start + stop + start + stop; string(got) != want || !began {
		t.Errorf("calls were\n%swhere\n%swere due", got, want)
	}
}

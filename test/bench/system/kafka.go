package system

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
)

// Kafka is Apache Kafka as a script runs it: `start PORT DIR` returns when it is ready and prints its pid, `stop PORT`
// stops it, `tool NAME ARGS` runs one of its tools. It runs on between scenarios, so that its code stays compiled.
type Kafka struct {
	Script string
	Dir    string
	Port   int // the controller takes the next one
	pid    int
}

// Name implements System.
func (k *Kafka) Name() string { return "kafka" }

var printedPID = regexp.MustCompile(`\bpid (\d+)`)

// Open implements System.
func (k *Kafka) Open(ctx context.Context) error {
	if k.pid != 0 {
		return nil
	}
	out, err := exec.CommandContext(ctx, k.Script, "start", strconv.Itoa(k.Port), k.Dir).CombinedOutput()
	if err != nil {
		return fmt.Errorf("start kafka: %w: %s", err, out)
	}
	found := printedPID.FindSubmatch(out)
	if found == nil {
		return fmt.Errorf("start kafka: no pid in %q", out)
	}
	k.pid, err = strconv.Atoi(string(found[1]))
	return err
}

func (k *Kafka) stop() error {
	if k.pid == 0 {
		return nil
	}
	k.pid = 0
	if out, err := exec.Command(k.Script, "stop", strconv.Itoa(k.Port)).CombinedOutput(); err != nil {
		return fmt.Errorf("stop kafka: %w: %s", err, out)
	}
	return nil
}

// Cold implements System. Kafka has no cache of its own: it reads the page cache, which stays warm.
func (k *Kafka) Cold(context.Context) error { return nil }

// Restart implements System.
func (k *Kafka) Restart(ctx context.Context, began func()) error {
	if err := k.stop(); err != nil {
		return err
	}
	began()
	return k.Open(ctx)
}

// Close implements System.
func (k *Kafka) Close() error { return nil }

// Shutdown implements System.
func (k *Kafka) Shutdown() error {
	if err := k.stop(); err != nil {
		return err
	}
	return os.RemoveAll(k.Dir)
}

// Address implements System.
func (k *Kafka) Address() string { return local(k.Port) }

// Processes implements System.
func (k *Kafka) Processes() map[string]int { return map[string]int{"broker": k.pid} }

// TopicSettings implements System: the files of a deleted topic go at once, not after a minute.
func (k *Kafka) TopicSettings() map[string]*string {
	at := "100"
	return map[string]*string{"file.delete.delay.ms": &at}
}

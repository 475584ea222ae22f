package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/korvet-io/korvet/test/bench/load"
)

// job is what a client process is told on its standard input: one of the two.
type job struct {
	Kafka *load.Spec `json:"kafka,omitempty"`
	Raw   *rawJob    `json:"raw,omitempty"`
}

func kafkaJob(spec load.Spec) job { return job{Kafka: &spec} }

// runClient is the client process. It is one of its own so that the processor time of clients is nobody else's.
func runClient(ctx context.Context, in io.Reader, out io.Writer) error {
	var j job
	if err := json.NewDecoder(in).Decode(&j); err != nil {
		return fmt.Errorf("read job: %w", err)
	}
	var result load.Result
	var err error
	if j.Kafka != nil {
		result, err = load.Run(ctx, *j.Kafka)
	} else {
		result, err = runRaw(ctx, *j.Raw)
	}
	if err != nil {
		return err
	}
	if result.ClientCPU, err = ownCPU(); err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(result)
}

func ownCPU() (float64, error) {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0, fmt.Errorf("read own processor time: %w", err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()).Seconds(), nil
}

// startClient runs this program as a client process and returns what it measured.
func startClient(ctx context.Context, j job) (load.Result, error) {
	var result load.Result
	self, err := os.Executable()
	if err != nil {
		return result, fmt.Errorf("find own program: %w", err)
	}
	in, err := json.Marshal(j)
	if err != nil {
		return result, fmt.Errorf("write job: %w", err)
	}
	command := exec.CommandContext(ctx, self, "client")
	command.Stdin = bytes.NewReader(in)
	command.Stderr = os.Stderr
	out, err := command.Output()
	if err != nil {
		return result, fmt.Errorf("client: %w", err)
	}
	if err := json.Unmarshal(out, &result); err != nil {
		return result, fmt.Errorf("read client's result: %w", err)
	}
	return result, nil
}

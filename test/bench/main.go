// Command bench measures korvet against the ceiling that a bare Redis client sets and, where it is installed, against
// Apache Kafka: on one machine, in one run, interleaved. docs/benchmarks.md explains it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "bench:", err)
		}
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 1 && args[0] == "client" {
		return runClient(ctx, os.Stdin, os.Stdout)
	}
	o, err := parseOptions(args)
	if err != nil {
		return err
	}
	r, err := newRunner(o)
	if err != nil {
		return err
	}
	err = r.runAll(ctx)
	if closeErr := r.close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	return r.report(os.Stdout)
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/korvet-io/korvet/internal/config"
)

// Exit codes.
const (
	exitOK    = 0
	exitError = 1
	exitUsage = 2
)

// env is what the commands get of the process.
type env struct {
	vars     []string // environment variables
	settings []string // --korvet.* flags
	in       io.Reader
	out, err io.Writer
}

// usageError is a command line that cannot be understood.
type usageError struct{ error }

// run executes a command line and returns the exit code. The first SIGINT, SIGTERM or SIGHUP cancels the command's
// context; further ones change nothing, so that what was started is stopped in order, child processes included.
func run(args, vars []string, in io.Reader, out, stderr io.Writer) int {
	settings, args := config.SplitFlags(args)
	root := newRoot(&env{vars: vars, settings: settings, in: in, out: out, err: stderr})
	root.SetArgs(args)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, wanted()...)
	defer signal.Stop(signals)
	go func() {
		select {
		case <-signals:
			cancel()
		case <-ctx.Done():
		}
	}()
	command, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitOK
	}
	fmt.Fprintf(stderr, "korvet: %v\n", err)
	var usage usageError
	if errors.As(err, &usage) {
		fmt.Fprintf(stderr, "%s --help tells more\n", command.CommandPath())
		return exitUsage
	}
	return exitError
}

// wanted are the signals that end a command. SIGHUP that the parent has switched off (nohup) stays off; SIGINT does not,
// which shells switch off for what scripts start in the background.
func wanted() []os.Signal {
	if signal.Ignored(syscall.SIGHUP) {
		return []os.Signal{syscall.SIGINT, syscall.SIGTERM}
	}
	return []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP}
}

func newRoot(e *env) *cobra.Command {
	root := &cobra.Command{
		Use:           "korvet",
		Short:         "A Kafka broker whose log is Redis Streams",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          noArgs,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if len(e.settings) > 0 && cmd.Annotations[takesSettings] == "" {
				return usageError{fmt.Errorf("%s takes no settings: %s", cmd.CommandPath(), e.settings[0])}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetIn(e.in)
	root.SetOut(e.out)
	root.SetErr(e.err)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.AddCommand(newServer(e), newWorker(e), newDemo(e), newConfig(e), newTopics(e), newGroups(e), newMigrate(e), newRedis(e), newTables(e), newRecover(e), newVersion(e))
	return root
}

// takesSettings annotates commands that take --korvet.* flags.
const takesSettings = "korvet.settings"

var settingsAnnotation = map[string]string{takesSettings: "yes"}

const settingsHelp = `

Every setting of docs/settings.md is a flag, too: --korvet.broker.port=9093`

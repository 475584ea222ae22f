package main

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/korvet-io/korvet/internal/config"
)

func newConfig(e *env) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:         "config",
		Short:       "Print the effective settings and where each was set, secrets masked",
		Long:        "Print the effective settings and where each was set, secrets masked." + settingsHelp,
		Args:        noArgs,
		Annotations: settingsAnnotation,
		RunE: func(*cobra.Command, []string) error {
			_, values, err := config.Load(config.Sources{File: file, Env: e.vars, Flags: e.settings})
			if err != nil {
				return err
			}
			w := tabwriter.NewWriter(e.out, 0, 0, 2, ' ', 0)
			for _, v := range values.All() {
				fmt.Fprintf(w, "%s\t%s\t# %s\n", v.Name, v.Text, v.Origin)
			}
			return w.Flush()
		},
	}
	cmd.Flags().StringVar(&file, "config", "", "`file` of settings (YAML); else "+config.DefaultFile+" if there is one")
	return cmd
}

// noArgs refuses arguments that are no flags.
func noArgs(cmd *cobra.Command, args []string) error {
	if err := cobra.NoArgs(cmd, args); err != nil {
		return usageError{err}
	}
	return nil
}

package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
)

// groupsFlags are the flags of korvet groups, named as kafka-consumer-groups has them.
type groupsFlags struct {
	bootstrap                                           string
	list, describe, resetOffsets, delete, deleteOffsets bool
	groups                                              []string
	allGroups                                           bool
	topics                                              []string
	allTopics                                           bool
	state, kind                                         filter
	members, offsets, verbose                           bool
	reset                                               resetFlags
	json                                                bool
	timeout                                             time.Duration
}

// resetFlags say where --reset-offsets goes. Exactly one of the ways is set.
type resetFlags struct {
	toEarliest, toLatest, toCurrent bool
	toOffset, shiftBy               int64
	toDatetime, byDuration          string
	fromFile                        string
	dryRun, execute, export         bool
}

// resetWays are the flags of which --reset-offsets needs one.
var resetWays = []string{"to-earliest", "to-latest", "to-current", "to-offset", "to-datetime", "by-duration", "shift-by", "from-file"}

func newGroups(e *env) *cobra.Command {
	var f groupsFlags
	cmd := &cobra.Command{
		Use:   "groups --list|--describe|--reset-offsets|--delete|--delete-offsets",
		Short: "List, describe, reset and delete consumer groups",
		Example: `  korvet groups --list --state
  korvet groups --describe --group billing
  korvet groups --reset-offsets --group billing --topic orders:0,1 --to-datetime 2026-01-31T08:00:00.000+01:00 --execute
  korvet groups --delete --group billing`,
		Args: func(_ *cobra.Command, args []string) error {
			if err := f.takeFilters(args); err != nil {
				return usageError{err}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			job, err := f.validate(cmd.Flags().Changed)
			if err != nil {
				return usageError{err}
			}
			return f.run(cmd.Context(), job, groupsPrinter{out: e.out, err: e.err, json: f.json, verbose: f.verbose})
		},
	}
	f.define(cmd)
	f.reset.define(cmd)
	return cmd
}

func (f *groupsFlags) define(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.bootstrap, "bootstrap-server", "localhost:9092", "brokers to connect to, `host:port` by commas")
	flags.BoolVar(&f.list, "list", false, "list all groups")
	flags.BoolVar(&f.describe, "describe", false, "describe groups: offsets and lag, --members or --state")
	flags.BoolVar(&f.resetOffsets, "reset-offsets", false, "set the committed offsets of groups without members")
	flags.BoolVar(&f.delete, "delete", false, "delete groups without members, with their offsets")
	flags.BoolVar(&f.deleteOffsets, "delete-offsets", false, "delete a group's committed offsets of topics nobody in it subscribes to")
	flags.StringArrayVar(&f.groups, "group", nil, "`name` of a group; repeated for several")
	flags.BoolVar(&f.allGroups, "all-groups", false, "all groups")
	flags.StringArrayVar(&f.topics, "topic", nil, "`topic[:0,1]`, all partitions or those; repeated for several")
	flags.BoolVar(&f.allTopics, "all-topics", false, "with --reset-offsets: all partitions the group has committed")
	flags.VarPF(&f.state, "state", "", "with --list the groups' states, or only groups in these: --state stable,empty; with --describe the group's state").NoOptDefVal = filterOn
	flags.VarPF(&f.kind, "type", "", "with --list the groups' types, or only groups of these: --type classic,consumer").NoOptDefVal = filterOn
	flags.BoolVar(&f.members, "members", false, "with --describe: the members")
	flags.BoolVar(&f.offsets, "offsets", false, "with --describe: offsets and lag, as without it")
	flags.BoolVar(&f.verbose, "verbose", false, "with --describe: epochs, and the members' partitions")
	flags.BoolVar(&f.json, "json", false, "print JSON")
	flags.DurationVar(&f.timeout, "timeout", 15*time.Second, "how long all may take")
}

func (f *resetFlags) define(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.toEarliest, "to-earliest", false, "reset to the log's start")
	flags.BoolVar(&f.toLatest, "to-latest", false, "reset to the log's end")
	flags.BoolVar(&f.toCurrent, "to-current", false, "reset to what is committed, or the log's end where nothing is")
	flags.Int64Var(&f.toOffset, "to-offset", 0, "reset to an `offset`")
	flags.Int64Var(&f.shiftBy, "shift-by", 0, "go `n` records forward, or back where it is negative")
	flags.StringVar(&f.toDatetime, "to-datetime", "", "reset to the first record from a `time` on: YYYY-MM-DDThh:mm:ss.sss, UTC or with a zone as +01:00")
	flags.StringVar(&f.byDuration, "by-duration", "", "reset to the first record of the last `PnDTnHnMnS`")
	flags.StringVar(&f.fromFile, "from-file", "", "reset as a CSV `file` says, a partition a line: topic,partition,offset or group,topic,partition,offset")
	flags.BoolVar(&f.dryRun, "dry-run", false, "with --reset-offsets: only show, the default")
	flags.BoolVar(&f.execute, "execute", false, "with --reset-offsets: do it")
	flags.BoolVar(&f.export, "export", false, "with --reset-offsets: print CSV for --from-file")
}

func (f *groupsFlags) run(ctx context.Context, job groupsJob, p groupsPrinter) error {
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	client, err := openClient(ctx, f.bootstrap, "korvet-groups")
	if err != nil {
		return err
	}
	defer client.Close()
	g := groupsAdmin{client: kadm.NewClient(client), flags: f, job: job, print: p}
	switch {
	case f.list:
		return g.list(ctx)
	case f.describe:
		return g.describe(ctx)
	case f.resetOffsets:
		return g.reset(ctx)
	case f.delete:
		return g.delete(ctx)
	default:
		return g.deleteOffsets(ctx)
	}
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
)

// trimFlags are the flags of korvet topics trim.
type trimFlags struct {
	bootstrap    string
	keep         int64
	before       string
	partitions   []int32
	dryRun, json bool
	timeout      time.Duration
}

// trimJob is what the flags mean: which partitions, and where their logs are to start.
type trimJob struct {
	scope  scope
	byTime bool
	keep   int64 // records that stay, unless byTime
	before int64 // Unix milliseconds: records before the first one of this time or later go
}

func newTopicsTrim(e *env) *cobra.Command {
	var f trimFlags
	cmd := &cobra.Command{
		Use:   "trim TOPIC --keep N|--before TIME",
		Short: "Remove a topic's oldest records, by count or by time",
		Long: `Remove a topic's oldest records, as DeleteRecords of Kafka's protocol does: in each partition the log then starts at
the first record that stays. --keep counts offsets back from the log's end. --before looks at records' timestamps, and
keeps all from the first one on that is not older. TIME is one of
  2026-01-31T08:00:00+01:00   a time as in RFC 3339
  2026-01-31                  the begin of a day in UTC
  7d, 36h, 1d12h              so long ago
  1769842800000               milliseconds since 1970`,
		Example: `  korvet topics trim orders --keep 1000000
  korvet topics trim orders --before 7d --partition 0,1 --dry-run`,
		Args: oneTopic,
		RunE: func(cmd *cobra.Command, args []string) error {
			job, err := f.job(args[0], cmd.Flags().Changed, time.Now())
			if err != nil {
				return usageError{err}
			}
			return f.run(cmd.Context(), job, e.out)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.bootstrap, "bootstrap-server", "localhost:9092", "brokers to connect to, `host:port` by commas")
	flags.Int64Var(&f.keep, "keep", 0, "how many `records` of each partition stay")
	flags.StringVar(&f.before, "before", "", "remove what is older than this `time`")
	flags.Int32SliceVar(&f.partitions, "partition", nil, "`numbers` of partitions, by commas or repeated; all without it")
	flags.BoolVar(&f.dryRun, "dry-run", false, "only show what would go")
	flags.BoolVar(&f.json, "json", false, "print JSON")
	flags.DurationVar(&f.timeout, "timeout", time.Minute, "how long all may take")
	return cmd
}

// oneTopic wants one argument, a topic's name.
func oneTopic(_ *cobra.Command, args []string) error {
	switch {
	case len(args) == 0 || args[0] == "":
		return usageError{errors.New("the topic's name is missing")}
	case len(args) > 1:
		return usageError{fmt.Errorf("one topic at a time, not also %q", args[1])}
	}
	return nil
}

// job checks the flags. changed tells whether a flag was given.
func (f *trimFlags) job(topic string, changed func(string) bool, now time.Time) (trimJob, error) {
	job := trimJob{scope: scope{topic: topic, partitions: f.partitions}, byTime: changed("before"), keep: f.keep}
	switch {
	case changed("keep") == job.byTime:
		return job, errors.New("trim needs one of --keep and --before")
	case f.keep < 0:
		return job, fmt.Errorf("--keep must not be negative: %d", f.keep)
	}
	for _, p := range f.partitions {
		if p < 0 {
			return job, fmt.Errorf("--partition must not be negative: %d", p)
		}
	}
	if !job.byTime {
		return job, nil
	}
	var err error
	if job.before, err = parseMoment(f.before, now); err != nil {
		return job, fmt.Errorf("--before: %w", err)
	}
	return job, nil
}

func (f *trimFlags) run(ctx context.Context, job trimJob, out io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	client, err := openClient(ctx, f.bootstrap, "korvet-topics")
	if err != nil {
		return err
	}
	defer client.Close()
	t := trimmer{client: kadm.NewClient(client), job: job}
	plan, err := t.plan(ctx)
	if err != nil {
		return err
	}
	var refused error
	if !f.dryRun {
		refused = t.trim(ctx, plan)
	}
	outcome := trimOutcome{Topic: job.scope.topic, DryRun: f.dryRun, Partitions: plan}
	return errors.Join(outcome.print(out, f.json), refused)
}

// trimOutcome is what was removed, or would be.
type trimOutcome struct {
	Topic      string          `json:"topic"`
	DryRun     bool            `json:"dry_run"`
	Partitions []partitionTrim `json:"partitions"`
}

// partitionTrim is how one partition's log start moves. Removed counts offsets, of which some may have had no record.
type partitionTrim struct {
	Partition int32  `json:"partition"`
	From      int64  `json:"from"`
	To        int64  `json:"to"`
	Removed   int64  `json:"removed"`
	LogEnd    int64  `json:"log_end_offset"`
	Error     string `json:"error,omitempty"`
}

func (o trimOutcome) print(out io.Writer, asJSON bool) error {
	if asJSON {
		return printJSON(out, o)
	}
	head := "removed"
	if o.DryRun {
		head = "would remove"
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "partition\tfrom\tto\tlog end\t%s\t\n", head)
	for _, p := range o.Partitions {
		fmt.Fprintf(w, "%d\t%d\t%d\t%d\t%d\t%s\n", p.Partition, p.From, p.To, p.LogEnd, p.Removed, p.Error)
	}
	return w.Flush()
}

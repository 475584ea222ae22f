package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/korvet-io/korvet/internal/migrate"
)

// migratePrinter prints for people or, with json, for programs. Progress goes to err.
type migratePrinter struct {
	out, err io.Writer
	json     bool
}

// table prints lines of cells below each other, the numbers at the right.
func (p migratePrinter) table(rows [][]string) error {
	w := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, row := range rows {
		fmt.Fprintln(w, strings.Join(row, "\t")+"\t")
	}
	return w.Flush()
}

func (p migratePrinter) say(text string) { fmt.Fprintln(p.err, text) }

func (p migratePrinter) progress(n migrate.Progress) {
	p.say(fmt.Sprintf("copied %d records, %d bytes; %d to go", n.Records, n.Bytes, n.Behind))
}

// copied tells programs of a run that has ended; people have read of it as it went.
func (p migratePrinter) copied(n migrate.Progress) error {
	if p.json {
		return printJSON(p.out, n)
	}
	return nil
}

func (p migratePrinter) plan(plan *migrate.Plan) error {
	if p.json {
		return printJSON(p.out, plan)
	}
	fmt.Fprintf(p.out, "from topic %s, %s\n", plan.Source, count(len(plan.From), "partition"))
	records := "records"
	if !plan.Read { // compaction leaves fewer records
		records = "offsets"
	}
	rows := [][]string{{"partition", "log start", "log end", records, "bytes"}}
	for _, s := range plan.From {
		bytes := &s.Bytes
		if s.Bytes < 0 { // not every broker tells
			bytes = nil
		}
		rows = append(rows, []string{number(&s.Partition), number(&s.Start), number(&s.End), number(&s.Records), number(bytes)})
	}
	if err := p.table(rows); err != nil {
		return err
	}
	what := "will be created"
	if plan.Exists {
		what = "exists"
	}
	fmt.Fprintf(p.out, "\nto topic %s, %s, which %s\n", plan.Target, count(int(plan.Partitions), "partition"), what)
	for _, name := range slices.Sorted(maps.Keys(plan.Configs)) {
		changed := ""
		if slices.Contains(plan.Changed, name) {
			changed = "  (not as in the source)"
		}
		fmt.Fprintf(p.out, "  %s=%s%s\n", name, plan.Configs[name], changed)
	}
	if len(plan.Groups) > 0 {
		fmt.Fprintln(p.out)
	}
	for _, g := range plan.Groups {
		fmt.Fprintf(p.out, "group %s (%s)\n", g.Name, orDash(g.State))
		for _, o := range g.Offsets {
			fmt.Fprintf(p.out, "  partition %d at %d\n", o.Partition, o.Offset)
		}
	}
	for _, note := range plan.Notes {
		fmt.Fprintf(p.out, "\nnote: %s\n", note)
	}
	for _, problem := range plan.Problems {
		fmt.Fprintf(p.out, "\nproblem: %s\n", problem)
	}
	return nil
}

func (p migratePrinter) status(s *migrate.Status) error {
	if p.json {
		return printJSON(p.out, s)
	}
	fmt.Fprintf(p.out, "topic %s to %s: %s, the last one since %s; %s\n", s.Source, s.Target, count(s.Runs, "run"), s.LastRun.Format(time.RFC3339), count(int(s.Rounds), "round"))
	rows := [][]string{{"partition", "from", "copied to", "log end", "behind"}}
	behind := int64(0)
	for _, one := range s.Copied {
		behind += one.Behind
		rows = append(rows, []string{number(&one.Partition), number(&one.From), number(&one.Copied), number(&one.End), number(&one.Behind)})
	}
	if err := p.table(rows); err != nil {
		return err
	}
	if s.Cutover == nil {
		fmt.Fprintln(p.out, "not cut over")
		return nil
	}
	fmt.Fprintf(p.out, "cut over on %s; groups taken along: %s\n", s.Cutover.Format(time.RFC3339), orDash(strings.Join(s.Groups, ", ")))
	if behind > 0 {
		fmt.Fprintf(p.out, "%d offsets of %s were written after the cutover and are not in %s\n", behind, s.Source, s.Target)
	}
	return nil
}

func (p migratePrinter) checked(checked []migrate.Checked) error {
	if p.json {
		return printJSON(p.out, checked)
	}
	rows := [][]string{{"partition", "compared", "gone from source", "gone from target", "wrong", "source sha256", "target sha256"}}
	for _, c := range checked {
		rows = append(rows, []string{number(&c.Partition), number(&c.Records), number(&c.SourceGone), number(&c.TargetGone), number(&c.Wrong), c.Source[:16], c.Target[:16]})
	}
	return p.table(rows)
}

func (p migratePrinter) cutover(r *migrate.CutoverResult, from, to string) error {
	if p.json {
		return printJSON(p.out, r)
	}
	if len(r.Checked) > 0 {
		if err := p.checked(r.Checked); err != nil {
			return err
		}
	}
	if r.At.IsZero() {
		return nil
	}
	rows := [][]string{{"group", "partition", "offset", "read again"}}
	for _, g := range r.Groups {
		if len(g.Offsets) == 0 {
			rows = append(rows, []string{g.Name, "-", "-", "-"})
		}
		for _, o := range g.Offsets {
			rows = append(rows, []string{g.Name, number(&o.Partition), number(&o.Offset), number(&o.Again)})
		}
	}
	if len(rows) > 1 {
		fmt.Fprintln(p.out)
		if err := p.table(rows); err != nil {
			return err
		}
	}
	for _, g := range r.Groups {
		if g.Done != "translated" {
			fmt.Fprintf(p.out, "group %s: %s\n", g.Name, g.Done)
		}
	}
	source, target := r.Source, r.Target
	if from != to {
		source, target = source+" at "+from, target+" at "+to
	}
	fmt.Fprintf(p.out, "\ncut over on %s: producers and consumers go on with %s; %s stays until it is deleted\n", r.At.Format(time.RFC3339), target, source)
	return nil
}

package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/twmb/franz-go/pkg/kadm"
)

// groupDone is what happened to one group: something was done, or an error.
type groupDone struct {
	Group string `json:"group"`
	Done  string `json:"done,omitempty"`
	Error string `json:"error,omitempty"`
}

// resetOffset is one partition of a reset.
type resetOffset struct {
	Group     string `json:"group"`
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Committed *int64 `json:"current_offset"` // nil: nothing is committed
	Offset    int64  `json:"new_offset"`
	Note      string `json:"note,omitempty"` // why the offset is not the one that was asked for
}

// offsetDeletion is one partition of --delete-offsets.
type offsetDeletion struct {
	Group     string `json:"group"`
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Done      string `json:"done,omitempty"`
	Error     string `json:"error,omitempty"`
}

// groupsPrinter prints for people and scripts of kafka-consumer-groups, with its columns, or with json for programs.
type groupsPrinter struct {
	out, err      io.Writer
	json, verbose bool
}

// table prints lines of cells below each other.
func (p groupsPrinter) table(rows [][]string) error {
	w := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	return w.Flush()
}

// done tells what was done, and gives back the errors, which are for programs here; people find them below.
func (p groupsPrinter) done(all []groupDone, problems []error) error {
	if p.json {
		return errors.Join(append(problems, printJSON(p.out, all))...)
	}
	for _, d := range all {
		if d.Error == "" {
			fmt.Fprintf(p.out, "group %s %s\n", d.Group, d.Done)
		}
	}
	return errors.Join(problems...)
}

func (p groupsPrinter) list(groups []kadm.ListedGroup, kinds, states bool) error {
	if p.json {
		list := []map[string]any{}
		for _, g := range groups {
			list = append(list, map[string]any{"group": g.Group, "type": strings.ToLower(g.GroupType), "state": g.State, "protocol_type": g.ProtocolType, "coordinator_id": g.Coordinator})
		}
		return printJSON(p.out, list)
	}
	row := func(group, kind, state string) []string {
		cells := []string{group}
		if kinds {
			cells = append(cells, kind)
		}
		if states {
			cells = append(cells, state)
		}
		return cells
	}
	var rows [][]string
	if kinds || states {
		rows = append(rows, row("GROUP", "TYPE", "STATE"))
	}
	for _, g := range groups {
		kind := spelled(g.GroupType, groupTypes)
		if kind == "" {
			kind = orDash(g.GroupType)
		}
		rows = append(rows, row(g.Group, kind, orDash(g.State)))
	}
	return p.table(rows)
}

// reset prints a plan, or what was done. Several groups make CSV with a column for them.
func (p groupsPrinter) reset(offsets []resetOffset, f *resetFlags, several bool) error {
	if p.json {
		return printJSON(p.out, map[string]any{"executed": f.execute, "offsets": offsets})
	}
	for _, o := range offsets {
		if o.Note != "" {
			fmt.Fprintf(p.err, "group %s, %s-%d: offset %d, %s\n", o.Group, o.Topic, o.Partition, o.Offset, o.Note)
		}
	}
	switch {
	case len(offsets) == 0:
		return nil
	case f.export:
		return p.export(offsets, several)
	}
	rows := [][]string{{"GROUP", "TOPIC", "PARTITION", "NEW-OFFSET"}}
	for _, o := range offsets {
		rows = append(rows, []string{o.Group, o.Topic, number(&o.Partition), number(&o.Offset)})
	}
	if err := p.table(rows); err != nil {
		return err
	}
	if !f.execute && !f.dryRun {
		fmt.Fprintln(p.err, "nothing was changed: --execute resets the offsets")
	}
	return nil
}

func (p groupsPrinter) export(offsets []resetOffset, several bool) error {
	w := csv.NewWriter(p.out)
	for _, o := range offsets {
		line := []string{o.Group, o.Topic, number(&o.Partition), number(&o.Offset)}
		if !several {
			line = line[1:]
		}
		if err := w.Write(line); err != nil {
			return err
		}
	}
	w.Flush()
	return w.Error()
}

func (p groupsPrinter) deletedOffsets(deleted []offsetDeletion) error {
	if p.json {
		return printJSON(p.out, deleted)
	}
	rows := [][]string{{"TOPIC", "PARTITION", "STATUS"}}
	for _, d := range deleted {
		status := "Successful"
		if d.Error != "" {
			status = "Error: " + d.Error
		}
		rows = append(rows, []string{d.Topic, number(&d.Partition), status})
	}
	return p.table(rows)
}

// orDash is what tables show instead of nothing.
func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

func number[T int32 | int64](n *T) string {
	if n == nil {
		return "-"
	}
	return strconv.FormatInt(int64(*n), 10)
}

func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return strconv.Itoa(n) + " " + what
}

// sortedSet returns each text once, in order.
func sortedSet(texts []string) []string {
	set := map[string]bool{}
	for _, t := range texts {
		set[t] = true
	}
	return slices.Sorted(maps.Keys(set))
}

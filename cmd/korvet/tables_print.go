package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/korvet-io/korvet/internal/iceberg/tables"
	"github.com/korvet-io/korvet/internal/inspect"
)

// tablesPrinter prints what korvet tables found.
type tablesPrinter struct {
	out  io.Writer
	json bool
}

// tableDescription is a table with its snapshots and files.
type tableDescription struct {
	*inspect.Table
	History []snapshotDescription `json:"history"`
	Data    []inspect.File        `json:"data"`
}

type snapshotDescription struct {
	ID        int64             `json:"id"`
	Parent    int64             `json:"parent,omitempty"`
	At        int64             `json:"at"` // ms
	Operation string            `json:"operation"`
	Current   bool              `json:"current"`
	Own       bool              `json:"own"` // the storage worker's
	Summary   map[string]string `json:"summary"`
}

func (p tablesPrinter) list(list []*inspect.Table) error {
	if p.json {
		if list == nil {
			list = []*inspect.Table{}
		}
		return printJSON(p.out, list)
	}
	w := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "TABLE\tTOPIC\tSTATE\tPARTITIONS\tFILES\tROWS\tBYTES\tSNAPSHOTS\tNOT COPIED\tLOCATION")
	for _, t := range list {
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%d\t%s\t%d\t%s\t%s\n", orDash(t.Name), orDash(t.Topic), t.State, len(t.Partitions), t.Files, t.Rows,
			sizeText(t.Bytes), t.Snapshots, lagOf(t), orDash(t.Location))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return p.problems(list)
}

// problems are told below what is printed of tables.
func (p tablesPrinter) problems(list []*inspect.Table) error {
	var err error
	for _, t := range list {
		if t.Problem != "" {
			_, err = fmt.Fprintf(p.out, "%s: %s\n", t.Name, t.Problem)
		}
		for _, part := range t.Partitions {
			if part.Log != nil && part.Log.Problem != "" {
				_, err = fmt.Fprintf(p.out, "%s, partition %d: %s\n", t.Name, part.Partition, part.Log.Problem)
			}
		}
	}
	return err
}

// lagOf is what of a topic's log is not in its table.
func lagOf(t *inspect.Table) string {
	var records, bytes, ms int64
	known := false
	for _, p := range t.Partitions {
		if p.Log == nil {
			continue
		}
		known = true
		records, bytes, ms = records+p.Log.Lag, bytes+p.Log.LagBytes, max(ms, p.Log.LagMs)
	}
	if !known {
		return "-"
	}
	return lagText(records, bytes, ms)
}

func lagText(records, bytes, ms int64) string {
	if records == 0 {
		return "0"
	}
	return fmt.Sprintf("%d, %s, %s old", records, sizeText(bytes), (time.Duration(ms) * time.Millisecond).Round(time.Second))
}

func (p tablesPrinter) describe(list []*inspect.Table) error {
	all := []tableDescription{}
	for _, t := range list {
		d := tableDescription{Table: t, History: []snapshotDescription{}, Data: t.DataFiles()}
		for _, s := range t.History() {
			d.History = append(d.History, snapshotDescription{ID: s.ID, Parent: s.Parent, At: s.AtMs, Operation: s.Operation, Current: s.Current, Own: s.Own, Summary: s.Summary})
		}
		all = append(all, d)
	}
	if p.json {
		return printJSON(p.out, all)
	}
	for i, d := range all {
		if i > 0 {
			fmt.Fprintln(p.out)
		}
		if err := p.one(&d); err != nil {
			return err
		}
	}
	return nil
}

func (p tablesPrinter) one(d *tableDescription) error {
	fmt.Fprintf(p.out, "table %s, %s: topic %s, id %s\n%s\n", orDash(d.Name), d.State, orDash(d.Topic), d.TopicID, orDash(d.Location))
	fmt.Fprintf(p.out, "metadata v%d, %s, changed %s, %s, fence %d\n", d.Version, sizeText(int64(d.MetadataBytes)), when(d.UpdatedMs), count(d.Snapshots, "snapshot"), d.Fence)
	fmt.Fprintf(p.out, "%s, %d rows, %s; %s of deletes\n\n", count(d.Files, "data file"), d.Rows, sizeText(d.Bytes), count(d.DeleteFiles, "file"))
	w := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "PARTITION\tFILES\tROWS\tBYTES\tTABLE\tCOPIED TO\tLOG START\tLOCAL START\tTIERED END\tLOG END\tNOT COPIED")
	for _, part := range d.Partitions {
		fmt.Fprintf(w, "%d\t%d\t%d\t%s\t%s\t%d\t%s\n", part.Partition, part.Files, part.Rows, sizeText(part.Bytes), span(part.First, part.Last), part.End, logCells(part.Log))
	}
	fmt.Fprintln(w, "\nSNAPSHOT\tAT\tOPERATION\tBY\tADDED\tREMOVED\tOFFSETS\t")
	for _, s := range d.History {
		by := "engine"
		if s.Own {
			by = "korvet"
		}
		mark := ""
		if s.Current {
			mark = "  <- current"
		}
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", s.ID, when(s.At), s.Operation, by, changed(s.Summary, "added"), changed(s.Summary, "deleted"), ranges(s.Summary), mark)
	}
	fmt.Fprintln(w, "\nFILE\tOFFSETS\tROWS\tBYTES\tTIMES")
	for _, f := range d.Data {
		rows, times := fmt.Sprint(f.Rows), "-"
		if f.Deletes {
			rows = "deletes"
		}
		if f.From != 0 || f.To != 0 {
			times = when(f.From) + " to " + when(f.To)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", within(f.Location, d.Location), span(f.First, f.Last), rows, sizeText(f.Bytes), times)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return p.problems([]*inspect.Table{d.Table})
}

func logCells(l *inspect.Log) string {
	if l == nil {
		return "-\t-\t-\t-\t-"
	}
	return fmt.Sprintf("%d\t%d\t%d\t%d\t%s", l.Start, l.LocalStart, l.TieredEnd, l.End, lagText(l.Lag, l.LagBytes, l.LagMs))
}

// changed is what a snapshot's summary says of files and records.
func changed(summary map[string]string, what string) string {
	files, records := summary[what+"-data-files"], summary[what+"-records"]
	if files == "" && records == "" {
		return "-"
	}
	return fmt.Sprintf("%s files, %s rows", orZero(files), orZero(records))
}

func orZero(text string) string {
	if text == "" {
		return "0"
	}
	return text
}

// ranges are the offsets that a copying snapshot brought, by partition.
func ranges(summary map[string]string) string {
	list := tables.Ranges(summary)
	if len(list) == 0 {
		return "-"
	}
	const most = 3
	if len(list) > most {
		list = append(list[:most:most], fmt.Sprintf("%d more", len(list)-most))
	}
	return strings.Join(list, " ")
}

func span(first, last int64) string {
	if last < first || last < 0 {
		return "-"
	}
	return fmt.Sprintf("%d-%d", first, last)
}

func when(ms int64) string {
	if ms == 0 {
		return "-"
	}
	return time.UnixMilli(ms).UTC().Format(time.RFC3339)
}

// sizeText is a number of bytes for people.
func sizeText(n int64) string {
	const unit = 1024
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	value, at := float64(n)/unit, 0
	for value >= unit && at < 4 {
		value, at = value/unit, at+1
	}
	return fmt.Sprintf("%.1f %cB", value, "KMGTP"[at])
}

func (p tablesPrinter) verified(reports []*inspect.Report) error {
	if p.json {
		return printJSON(p.out, reports)
	}
	var err error
	for _, r := range reports {
		for _, h := range r.Holes {
			fmt.Fprintf(p.out, "%s, partition %d: no records at offsets %d to %d: %s\n", r.Table, h.Partition, h.From, h.To-1, h.Cause)
		}
		for _, one := range r.Problems {
			place := r.Table
			if one.Partition >= 0 {
				place = fmt.Sprintf("%s, partition %d", r.Table, one.Partition)
			}
			if one.File != "" {
				place += ", " + one.File
			}
			fmt.Fprintf(p.out, "PROBLEM %s: %s\n", place, one.What)
		}
		if r.More > 0 {
			fmt.Fprintf(p.out, "and %d more\n", r.More)
		}
		_, err = fmt.Fprintf(p.out, "%s: %s and %d rows read (%s), %d rows deleted, %d records compared with Redis, %s, %s\n", r.Table, count(r.Files, "file"), r.Rows,
			sizeText(r.Bytes), r.Deleted, r.Compared, count(len(r.Holes), "hole"), count(len(r.Problems), "problem"))
	}
	return err
}

// within is a file's location below its table's. Engines of Java write file:/directory, not file:///directory.
func within(location, table string) string {
	if rest, ok := strings.CutPrefix(location, "file:/"); ok && !strings.HasPrefix(rest, "/") {
		location = "file:///" + rest
	}
	return strings.TrimPrefix(location, table+"/")
}

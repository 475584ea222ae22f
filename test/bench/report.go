package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/korvet-io/korvet/test/bench/stats"
)

// result is the JSON file of a run.
type result struct {
	At      time.Time `json:"at"`
	Machine machine   `json:"machine"`
	Options *options  `json:"options"`
	Figures []figure  `json:"figures"`
	Targets []target  `json:"targets"`
	Notes   []string  `json:"notes,omitempty"`
}

type figure struct {
	subject
	stats.Summary
	Values []float64 `json:"values"`
}

// machine is where the figures come from.
type machine struct {
	Cores     int    `json:"cores"`
	Processor string `json:"processor"`
	Kernel    string `json:"kernel"`
	Go        string `json:"go"`
	Redis     string `json:"redis"`
}

// report prints the table and writes the JSON file.
func (r *runner) report(out io.Writer) error {
	res := result{At: r.began, Machine: thisMachine(r.options.redis), Options: r.options, Targets: judge(r.samples), Notes: r.notes}
	for _, of := range r.samples.order {
		summary, _ := r.samples.summary(of)
		res.Figures = append(res.Figures, figure{of, summary, r.samples.values[of]})
	}
	fmt.Fprintf(out, "%d cores (%s), %s, %s\n", res.Machine.Cores, res.Machine.Processor, res.Machine.Go, res.Machine.Redis)
	fmt.Fprintf(out, "medians of %s ± half the spread; codec %s, acks %s, AOF %s\n", counted(r.Rounds, "round"), r.Codec, r.Acks, r.AOF)
	r.printFigures(out)
	printTargets(out, res.Targets)
	for _, note := range r.notes {
		fmt.Fprintln(out, "note:", note)
	}
	return r.writeJSON(out, res)
}

func (r *runner) printFigures(out io.Writer) {
	shapes := append(append([]scenario{{}}, r.groupScenarios()...), r.scenarios()...)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight|tabwriter.Debug)
	defer table.Flush()
	for _, metric := range metrics {
		if metric.detail && !r.details {
			continue
		}
		printed := false
		for _, shape := range shapes {
			if row := r.row(metric, shape); row != "" {
				if !printed {
					fmt.Fprintf(table, "\n%s\t%s\tkorvet/raw\tkorvet/kafka\t\n", metric.label, strings.Join(allSystems, "\t"))
					printed = true
				}
				fmt.Fprintln(table, row)
			}
		}
	}
}

// row shows a metric in a scenario, empty when nothing of it was measured.
func (r *runner) row(metric metric, shape scenario) string {
	medians := map[string]float64{}
	cells := []string{shape.String()}
	for _, system := range allSystems {
		summary, ok := r.samples.summary(subject{metric.name, system, shape})
		if !ok {
			cells = append(cells, "-")
			continue
		}
		medians[system] = summary.Median
		cells = append(cells, fmt.Sprintf("%s ±%2.0f%%", metric.unit.format(summary.Median), summary.Spread()*100))
	}
	if len(medians) == 0 {
		return ""
	}
	for _, other := range []string{"raw", "kafka"} {
		if ours, ok := medians["korvet"]; ok && medians[other] > 0 {
			cells = append(cells, fmt.Sprintf("%.2f", ours/medians[other]))
		} else {
			cells = append(cells, "-")
		}
	}
	return strings.Join(cells, "\t") + "\t"
}

func printTargets(out io.Writer, targets []target) {
	if len(targets) == 0 {
		return
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.Debug)
	defer table.Flush()
	fmt.Fprint(table, "\ntarget\twanted\tmeasured\t\n")
	for _, t := range targets {
		bound := "at most"
		if t.AtLeast {
			bound = "at least"
		}
		fmt.Fprintf(table, "%s\t%s %.3g %s\t%.3g\t%s\n", t.Name, bound, t.Wanted, t.Unit, t.Measured, t.verdict())
	}
}

func (r *runner) writeJSON(out io.Writer, res result) error {
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return fmt.Errorf("make folder of results: %w", err)
	}
	text, err := json.MarshalIndent(res, "", "  ")
	if err != nil {
		return fmt.Errorf("encode results: %w", err)
	}
	path := filepath.Join(r.out, r.began.Format("bench-20060102-150405.json"))
	if err := os.WriteFile(path, append(text, '\n'), 0o644); err != nil {
		return fmt.Errorf("write results: %w", err)
	}
	fmt.Fprintln(out, "\nwritten to", path)
	return nil
}

func thisMachine(redis string) machine {
	m := machine{Cores: runtime.NumCPU(), Go: runtime.Version(), Processor: "unknown processor", Redis: "no Redis"}
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(text)) {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				m.Processor = strings.TrimSpace(value)
				break
			}
		}
	}
	if text, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.Kernel = strings.TrimSpace(string(text))
	}
	if redis != "" {
		if text, err := exec.Command(redis, "--version").Output(); err == nil {
			m.Redis = strings.TrimSpace(string(text))
		}
	}
	return m
}

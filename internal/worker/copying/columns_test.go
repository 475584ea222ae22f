package copying_test

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/korvet-io/korvet/internal/iceberg/jsoncolumns"
	"github.com/korvet-io/korvet/internal/worker/tiertest"
	"github.com/korvet-io/korvet/internal/worker/workertest"
)

// addValues appends records of these values.
func addValues(p *workertest.Part, values ...string) {
	p.Helper()
	ms := p.Now()
	for page := range slices.Chunk(values, 1000) {
		for _, v := range page {
			p.Do("XADD", p.Keys.Stream, fmt.Sprintf("%d-%d", ms, p.Next), "value", v, "timestamp", "1")
			p.Next++
		}
	}
	p.Do("HSET", p.Keys.State("T"), "last", fmt.Sprintf("%d-%d", ms, p.Next-1))
}

// typed reads the typed columns of a partition's data files: one text a file of its columns' names and kinds, one a row.
func typed(c *tiertest.Rig, p *workertest.Part) (files, rows []string) {
	c.Helper()
	list, _ := c.Files(p)
	for _, f := range list {
		data := make([]byte, f.Bytes)
		if err := c.Plain.ReadRange(c.Context(), f.Location, data, 0); err != nil {
			c.Fatal(err)
		}
		file, err := parquet.OpenFile(bytes.NewReader(data), f.Bytes)
		if err != nil {
			c.Fatal(err)
		}
		var names []string
		for _, field := range file.Root().Columns()[7:] { // the fixed ones come first
			names = append(names, fmt.Sprintf("%d %s", field.ID(), field.Name()))
		}
		files = append(files, strings.Join(names, ", "))
		for _, row := range readRows(c, file) {
			var cells []string
			for _, v := range row {
				if v.Column() >= 8 && !v.IsNull() {
					_, name, _ := strings.Cut(names[v.Column()-8], " ")
					cells = append(cells, name+"="+v.String())
				}
			}
			rows = append(rows, strings.Join(cells, " "))
		}
	}
	return files, rows
}

func readRows(c *tiertest.Rig, file *parquet.File) (all []parquet.Row) {
	for _, g := range file.RowGroups() {
		rows := g.Rows()
		buf := make([]parquet.Row, g.NumRows())
		if n, _ := rows.ReadRows(buf); n != len(buf) {
			c.Fatalf("read %d of %d rows", n, len(buf))
		}
		for _, r := range buf {
			all = append(all, r.Clone())
		}
		_ = rows.Close()
	}
	return all
}

func newJSONRig(t *testing.T) (*tiertest.Rig, *workertest.Part) {
	c := tiertest.New(t)
	c.Set.JSON = jsoncolumns.Limits{Columns: 6, NameBytes: 20}
	return c, c.Tiered("flights", map[string]string{"remote.storage.iceberg.value.format": "json"})
}

func TestFieldsOfValuesAreColumnsFromTheRecordOnThatHasThemFirst(t *testing.T) {
	c, p := newJSONRig(t)
	const n = 8000 // pages of values, the first of which knows nothing of what comes late
	values, want := make([]string, n), make([]string, n)
	filler := strings.Repeat("x", 700)
	for i := range values {
		values[i] = fmt.Sprintf(`{"n":%d,"pad":["%s"]}`, i, filler)
		want[i] = fmt.Sprintf(`n=%d pad=["%s"]`, i, filler)
	}
	values[n-500], want[n-500] = `{"n":0.5,"late":"a"}`, "n_double=0.5 late=a"
	values[n-100], want[n-100] = `no JSON`, ""
	values[n-50], want[n-50] = `{"late":"b"}`, "late=b"
	addValues(p, values...)
	p.Seal()
	c.Tick()
	files, rows := typed(c, p)
	if want := []string{"11 n, 12 pad", "11 n, 12 pad, 13 n_double, 14 late"}; !slices.Equal(files, want) {
		t.Errorf("files with columns %q, want %q", files, want)
	}
	if list, _ := c.Files(p); len(list) == 2 && list[0].Last != n-501 {
		t.Errorf("the first file ends at %d, want %d", list[0].Last, n-501)
	}
	if !slices.Equal(rows, want) {
		t.Error("rows differ")
	}
	c.Holds(p, 0, n)
}

func TestColumnsStayOverTicksAndWhenTheFormatIsRawAgain(t *testing.T) {
	c, p := newJSONRig(t)
	step := func(format string, values ...string) {
		configs := maps.Clone(p.Topic.Configs)
		configs["remote.storage.iceberg.value.format"] = format
		p.Topic.Configs, p.Topic.Config = configs, p.Schema.Effective(p.Topic.Name, configs)
		addValues(p, values...)
		p.Seal()
		c.Tick()
	}
	step("json", `{"city":"Rome"}`)
	step("raw", `{"city":"Oslo"}`)
	step("json", `{"a":1,"b":2,"c":3,"d":4,"city":"Bern","e":5,"f":6,"g":7}`, `{"city":1,"f":1}`)
	files, rows := typed(c, p)
	if want := []string{"11 city", "", "11 city, 12 a, 13 b, 14 c, 15 d, 16 e"}; !slices.Equal(files, want) {
		t.Errorf("files with columns %q, want %q", files, want)
	}
	if want := []string{"city=Rome", "", "city=Bern a=1 b=2 c=3 d=4 e=5", ""}; !slices.Equal(rows, want) {
		t.Errorf("rows %q, want %q", rows, want)
	}
}

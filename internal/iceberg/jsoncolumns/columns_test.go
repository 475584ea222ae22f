package jsoncolumns

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/apache/iceberg-go"

	"github.com/korvet-io/korvet/internal/iceberg/datafile"
)

var usual = Limits{Columns: 100, NameBytes: 64}

func fixed(more ...iceberg.NestedField) *iceberg.Schema {
	p := iceberg.PrimitiveTypes
	list := []iceberg.NestedField{
		{ID: datafile.PartitionID, Name: "partition", Type: p.Int32, Required: true},
		{ID: datafile.OffsetID, Name: "offset", Type: p.Int64, Required: true},
		{ID: datafile.ValueID, Name: "value", Type: p.Binary},
	}
	return iceberg.NewSchema(0, append(list, more...)...)
}

// table is the schema that it has once a set's columns were added.
func table(s *Set) (*iceberg.Schema, int) {
	var more []iceberg.NestedField
	last := datafile.HeaderValueID
	for _, c := range s.Columns() {
		more = append(more, iceberg.NestedField{ID: c.ID, Name: c.Name, Type: c.Type(), Doc: c.Comment()})
		last = c.ID
	}
	return fixed(more...), last
}

func values(texts ...string) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for _, t := range texts {
			if !yield([]byte(t)) {
				return
			}
		}
	}
}

// shredded writes what the columns have of a value.
func shredded(s *Set, value string) string {
	sh := NewShredder(s.Columns())
	var out []string
	cells, _ := sh.Cells([]byte(value))
	for i, c := range cells {
		if !c.Valid {
			continue
		}
		switch sh.columns[i].Kind {
		case datafile.Double:
			out = append(out, fmt.Sprintf("%s=%v", sh.columns[i].Name, c.Float))
		case datafile.String:
			out = append(out, fmt.Sprintf("%s=%s", sh.columns[i].Name, c.Bytes))
		default:
			out = append(out, fmt.Sprintf("%s=%d", sh.columns[i].Name, c.Int))
		}
	}
	return strings.Join(out, " ")
}

func TestColumnsFollowTheValues(t *testing.T) {
	for _, c := range []struct {
		name          string
		learnt        []string // one call of Learn each; values in it are in lines
		columns       string
		value, answer string
	}{
		{"types", []string{`{"a":1,"b":true,"c":1.5,"d":"x","e":null}`}, "a long, b boolean, c double, d string", `{"d":"é\n","c":-0.5,"b":false,"a":-7}`, "a=-7 b=0 c=-0.5 d=é\n"},
		{"whole and broken numbers in one look", []string{"{\"a\":1}\n{\"a\":2.5}"}, "a double", `{"a":3}`, "a=3"},
		{"broken numbers later", []string{`{"a":1}`, `{"a":2.5}`}, "a long, a_double double", `{"a":2.5}`, "a_double=2.5"},
		{"whole numbers stay where they were", []string{`{"a":1}`, `{"a":2.5}`}, "a long, a_double double", `{"a":3}`, "a=3"},
		{"whole numbers after broken ones", []string{`{"a":2.5}`, `{"a":1}`}, "a double", `{"a":3}`, "a=3"},
		{"whole numbers beyond a double", []string{`{"a":2.5}`, `{"a":9007199254740993}`}, "a double, a_long long", `{"a":9007199254740993}`, "a_long=9007199254740993"},
		{"they do not take others along", []string{`{"a":2.5}`, `{"a":9007199254740993}`}, "a double, a_long long", `{"a":7}`, "a=7"},
		{"numbers beyond all columns", []string{`{"a":18446744073709551616,"b":1e999,"c":1}`}, "c long", `{"a":18446744073709551616,"c":1e2}`, ""},
		{"two kinds", []string{"{\"a\":\"x\"}\n{\"a\":1}"}, "a long, a_string string", `{"a":"y"}`, "a_string=y"},
		{"all kinds in one look", []string{"{\"a\":{}}\n{\"a\":\"x\"}\n{\"a\":1.5}\n{\"a\":true}"}, "a boolean, a_double double, a_string string, a_json json", `{"a":[2]}`, "a_json=[2]"},
		{"a later kind is never the plain one", []string{`{"a":"x"}`, `{"a":true}`}, "a string, a_boolean boolean", `{"a":false}`, "a_boolean=0"},
		{"nested values are JSON text", []string{`{"a":{"b":[1, "}"]},"c":["]\"",{}],"d":[]}`}, "a json, c json, d json", `{"a" : {"b":[1, "}"]} ,"c":["]\"",{}], "d":[]}`, `a={"b":[1, "}"]} c=["]\"",{}] d=[]`},
		{"fixed columns keep their names", []string{`{"value":1,"Offset":2,"_file":"x","timestamp":"now","kafka_partition":0}`},
			"value_value long, value_Offset long, value__file string, value_timestamp string, value_kafka_partition long", `{"Offset":9}`, "value_Offset=9"},
		{"case", []string{`{"City":1,"city":"x"}`}, "City long, city_2 string", `{"City":2,"city":"Rome"}`, "City=2 city_2=Rome"},
		{"unusual names", []string{`{"a.b":1,"a b":2,"":3,"größe":4,"日本":5,"a\u0000":6,"2fa":true}`}, "a_b long, a_b_2 long, größe long, 日本 long, a_ long, 2fa boolean", `{"a b":7,"":8}`, "a_b_2=7"},
		{"a suffix that is a name already", []string{`{"a":1,"a_string":2}`, `{"a":"x"}`}, "a long, a_string long, a_string_2 string", `{"a":"y"}`, "a_string_2=y"},
		{"escaped names", []string{`{"\u0061":1}`}, "a long", `{"a":7}`, "a=7"},
		{"long names", []string{`{"` + strings.Repeat("n", 65) + `":1}`}, "", `{}`, ""},
		{"the last of two", []string{`{"a":1,"a":"x"}`}, "a long, a_string string", `{"a":"x","a":2}`, "a=2"},
		{"no object", []string{"1\n[{\"a\":1}]\n\n{\"a\":1\n{\"a\":1}}\n{\"a\":NaN}\n\"a\"\nnull"}, "", `{"a":1}`, ""},
		{"blanks", []string{"  {\t\"a\" : 1 , \"b\":\r[ ] } "}, "a long, b json", `{ "b" : {} , "a" : 2 }`, "a=2 b={}"},
		{"no UTF-8", []string{"{\"a\":\"\xff\",\"b\xff\":1,\"c\":[\"\xff\"],\"d\":\"\\ud800\",\"e\":\"\\ud83d\\ude00\"}"}, "e string", "{\"e\":\"\xff\"}", ""},
		{"half surrogates", []string{`{"a":"x"}`}, "a string", `{"a":"\ud83dx"}`, ""},
		{"whole surrogates", []string{`{"a":"x"}`}, "a string", `{"a":"\\ud800 \ud83d\ude00"}`, `a=\ud800 😀`},
		{"only null", []string{`{"a":null}`}, "", `{"a":null}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := NewSet(fixed(), datafile.HeaderValueID, usual)
			for i, l := range c.learnt {
				grown := s.Learn(values(strings.Split(l, "\n")...))
				if grown != (c.columns != "" && (i == 0 || strings.Contains(c.columns, ","))) && c.name != "whole numbers after broken ones" {
					t.Errorf("look %d told %v of new columns", i, grown)
				}
				if s.Learn(values(strings.Split(l, "\n")...)) {
					t.Errorf("look %d: the same again made new columns: %s", i, s)
				}
			}
			if got := s.String(); got != c.columns {
				t.Errorf("columns are\n%s, want\n%s", got, c.columns)
			}
			if _, fits := NewShredder(s.Columns()).Cells([]byte(c.value)); fits != (c.columns != "" && c.name != "numbers beyond all columns" && c.name != "unusual names") {
				t.Errorf("%s fits: %v", c.value, fits)
			}
			if got := shredded(s, c.value); got != c.answer {
				t.Errorf("%s has\n%s, want\n%s", c.value, got, c.answer)
			}
			schema, last := table(s)
			again := NewSet(schema, last, usual)
			if got, want := names(again.Columns()), names(s.Columns()); !reflect.DeepEqual(got, want) {
				t.Errorf("the table's columns are read as\n%v, want\n%v", got, want)
			}
		})
	}
}

func names(columns []Column) []Column {
	list := slices.Clone(columns)
	for i := range list {
		list[i].New = false
	}
	return list
}

func TestColumnsOfATableComeFirst(t *testing.T) {
	s := NewSet(fixed(), datafile.HeaderValueID, usual)
	s.Learn(values(`{"a":1,"b":"x"}`))
	schema, last := table(s)
	s = NewSet(schema, last+5, usual) // an engine's columns were there
	if !s.Learn(values(`{"c":1,"b":"y","a":1.5}`)) {
		t.Fatal("no new columns")
	}
	var got []string
	for _, c := range s.Columns() {
		got = append(got, fmt.Sprintf("%d %s %v", c.ID, c.Name, c.New))
	}
	if want := []string{"11 a false", "12 b false", "18 c true", "19 a_double true"}; !slices.Equal(got, want) {
		t.Errorf("columns %v, want %v", got, want)
	}
}

func TestColumnsOfEnginesAreLeftAlone(t *testing.T) {
	p := iceberg.PrimitiveTypes
	s := NewSet(fixed(
		iceberg.NestedField{ID: 11, Name: "a", Type: p.String, Doc: "an engine's"},
		iceberg.NestedField{ID: 12, Name: "b", Type: p.Int64, Required: true, Doc: valueComment + `"b"`},
		iceberg.NestedField{ID: 13, Name: "c", Type: p.Date, Doc: valueComment + `"c"`},
		iceberg.NestedField{ID: 14, Name: "renamed", Type: p.Int64, Doc: valueComment + `"d"`},
		iceberg.NestedField{ID: 15, Name: "twice", Type: p.Int64, Doc: valueComment + `"d"`},
	), 15, usual)
	s.Learn(values(`{"a":1,"b":2,"c":3,"d":4}`))
	if got := s.String(); got != "renamed long, a_2 long, b_2 long, c_2 long" {
		t.Errorf("columns %s", got)
	}
}

func TestColumnsEndAtTheirLimit(t *testing.T) {
	s := NewSet(fixed(), datafile.HeaderValueID, Limits{Columns: 3, NameBytes: 64})
	for i := range 100 {
		s.Learn(values(fmt.Sprintf(`{"f%d":1,"g%d":2}`, i, i)))
	}
	if got := s.String(); got != "f0 long, g0 long, f1 long" || len(s.fields) > 4 {
		t.Errorf("columns %s; %d fields are kept", got, len(s.fields))
	}
}

func TestDeepValuesAreNoRiskToTheStack(t *testing.T) {
	s := NewSet(fixed(), datafile.HeaderValueID, usual)
	s.Learn(values(strings.Repeat(`{"a":`, 1_000_000), `{"b":`+strings.Repeat("[", 900)+strings.Repeat("]", 900)+"}"))
	if got := s.String(); got != "b json" {
		t.Errorf("columns %s", got)
	}
}

// FuzzSkip compares what is JSON with what encoding/json says.
func FuzzSkip(f *testing.F) {
	for _, seed := range []string{`{"a":[1,-0.5e+7,{"c":"}\u00e9\n"}],"b":null}`, `01`, `-`, `1.`, `"\x"`, `[1,]`, `{"a" 1}`, "tru", `{"a":1,}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		end := skipValue(value, skipSpace(value, 0), 0)
		if got := end >= 0 && skipSpace(value, end) == len(value); got != json.Valid(value) && bytes.Count(value, []byte("["))+bytes.Count(value, []byte("{")) < mostDepth {
			t.Fatalf("%q is valid JSON: %v", value, !got)
		}
	})
}

// FuzzCells compares with what encoding/json makes of a value.
func FuzzCells(f *testing.F) {
	for _, seed := range []string{`{"a":1,"b":[1,{"c":"}"}],"d":"\ud83d\ude00\\","e":1e3}`, `{"a":"\ud800"}`, ` {"a" :null , "a":true}`, `[]`, "{\"\xff\":1}", `{"":0}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		s := NewSet(fixed(), datafile.HeaderValueID, usual)
		s.Learn(values(string(value)))
		var want map[string]json.RawMessage
		if json.Unmarshal(value, &want) != nil {
			want = nil
		}
		sh := NewShredder(s.Columns())
		cells, _ := sh.Cells(value)
		for i, c := range cells {
			if !c.Valid {
				continue
			}
			column := sh.columns[i]
			raw, ok := want[column.Field]
			if !ok {
				t.Fatalf("%q: a column of %q, which is not there", value, column.Field)
			}
			check(t, raw, column, c)
		}
	})
}

func check(t *testing.T, raw []byte, column Column, c datafile.Cell) {
	var got any
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	var want any
	switch column.Kind {
	case datafile.Bool:
		want = c.Int == 1
	case datafile.Long:
		if fmt.Sprint(c.Int) != string(raw) && string(raw) != "-0" {
			t.Fatalf("%s: %d, want %s", column.Name, c.Int, raw)
		}
		return
	case datafile.Double:
		want = c.Float
		if math.IsNaN(c.Float) || math.IsInf(c.Float, 0) {
			t.Fatalf("%s: %v", column.Name, c.Float)
		}
	case datafile.String:
		if !utf8.Valid(c.Bytes) {
			t.Fatalf("%s: %q is no UTF-8", column.Name, c.Bytes)
		}
		want = string(c.Bytes)
		if column.Unbounded {
			got = string(raw)
		}
	}
	if got != want {
		t.Fatalf("%s: %v, want %v", column.Name, want, got)
	}
}

func BenchmarkCells(b *testing.B) {
	value := []byte(`{"order":12345,"state":"paid","currency":"EUR","customer":"c-7919","lines":[{"sku":"A-3","q":2}]}`)
	s := NewSet(fixed(), datafile.HeaderValueID, usual)
	s.Learn(values(string(value)))
	b.Run("learn", func(b *testing.B) {
		for b.Loop() {
			s.Learn(values(string(value)))
		}
	})
	b.Run("valid of encoding/json", func(b *testing.B) {
		for b.Loop() {
			json.Valid(value)
		}
	})
	sh := NewShredder(s.Columns())
	b.Run("cells", func(b *testing.B) {
		for b.Loop() {
			sh.Cells(value)
		}
	})
}

func TestPartitionsThatLearnSideBySideAgree(t *testing.T) {
	s := NewSet(fixed(), datafile.HeaderValueID, usual)
	var all sync.WaitGroup
	for p := range 4 {
		all.Go(func() {
			for i := range 50 {
				s.Learn(values(fmt.Sprintf(`{"f%d":%d,"own%d":true}`, i%20, i, p)))
				sh := NewShredder(s.Columns())
				if _, fits := sh.Cells(fmt.Appendf(nil, `{"f%d":1,"own%d":false}`, i%20, p)); !fits {
					t.Errorf("partition %d: what it has learnt does not fit", p)
				}
			}
		})
	}
	all.Wait()
	ids, fields := map[int]bool{}, map[string]bool{}
	for _, c := range s.Columns() {
		ids[c.ID], fields[c.Field] = true, true
	}
	if len(s.Columns()) != 24 || len(ids) != 24 || len(fields) != 24 {
		t.Errorf("columns %s", s)
	}
}

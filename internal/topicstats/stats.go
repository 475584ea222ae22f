// Package topicstats tells what each codec at rest would make of a topic's values: bytes, time and Redis memory. It
// measures; where the records come from is its caller's business.
package topicstats

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/korvet-io/korvet/internal/compress"
)

// Record is a record of the topic, as it would be stored.
type Record struct {
	Key, Value []byte // nil: null
	Headers    []byte // the header section of record format v2; nil: none
	Offset     int64
	Timestamp  int64 // ms
	Stamped    bool  // by the broker: the timestamp is the append time, and no field
}

// Row is what one way of storing values comes to. Times are medians.
type Row struct {
	Codec        string  `json:"codec"`
	Dictionary   bool    `json:"dictionary"`
	StoredBytes  float64 `json:"stored_bytes"`          // of a value, on average
	Ratio        float64 `json:"ratio"`                 // the value's bytes by those
	CompressUs   float64 `json:"compress_us"`           // of a value
	DecompressUs float64 `json:"decompress_us"`         // of a value
	RedisBytes   float64 `json:"redis_bytes,omitempty"` // memory of a record with all its fields; 0: not measured
	Present      bool    `json:"present"`               // the topic's own
}

// Name is the codec as people write it.
func (r Row) Name() string {
	if r.Dictionary {
		return r.Codec + " + dictionary"
	}
	return r.Codec
}

// DictionaryBytes is the size of the dictionary that is trained: that of a topic's own.
const DictionaryBytes = 32 << 10

// ErrNoValues means that there is nothing to measure.
var ErrNoValues = errors.New("none of the records has a value")

// Method is one way of storing values.
type Method struct {
	Codec      compress.Codec
	Dictionary *compress.Dictionary
}

// Split returns the records that a dictionary is trained on, and those that are measured, alternately: values that a
// dictionary has seen would flatter it.
func Split(records []Record) (training, measured []Record) {
	for i, r := range records {
		if i%2 == 0 {
			training = append(training, r)
		} else {
			measured = append(measured, r)
		}
	}
	if len(measured) == 0 {
		measured = training
	}
	return training, measured
}

// Methods are all codecs, and zstd with a dictionary of the training records where one can be made.
func Methods(training []Record) ([]Method, error) {
	methods := []Method{{Codec: compress.None}, {Codec: compress.Gzip}, {Codec: compress.Snappy}, {Codec: compress.LZ4}, {Codec: compress.Zstd}}
	var values [][]byte
	for _, r := range training {
		values = append(values, r.Value)
	}
	blob, err := compress.Train(values, DictionaryBytes, 1)
	if errors.Is(err, compress.ErrUntrainable) {
		return methods, nil
	}
	if err != nil {
		return nil, fmt.Errorf("train dictionary: %w", err)
	}
	dictionary, err := compress.NewDictionary(blob)
	if err != nil {
		return nil, fmt.Errorf("read trained dictionary: %w", err)
	}
	return append(methods, Method{Codec: compress.Zstd, Dictionary: dictionary}), nil
}

// warmUp is how many values each codec sees before it is timed.
const warmUp = 50

// Measure stores and reads the values of records. now is the clock.
func Measure(m Method, records []Record, now func() time.Time) (Row, error) {
	row := Row{Codec: m.Codec.String(), Dictionary: m.Dictionary != nil}
	var raw, stored int
	var compressing, decompressing []time.Duration
	var frame, back []byte
	for i := -min(warmUp, len(records)); i < len(records); i++ {
		value := records[max(i, -i-1)].Value
		if value == nil {
			continue
		}
		begin := now()
		frame = m.Codec.Append(frame[:0], value, m.Dictionary)
		middle := now()
		var err error
		back, err = m.Codec.Decode(back[:0], frame, len(value), m.Dictionary)
		end := now()
		if err != nil || !bytes.Equal(back, value) {
			return row, fmt.Errorf("%s: a value of %d bytes does not come back: %w", row.Name(), len(value), err)
		}
		if i < 0 {
			continue
		}
		raw, stored = raw+len(value), stored+len(frame)
		compressing, decompressing = append(compressing, middle.Sub(begin)), append(decompressing, end.Sub(middle))
	}
	if len(compressing) == 0 {
		return row, ErrNoValues
	}
	row.StoredBytes = float64(stored) / float64(len(compressing))
	row.Ratio = float64(raw) / float64(max(1, stored))
	row.CompressUs, row.DecompressUs = medianUs(compressing), medianUs(decompressing)
	return row, nil
}

func medianUs(all []time.Duration) float64 {
	slices.Sort(all)
	return float64(all[len(all)/2]) / float64(time.Microsecond)
}

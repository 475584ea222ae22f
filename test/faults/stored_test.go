package faults

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/korvet-io/korvet/internal/redistest"
	"github.com/korvet-io/korvet/test/faults/checker"
	"github.com/korvet-io/korvet/test/faults/load"
	"github.com/redis/rueidis"
	"github.com/twmb/franz-go/pkg/kgo"
)

// stored reads a partition's stream from Redis itself, as docs/redis.md describes it, and not through the broker.
func stored(t *testing.T, s *redistest.Server, topic string, partition int32) checker.View {
	t.Helper()
	v := checker.View{Consumer: "redis", Partition: partition, Complete: true}
	client := s.Client()
	key := fmt.Sprintf("korvet:storage:local:%s:%d", topic, partition)
	for from := "-"; ; {
		entries, err := client.Do(t.Context(), client.B().Xrange().Key(key).Start(from).End("+").Count(1000).Build()).AsXRangeSlices()
		if err != nil {
			t.Fatalf("read %s: %v", key, err)
		}
		for _, e := range entries {
			r, err := storedRecord(e)
			if err != nil {
				t.Fatalf("read entry %s of %s: %v", e.ID, key, err)
			}
			v.Entries = append(v.Entries, load.Entry(r))
			from = "(" + e.ID
		}
		if len(entries) == 0 {
			return v
		}
	}
}

func storedRecord(e rueidis.XRangeSlice) (*kgo.Record, error) {
	_, seq, _ := strings.Cut(e.ID, "-")
	offset, err := strconv.ParseInt(seq, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("parse sequence: %w", err)
	}
	r := &kgo.Record{Offset: offset}
	for _, f := range e.FieldValues {
		switch f.Field {
		case "value":
			r.Value = []byte(f.Value)
		case "key":
			r.Key = []byte(f.Value)
		case "headers":
			r.Headers, err = storedHeaders([]byte(f.Value))
		case "timestamp":
			var ms int64
			ms, err = strconv.ParseInt(f.Value, 10, 64)
			r.Timestamp = time.UnixMilli(ms)
		default:
			err = errors.New("unknown field")
		}
		if err != nil {
			return nil, fmt.Errorf("parse field %q: %w", f.Field, err)
		}
	}
	return r, nil
}

// storedHeaders parses the header section of record format v2.
func storedHeaders(b []byte) ([]kgo.RecordHeader, error) {
	short := false
	number := func() int64 {
		n, size := binary.Varint(b)
		if size <= 0 {
			short, b = true, nil
			return 0
		}
		b = b[size:]
		return n
	}
	bytes := func(n int64) []byte {
		if n < 0 {
			return nil
		}
		if n > int64(len(b)) {
			short = true
			return nil
		}
		part := b[:n:n]
		b = b[n:]
		return part
	}
	var headers []kgo.RecordHeader
	for range number() {
		headers = append(headers, kgo.RecordHeader{Key: string(bytes(number())), Value: bytes(number())})
		if short {
			return nil, errors.New("headers end too early")
		}
	}
	if len(b) > 0 {
		return nil, fmt.Errorf("%d bytes after the headers", len(b))
	}
	return headers, nil
}

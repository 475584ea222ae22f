package batch

import (
	"math"
	"unicode/utf8"
)

// The timestamps (ms) that an Iceberg timestamptz, 64 bits of microseconds, can hold.
const (
	minTimestamp = math.MinInt64 / 1000
	maxTimestamp = math.MaxInt64 / 1000
)

// validateRecords walks every record of b.records once. It fills what Batch says about its records.
func (b *Batch) validateRecords() error {
	recs, at := b.records, 0
	b.MinTimestamp, b.MaxTimestamp, b.NullKeyCount = math.MaxInt64, math.MinInt64, 0
	for index := range b.Count {
		size, start := readVarint32(recs, at)
		if start < 0 || size < 0 || size > len(recs)-start {
			return invalidRecord(index, "its length does not fit the batch")
		}
		at = start + size
		delta, nullKey, problem := checkRecord(recs[start:at], int(index))
		if problem != "" {
			return invalidRecord(index, problem)
		}
		timestamp := addSaturating(b.BaseTimestamp, delta)
		b.MinTimestamp = min(b.MinTimestamp, timestamp)
		b.MaxTimestamp = max(b.MaxTimestamp, timestamp)
		if nullKey {
			b.NullKeyCount++
		}
	}
	if at != len(recs) {
		return refuse(ErrInvalidRecord, "%d bytes follow the last of %d records", len(recs)-at, b.Count)
	}
	return nil
}

// checkRecord validates one record without its length. It returns what is wrong with it, "" for nothing.
func checkRecord(rec []byte, index int) (timestampDelta int64, nullKey bool, problem string) {
	timestampDelta, at := readVarint64(rec, 1) // after the attributes, which have no bits in use
	offsetDelta, at := readVarint32(rec, at)
	keySize, at := readVarint32(rec, at)
	at = skip(rec, at, keySize)
	valueSize, at := readVarint32(rec, at)
	at = skip(rec, at, valueSize)
	headers, at := readVarint32(rec, at)
	switch {
	case at < 0:
		return 0, false, "a field does not fit the record"
	case offsetDelta != index:
		return 0, false, "its offset delta is not its index"
	case headers < 0 || headers > len(rec)-at:
		return 0, false, "its number of headers is wrong"
	}
	for ; headers > 0; headers-- {
		if at, problem = checkHeader(rec, at); problem != "" {
			return 0, false, problem
		}
	}
	if at != len(rec) {
		return 0, false, "bytes follow its last header"
	}
	return timestampDelta, keySize < 0, ""
}

func checkHeader(rec []byte, at int) (next int, problem string) {
	keySize, start := readVarint32(rec, at)
	if start >= 0 && keySize < 0 {
		return -1, "a header key is null"
	}
	at = skip(rec, start, keySize)
	if at >= 0 && !utf8.Valid(rec[start:at]) {
		return -1, "a header key is not UTF-8"
	}
	valueSize, at := readVarint32(rec, at)
	if at = skip(rec, at, valueSize); at < 0 {
		return -1, "a header does not fit the record"
	}
	return at, ""
}

// skip moves past a field of size bytes; size -1 is null. It keeps to the failure rule of the readers of varints.
func skip(b []byte, at, size int) int {
	if at < 0 || size < -1 || size > len(b)-at {
		return -1
	}
	return at + max(size, 0)
}

// checkTimestamps refuses what a table could not hold, so that no record can stop a partition's copying later.
func (b *Batch) checkTimestamps() error {
	indexes := b.TimestampsOutside(minTimestamp, maxTimestamp)
	if len(indexes) == 0 {
		return nil
	}
	return &RecordError{Kind: ErrInvalidTimestamp, Indexes: indexes, Reason: "its timestamp is beyond 64 bits of microseconds"}
}

func addSaturating(a, b int64) int64 {
	sum := a + b
	switch {
	case a > 0 && b > 0 && sum < 0:
		return math.MaxInt64
	case a < 0 && b < 0 && sum >= 0:
		return math.MinInt64
	}
	return sum
}

package topicstats

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/rueidis"
)

// Bounds of a scratch stream.
const (
	scratchRecords = 4000
	scratchBytes   = 16 << 20
	scratchStep    = 200 // entries that are sent at a time
	scratchExpire  = 120 // seconds after which Redis removes it, were we to die
	unlinkTimeout  = 5 * time.Second
)

// Scratch measures how much memory records take in a Redis, in a stream that is gone afterwards, also when ctx ends.
type Scratch struct {
	Client rueidis.Client
	Key    string // of a name that nobody else has
	Now    func() time.Time
}

// Measure returns the bytes that a record takes, with all its fields and its share of the stream. At most 4,000 records
// and 16 MiB are written.
func (s Scratch) Measure(ctx context.Context, m Method, records []Record) (bytes float64, err error) {
	defer func() {
		always, cancel := context.WithTimeout(context.WithoutCancel(ctx), unlinkTimeout)
		defer cancel()
		if e := s.Client.Do(always, s.Client.B().Unlink().Key(s.Key).Build()).Error(); e != nil && err == nil {
			err = fmt.Errorf("remove scratch stream: %w", e)
		}
	}()
	written, size := 0, 0
	base := s.Now().UnixMilli() // ids look like a log's: a few records share a ms
	var step rueidis.Commands
	for _, r := range records[:min(len(records), scratchRecords)] {
		fields := r.fields(m)
		for _, f := range fields {
			size += len(f)
		}
		if size > scratchBytes {
			break
		}
		id := strconv.FormatInt(base+int64(written/10), 10) + "-" + strconv.Itoa(written+1)
		step = append(step, s.Client.B().Arbitrary("XADD").Keys(s.Key).Args(id).Args(fields...).Build())
		if written++; len(step) == scratchStep {
			if err := s.write(ctx, step); err != nil {
				return 0, err
			}
			step = nil
		}
	}
	if written == 0 {
		return 0, ErrNoValues
	}
	if err := s.write(ctx, step); err != nil {
		return 0, err
	}
	total, err := s.Client.Do(ctx, s.Client.B().MemoryUsage().Key(s.Key).Samples(0).Build()).ToInt64()
	if err != nil {
		return 0, fmt.Errorf("measure scratch stream: %w", err)
	}
	return float64(total) / float64(written), nil
}

// write sends entries, and has the stream expire.
func (s Scratch) write(ctx context.Context, step rueidis.Commands) error {
	step = append(step, s.Client.B().Expire().Key(s.Key).Seconds(scratchExpire).Build())
	for _, answer := range s.Client.DoMulti(ctx, step...) {
		if err := answer.Error(); err != nil {
			return fmt.Errorf("write scratch stream: %w", err)
		}
	}
	return nil
}

// fields are those of the record's entry, in the order of docs/redis.md.
func (r Record) fields(m Method) []string {
	var fields []string
	if r.Value != nil {
		fields = append(fields, "value", string(m.Codec.Append(nil, r.Value, m.Dictionary)))
	}
	if r.Key != nil {
		fields = append(fields, "key", string(r.Key))
	}
	if r.Headers != nil {
		fields = append(fields, "headers", string(r.Headers))
	}
	if !r.Stamped {
		fields = append(fields, "timestamp", strconv.FormatInt(r.Timestamp, 10))
	}
	if fields == nil {
		fields = []string{"headers", "\x00"}
	}
	return fields
}

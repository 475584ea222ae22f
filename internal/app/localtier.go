package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/korvet-io/korvet/internal/compress"
	"github.com/korvet-io/korvet/internal/demo"
	"github.com/korvet-io/korvet/internal/redisstream"
)

const (
	tierSample  = 100  // records of a segment whose values are read, to tell of all
	tierNodes   = 1000 // nodes of an open segment that are measured
	tierStreams = 32   // sealed segments that one look reads from
)

// LocalTier looks at the segments of a topic. It is not safe for concurrent use.
type LocalTier struct {
	client rueidis.Client
	keys   []redisstream.Keys
	newest string               // key of the topic's newest dictionary
	means  map[string]valueMean // of sealed segments that were read, by key
}

// Tier looks at a topic in the same Redis, while the RedisMemory is open.
func (m *RedisMemory) Tier(namespace, topic string, partitions int) *LocalTier {
	t := &LocalTier{client: m.client, newest: redisstream.NewDictionaryKeys(namespace, topic, "").Newest, means: map[string]valueMean{}}
	for p := range partitions {
		t.keys = append(t.keys, redisstream.NewKeys(namespace, topic, int32(p)))
	}
	return t
}

// Look reads how each partition is kept, in two round trips, but for the codec.
func (t *LocalTier) Look(ctx context.Context) (demo.Tier, error) {
	const first, each = 2, 4
	b := t.client.B
	commands := rueidis.Commands{b().Time().Build(), b().Exists().Key(t.newest).Build()}
	for _, k := range t.keys {
		commands = append(commands,
			b().Hgetall().Key(k.Segments).Build(),
			b().MemoryUsage().Key(k.Stream).Samples(tierNodes).Build(),
			b().Xrange().Key(k.Stream).Start("-").End("+").Count(tierSample/2).Build(),
			b().Xrevrange().Key(k.Stream).End("+").Start("-").Count(tierSample/2).Build())
	}
	replies := t.client.DoMulti(ctx, commands...)
	clock, err := replies[0].AsIntSlice()
	if err != nil || len(clock) == 0 {
		return demo.Tier{}, fmt.Errorf("ask Redis for its time: %w", err)
	}
	now := time.Unix(clock[0], 0)
	dictionaries, err := replies[1].AsInt64()
	if err != nil {
		return demo.Tier{}, fmt.Errorf("look for a dictionary: %w", err)
	}
	tier := demo.Tier{Dictionary: dictionaries > 0, Logs: make([]demo.Log, len(t.keys))}
	for p := range tier.Logs {
		r := replies[first+each*p:]
		l := &tier.Logs[p]
		if err := errors.Join(readRegistry(l, r[0], now), readOpen(&l.Open, r[1], r[2], r[3], now)); err != nil {
			return demo.Tier{}, fmt.Errorf("look at partition %d: %w", p, err)
		}
	}
	return tier, t.values(ctx, tier.Logs)
}

// readRegistry fills in all but the open segment's records.
func readRegistry(l *demo.Log, registry rueidis.RedisResult, now time.Time) error {
	fields, err := registry.AsStrMap()
	if err != nil {
		return err
	}
	l.Open.Number, _ = strconv.ParseInt(fields["open"], 10, 64) // absent: 0
	if last, err := strconv.ParseInt(fields["sealed"], 10, 64); err == nil {
		l.Open.First = last + 1
	}
	l.Open.Next = l.Open.First
	l.Start, _ = strconv.ParseInt(fields["start"], 10, 64)   // absent: 0
	l.Tiered, _ = strconv.ParseInt(fields["tiered"], 10, 64) // absent: 0
	for field, text := range fields {
		number, ok := strings.CutPrefix(field, "s:")
		if !ok {
			continue
		}
		s, err := redisstream.ParseSegment(number, text)
		if err != nil {
			return err
		}
		age := now.Sub(time.UnixMilli(int64(s.FirstMs)))
		l.Sealed = append(l.Sealed, demo.Segment{Number: s.Number, First: s.Base, Next: s.Last + 1, Bytes: max(0, s.Bytes), Age: max(0, age)})
	}
	slices.SortFunc(l.Sealed, func(a, b demo.Segment) int { return cmp.Compare(a.Number, b.Number) })
	return nil
}

// readOpen fills in the open segment's records, if it has any.
func readOpen(s *demo.Segment, size, oldest, newest rueidis.RedisResult, now time.Time) error {
	first, err := oldest.AsXRange()
	if err != nil {
		return err
	}
	last, err := newest.AsXRange()
	if err != nil || len(first) == 0 || len(last) == 0 {
		return err
	}
	from, err := redisstream.ParseID(first[0].ID)
	if err != nil {
		return err
	}
	to, err := redisstream.ParseID(last[0].ID)
	if err != nil {
		return err
	}
	s.Bytes, err = size.AsInt64()
	s.Next = redisstream.EndOffset(to.Seq)
	s.Age = max(0, now.Sub(time.UnixMilli(int64(from.Ms))))
	meanOf(slices.Concat(first, last)).fill(s)
	return err
}

// values fills in what sealed segments' values take: a few of those that were not read yet are.
func (t *LocalTier) values(ctx context.Context, logs []demo.Log) error {
	var commands rueidis.Commands
	var unread []*demo.Segment
	var names []string
	known := map[string]valueMean{}
	for p := range logs {
		for i := range slices.Backward(logs[p].Sealed) {
			s := &logs[p].Sealed[i]
			name := t.keys[p].Segment(s.Number)
			if mean, ok := t.means[name]; ok {
				known[name] = mean
				mean.fill(s)
			} else if len(commands) < tierStreams {
				commands = append(commands, t.client.B().Xrange().Key(name).Start("-").End("+").Count(tierSample).Build())
				unread, names = append(unread, s), append(names, name)
			}
		}
	}
	t.means = known
	for i, r := range t.client.DoMulti(ctx, commands...) {
		entries, err := r.AsXRange()
		if err != nil {
			return fmt.Errorf("read %s: %w", names[i], err)
		}
		if len(entries) > 0 { // else it was dropped meanwhile
			known[names[i]] = meanOf(entries)
			known[names[i]].fill(unread[i])
		}
	}
	return nil
}

// valueMean is the mean size of some records' values in bytes, as they were produced and as they are stored.
type valueMean struct{ produced, stored float64 }

// meanOf reads how large a value was from its zstd frame; what is none counts as it is stored.
func meanOf(entries []rueidis.XRangeEntry) valueMean {
	var m valueMean
	for _, e := range entries {
		stored := e.FieldValues["value"]
		size, err := compress.FrameSize([]byte(stored))
		if err != nil {
			size = len(stored)
		}
		m.produced += float64(size) / float64(len(entries))
		m.stored += float64(len(stored)) / float64(len(entries))
	}
	return m
}

// fill makes of it what all values of a segment take, about.
func (m valueMean) fill(s *demo.Segment) {
	records := float64(s.Next - s.First)
	s.Values, s.Stored = int64(m.produced*records), int64(m.stored*records)
}

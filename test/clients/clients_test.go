// Package clients_test runs real Kafka clients, unchanged, against the broker and compares every byte of what was produced with what came back.
//
// KORVET_TEST_BOOTSTRAP names a broker that runs already, of any make; without it korvet is built and started. KORVET_TEST_LONG=1 sends the whole
// data set. With -update the results become docs/clients.md.
package clients_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"
)

func TestClients(t *testing.T) {
	s := newSuite(t)
	// A client is used by one goroutine at a time, so the parallel groups below are by producer, then by reader.
	t.Run("produce", func(t *testing.T) {
		for i, c := range s.clients {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				s.produceAll(t, c, bulkCodec(i))
			})
		}
	})
	// What was read back above came from the broker's memory. What follows is to come from Redis.
	if !s.broker.External() {
		s.broker.Restart()
	}
	t.Run("read", func(t *testing.T) {
		for _, c := range s.clients {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				s.readAll(t, c)
			})
		}
	})
	t.Run("all at once", s.produceAtOnce)
	t.Run("seek", s.seeks)
	t.Run("admin", s.administer)
	t.Run("groups", s.groups)
	s.report(t)
}

// produceAll tries every feature and then reads back with the reference reader what should be there.
func (s *suite) produceAll(t *testing.T, c *client, bulkCodec string) {
	logs := map[topicKind]*topicLog{}
	for _, f := range features() {
		if why := c.lacks[f.name]; why != "" {
			s.table.set(f.name, c.name, unsupported(why))
			continue
		}
		t.Run(f.name, func(t *testing.T) {
			err := s.produceFeature(t.Context(), c, f, bulkCodec, logs)
			s.table.set(f.name, c.name, result(err))
			if err != nil {
				logs[f.topic] = nil // what is in it is unknown: the next feature begins a new topic
				t.Error(err)
			}
		})
	}
	for _, l := range s.logsOf(c) {
		t.Run("read back "+string(l.kind), func(t *testing.T) { s.readBack(t, c, l) })
	}
}

func (s *suite) produceFeature(ctx context.Context, c *client, f feature, bulkCodec string, logs map[topicKind]*topicLog) error {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	l := logs[f.topic]
	if l == nil {
		var err error
		if l, err = s.newLog(ctx, c, f.topic); err != nil {
			return err
		}
		logs[f.topic] = l
	}
	for _, r := range f.runs {
		if f.bulk {
			r.codec = bulkCodec
		}
		r.topic, r.records = l.topic, f.data(c, r, s.flights)
		offsets, err := c.produce(ctx, r)
		if err != nil {
			return fmt.Errorf("produce with codec %s: %w", r.codec, err)
		}
		if err := checkOffsets(offsets, len(r.records), len(l.expect)); err != nil {
			return fmt.Errorf("produce with codec %s: %w", r.codec, err)
		}
		if err := s.awaitEnd(ctx, l.topic, int64(len(l.expect)+len(r.records))); err != nil {
			return fmt.Errorf("produce with codec %s: %w", r.codec, err)
		}
		l.add(f, r.records)
	}
	return nil
}

// checkOffsets compares the offsets that a producer was told with the dense ones from base; -1 stands for not told.
func checkOffsets(offsets []int64, n, base int) error {
	if len(offsets) != n {
		return fmt.Errorf("the client reports %d offsets for %d records", len(offsets), n)
	}
	for i, o := range offsets {
		if o != -1 && o != int64(base+i) {
			return fmt.Errorf("the client was told offset %d for record %d, want %d", o, i, base+i)
		}
	}
	return nil
}

// add appends what a run produced to what the log should hold.
func (l *topicLog) add(f feature, records []record) {
	for _, r := range records {
		r.offset = int64(len(l.expect))
		if f.topic == appendTopic {
			r.kind, r.timestamp = appendTime, noTimestamp
		}
		l.expect = append(l.expect, r)
		l.origin = append(l.origin, f.name)
	}
}

// readBack compares what the client produced with what the reference reader finds, and learns the timestamps that were not the client's.
func (s *suite) readBack(t *testing.T, c *client, l *topicLog) {
	ctx, cancel := context.WithTimeout(t.Context(), s.timeout)
	defer cancel()
	got, err := s.reference.consume(ctx, l.topic, 0, len(l.expect))
	if err != nil {
		t.Fatalf("read %s with %s: %v", l.topic, s.reference.name, err)
	}
	for i := range l.expect {
		want := &l.expect[i]
		if want.timestamp == noTimestamp && l.origin[i] != messageSet0 {
			want.timestamp = s.plausible(got[i].timestamp)
		}
		if d := difference(*want, got[i]); d != "" {
			s.table.set(l.origin[i], c.name, "failed")
			t.Errorf("record %d (%s): %s", i, l.origin[i], d)
		}
	}
	s.noteTraits(c, l, got)
}

// plausible returns a timestamp that the broker or the client chose if it lies within the test (a minute more for clocks), else an impossible one.
func (s *suite) plausible(ms int64) int64 {
	at := time.UnixMilli(ms)
	if at.Before(s.started.Add(-time.Minute)) || at.After(time.Now().Add(time.Minute)) {
		return -1
	}
	return ms
}

// noteTraits notes for each kind of hard record whether all those of the client came back.
func (s *suite) noteTraits(c *client, l *topicLog, got []record) {
	for i, want := range l.expect {
		for bit, name := range traitNames {
			if want.traits&bit != 0 {
				s.table.set(name, c.name, okUnless(difference(want, got[i]) != ""))
			}
		}
	}
	for bit, why := range c.lacksTraits {
		s.table.set(traitNames[bit], c.name, unsupported(why))
	}
}

// readAll reads with one client what all clients produced.
func (s *suite) readAll(t *testing.T, reader *client) {
	for i, producer := range s.clients {
		if long() && !s.near(i, reader) {
			continue
		}
		row := "read what " + producer.name + " produced"
		t.Run(producer.name, func(t *testing.T) {
			failed := false
			for _, l := range s.logsOf(producer) {
				if l.kind == appendTopic && reader.startsSlowly && reader != producer || l.kind == bigTopic && !s.near(i, reader) {
					continue
				}
				if err := s.readWith(t.Context(), reader, l); err != nil {
					failed = true
					t.Error(err)
				}
			}
			s.table.set(row, reader.name, okUnless(failed))
		})
	}
}

// near chooses three readers for a producer where each reading everything takes too long: itself and the next two.
func (s *suite) near(producer int, reader *client) bool {
	distance := slices.Index(s.clients, reader) - producer
	return (distance+len(s.clients))%len(s.clients) < 3
}

// readWith compares a whole log with what the reader returns; the error tells the first difference and how many there are.
func (s *suite) readWith(ctx context.Context, reader *client, l *topicLog) error {
	if len(l.expect) == 0 || l.kind == autoTopic {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	got, err := reader.consume(ctx, l.topic, 0, len(l.expect))
	if err != nil {
		return fmt.Errorf("read %s: %w", l.topic, err)
	}
	if len(got) < len(l.expect) {
		return fmt.Errorf("read %s: %d records, want %d", l.topic, len(got), len(l.expect))
	}
	var found []string
	for i, want := range l.expect {
		if reader.seen != nil {
			want = reader.seen(want)
		}
		if d := difference(want, got[i]); d != "" {
			found = append(found, fmt.Sprintf("record %d (%s): %s", i, l.origin[i], d))
		}
	}
	if len(found) > 0 {
		return fmt.Errorf("read %s: %d of %d records differ, the first: %q", l.topic, len(found), len(l.expect), slices.Clip(found[:min(3, len(found))]))
	}
	return nil
}

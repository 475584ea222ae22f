package ecosystem_test

import (
	"encoding/base64"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// sparkPartitions is the number of partitions of the topics that Spark reads.
const sparkPartitions = 3

// spark is Spark Structured Streaming and a topic for it to read.
type spark struct {
	*world
	program *child
	topic   string
	records []*kgo.Record // what is in topic
	dir     string        // for checkpoints
}

// sparkBatch is a batch as SparkProgram tells it.
type sparkBatch struct {
	tasks int
	rows  []string
}

func TestSparkReadsAndWritesEveryRecord(t *testing.T) {
	t.Parallel()
	s := newSpark(t)
	s.fill(scaled(300))
	t.Run("batch read", s.readsABatch)
	t.Run("stream with headers, and on from its checkpoint", s.readsAStream)
	t.Run("startingTimestamp", s.startsAtATimestamp)
	t.Run("startingOffsetsByTimestamp", s.startsAtTimestampsOfPartitions)
	t.Run("endingTimestamp", s.endsAtATimestamp)
	t.Run("startingOffsets", s.startsAtOffsets)
	t.Run("maxOffsetsPerTrigger", s.limitsBatches)
	t.Run("minPartitions", s.splitsPartitions)
	t.Run("batch write", s.writesABatch)
	t.Run("stream write, and on from its checkpoint", s.writesAStream)
	t.Run("stream over a restart of the broker", s.readsOverARestart)
}

func newSpark(t *testing.T) *spark {
	t.Helper()
	w, classpath, dir := newWorld(t), install(t, "spark"), t.TempDir()
	options, err := filepath.Abs(filepath.Join("java", "spark", "jvm.options"))
	if err != nil {
		t.Fatalf("find the options of Spark's JVM: %v", err)
	}
	args := append(jvm("768m"), "@"+options, "-cp", classpath, "SparkProgram", filepath.Join(dir, "spark"))
	return &spark{world: w, program: converse(t, "spark", "java", args...), topic: w.createTopic("events", sparkPartitions, "retention.ms=-1"), dir: dir}
}

// fill appends n records, a second apart, with all that a record can have or lack.
func (s *spark) fill(n int) {
	s.t.Helper()
	var fresh []*kgo.Record
	for i := len(s.records); len(fresh) < n; i++ {
		r := &kgo.Record{Topic: s.topic, Partition: int32(i % sparkPartitions), Timestamp: sparkTime(i), Value: []byte(fmt.Sprintf("value %d é", i))}
		switch i % 4 {
		case 0:
			r.Key, r.Value = []byte{0, 0xff, byte(i)}, nil
		case 1:
			r.Headers = []kgo.RecordHeader{{Key: "trace", Value: []byte(strconv.Itoa(i))}, {Key: "trace", Value: nil}, {Key: "empty", Value: []byte{}}}
		case 2:
			r.Key = []byte(strconv.Itoa(i))
		}
		fresh = append(fresh, r)
	}
	s.produce(fresh...)
	s.records = append(s.records, fresh...)
}

// sparkTime is the timestamp of the record of that number.
func sparkTime(i int) time.Time { return time.UnixMilli(1_700_000_000_000 + 1000*int64(i)) }

func (s *spark) readsABatch(t *testing.T) {
	s.expect(t, s.batches(t, "batch"), s.records, false)
}

func (s *spark) readsAStream(t *testing.T) {
	checkpoint := filepath.Join(s.dir, "read")
	read := func() []sparkBatch {
		return s.batches(t, "stream", checkpoint, "includeHeaders=true", "startingOffsets=earliest")
	}
	s.expect(t, read(), s.records, true)
	before := len(s.records)
	s.fill(30)
	s.expect(t, read(), s.records[before:], true)
}

func (s *spark) startsAtATimestamp(t *testing.T) {
	got := s.batches(t, "stream", filepath.Join(s.dir, "timestamp"), fmt.Sprintf("startingTimestamp=%d", sparkTime(100).UnixMilli()))
	s.expect(t, got, s.records[100:], false)
}

func (s *spark) startsAtTimestampsOfPartitions(t *testing.T) {
	// Partition 2 has nothing of so late a time: the strategy says where it begins.
	starts := fmt.Sprintf(`{"%s":{"0":%d,"1":%d,"2":%d}}`, s.topic, sparkTime(100).UnixMilli(), sparkTime(201).UnixMilli()-500, sparkTime(100_000).UnixMilli())
	got := s.batches(t, "stream", filepath.Join(s.dir, "timestamps"), "startingOffsetsByTimestamp="+starts, "startingOffsetsByTimestampStrategy=latest")
	s.expect(t, got, s.choose(func(i int) bool { return i%3 == 0 && i >= 100 || i%3 == 1 && i >= 201 }), false)
}

func (s *spark) endsAtATimestamp(t *testing.T) {
	got := s.batches(t, "batch", fmt.Sprintf("startingTimestamp=%d", sparkTime(50).UnixMilli()), fmt.Sprintf("endingTimestamp=%d", sparkTime(70).UnixMilli()))
	s.expect(t, got, s.records[50:70], false)
}

func (s *spark) startsAtOffsets(t *testing.T) {
	// -2 is the earliest offset and -1 the latest.
	got := s.batches(t, "stream", filepath.Join(s.dir, "offsets"), fmt.Sprintf(`startingOffsets={"%s":{"0":-2,"1":10,"2":-1}}`, s.topic))
	s.expect(t, got, s.choose(func(i int) bool { return i%3 == 0 || i%3 == 1 && i/3 >= 10 }), false)
}

func (s *spark) limitsBatches(t *testing.T) {
	const limit = 120
	got := s.batches(t, "stream", filepath.Join(s.dir, "limit"), "startingOffsets=earliest", fmt.Sprintf("maxOffsetsPerTrigger=%d", limit))
	s.expect(t, got, s.records, false)
	if least := (len(s.records) + limit - 1) / limit; len(got) < least {
		t.Errorf("%d batches, want at least %d", len(got), least)
	}
	for i, b := range got {
		if len(b.rows) > limit {
			t.Errorf("batch %d has %d records, at most %d are allowed", i, len(b.rows), limit)
		}
	}
}

func (s *spark) splitsPartitions(t *testing.T) {
	const least = 8
	got := s.batches(t, "stream", filepath.Join(s.dir, "split"), "startingOffsets=earliest", fmt.Sprintf("minPartitions=%d", least))
	s.expect(t, got, s.records, false)
	if got[0].tasks < least {
		t.Errorf("the batch was read by %d tasks, want at least %d", got[0].tasks, least)
	}
}

func (s *spark) writesABatch(t *testing.T) {
	target := s.createTopic("copy", 1)
	s.ask(t, "copy", target, "includeHeaders=true")
	s.expectCopy(t, target)
}

func (s *spark) writesAStream(t *testing.T) {
	target, checkpoint := s.createTopic("pipe", 1), filepath.Join(s.dir, "pipe")
	for range 2 {
		s.ask(t, "pipe", checkpoint, target, "includeHeaders=true", "startingOffsets=earliest", "maxOffsetsPerTrigger=200")
		s.expectCopy(t, target)
		s.fill(30)
	}
}

func (s *spark) readsOverARestart(t *testing.T) {
	total := len(s.records) + 60
	type result struct {
		lines []string
		err   error
	}
	done := make(chan result, 1)
	go func() {
		lines, err := s.program.answer(s.command("follow", strconv.Itoa(total), "includeHeaders=true", "startingOffsets=earliest"))
		done <- result{lines, err}
	}()
	s.fill(30)
	s.restart()
	s.fill(30)
	r := <-done
	if r.err != nil {
		t.Fatalf("follow: %v", r.err)
	}
	s.expect(t, parseBatches(t, r.lines), s.records, true)
}

// choose returns the records of the numbers that fit.
func (s *spark) choose(fits func(i int) bool) []*kgo.Record {
	var chosen []*kgo.Record
	for i, r := range s.records {
		if fits(i) {
			chosen = append(chosen, r)
		}
	}
	return chosen
}

// command adds to the words the options that name broker and topic.
func (s *spark) command(words ...string) []string {
	return append(words, "kafka.bootstrap.servers="+s.broker.Addr, "subscribe="+s.topic)
}

func (s *spark) ask(t *testing.T, words ...string) []string {
	t.Helper()
	lines, err := s.program.answer(s.command(words...))
	if err != nil {
		t.Fatalf("%s: %v", strings.Join(words, " "), err)
	}
	return lines
}

func (s *spark) batches(t *testing.T, words ...string) []sparkBatch {
	t.Helper()
	return parseBatches(t, s.ask(t, words...))
}

func parseBatches(t *testing.T, lines []string) []sparkBatch {
	t.Helper()
	var batches []sparkBatch
	for _, line := range lines {
		if row, ok := strings.CutPrefix(line, "row "); ok {
			last := &batches[len(batches)-1]
			last.rows = append(last.rows, row)
			continue
		}
		var id int
		var b sparkBatch
		if _, err := fmt.Sscanf(line, "batch %d %d", &id, &b.tasks); err != nil {
			t.Fatalf("read %q: %v", line, err)
		}
		batches = append(batches, b)
	}
	return batches
}

// expect compares the rows of all batches with the records; Spark promises no order across tasks.
func (s *spark) expect(t *testing.T, batches []sparkBatch, records []*kgo.Record, headers bool) {
	t.Helper()
	var got, want []string
	for _, b := range batches {
		got = append(got, b.rows...)
	}
	for _, r := range records {
		want = append(want, sparkRow(r, headers))
	}
	compareRows(t, got, want)
}

// expectCopy compares a topic's keys, values and headers with the records'.
func (s *spark) expectCopy(t *testing.T, target string) {
	t.Helper()
	var got, want []string
	for _, r := range s.read(target, len(s.records)) {
		got = append(got, sparkContent(r, true))
	}
	for _, r := range s.records {
		want = append(want, sparkContent(r, true))
	}
	compareRows(t, got, want)
}

func compareRows(t *testing.T, got, want []string) {
	t.Helper()
	if surplus, missing := without(got, want), without(want, got); len(surplus)+len(missing) > 0 {
		t.Errorf("%d rows, want %d; too many: %q; missing: %q", len(got), len(want), surplus[:min(3, len(surplus))], missing[:min(3, len(missing))])
	}
}

// without returns those of a that are not in b, counting repetitions.
func without(a, b []string) []string {
	counts := map[string]int{}
	for _, s := range b {
		counts[s]++
	}
	var rest []string
	for _, s := range a {
		if counts[s]--; counts[s] < 0 {
			rest = append(rest, s)
		}
	}
	return rest
}

// sparkRow is a record as SparkProgram prints it.
func sparkRow(r *kgo.Record, headers bool) string {
	return fmt.Sprintf("%s %d %d %d 0 %s", r.Topic, r.Partition, r.Offset, r.Timestamp.UnixMilli(), sparkContent(r, headers))
}

func sparkContent(r *kgo.Record, headers bool) string {
	text := func(b []byte) string {
		if b == nil {
			return "-"
		}
		return "=" + base64.StdEncoding.EncodeToString(b)
	}
	listed := "-"
	if headers && len(r.Headers) > 0 {
		var list []string
		for _, h := range r.Headers {
			list = append(list, h.Key+":"+text(h.Value))
		}
		listed = strings.Join(list, ",")
	}
	return text(r.Key) + " " + text(r.Value) + " " + listed
}

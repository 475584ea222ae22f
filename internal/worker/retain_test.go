package worker

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestRecordsOlderThanRetentionGoFromTheOpenSegmentToTheRecord(t *testing.T) {
	r := newRig(t)
	p := r.create("t", map[string]string{"retention.ms": hours(5)})
	p.add(1234, 6*hour, 10)
	p.add(777, 4*hour, 10)
	r.tick()
	p.expect(1234, 1234)
	if r.seen.trimmed != 1234 || r.seen.freed <= 0 {
		t.Errorf("%d records trimmed, %d bytes freed", r.seen.trimmed, r.seen.freed)
	}
}

func TestAllRecordsMayGo(t *testing.T) {
	r := newRig(t)
	p := r.create("t", map[string]string{"retention.ms": hours(5)})
	p.add(500, 6*hour, 10)
	r.tick()
	p.expect(500, -1)
	p.add(3, 0, 10)
	r.tick()
	p.expect(500, 500)
}

func TestExpiredSegmentsAreDroppedWholeAndTheLogStartMovesInTheNext(t *testing.T) {
	r := newRig(t)
	p := r.create("t", map[string]string{"retention.ms": hours(5)})
	for _, ages := range [][2]int{{9, 8}, {7, 6}, {6, 4}, {3, 2}} {
		p.add(10, time.Duration(ages[0])*hour, 10)
		p.add(10, time.Duration(ages[1])*hour, 10)
		p.seal()
	}
	p.add(10, 0, 10)
	r.tick()
	p.expect(50, 40, 60, 80) // segment 2 straddles: it is whole, the log starts in it
	if r.seen.dropped != 2 {
		t.Errorf("%d segments dropped, want 2", r.seen.dropped)
	}
	if n, _ := toInt(r.do("EXISTS", p.keys.Segment(0), p.keys.Segment(1))); n != 0 {
		t.Errorf("%d streams of dropped segments are left", n)
	}
}

func TestCompactedTopicsKeepTheirRecords(t *testing.T) {
	r := newRig(t)
	p := r.create("t", map[string]string{"retention.ms": hours(5), "retention.bytes": "1", "cleanup.policy": "compact"})
	both := r.create("both", map[string]string{"retention.ms": hours(5), "cleanup.policy": "compact,delete"})
	forever := r.create("forever", map[string]string{"retention.ms": "-1"})
	for _, p := range []*part{p, both, forever} {
		p.add(100, 6*hour, 10)
		p.add(100, 0, 10)
	}
	r.tick()
	p.expect(0, 0)
	both.expect(100, 100)
	forever.expect(0, 0)
}

func TestRetentionBytesDropsSegmentsWhileTheRestHasAsMany(t *testing.T) {
	r := newRig(t)
	p := r.create("t", map[string]string{"retention.bytes": "2000000"})
	for range 5 {
		p.add(1000, 0, 1000)
		p.seal()
	}
	p.add(10, 0, 10)
	r.tick()
	p.expect(3000, 3000, 4000, 5000) // two segments of 1.1 MB and the open one
}

func TestRetentionBytesTrimsAnUnsegmentedStreamToTheSize(t *testing.T) {
	r := newRig(t)
	p := r.create("t", map[string]string{"retention.bytes": "2000000", "segment.bytes": "-1"})
	p.add(3000, 0, 100)
	p.add(4000, 0, 1000)
	r.tick()
	if got := p.measured(); got < 2_000_000 || got > 2_030_000 {
		t.Errorf("%d bytes are left of 4.9 million, want 2 million", got)
	}
	v := p.view()
	p.expect(v.LogStart, v.LogStart)
	before := v.LogStart
	r.tick()
	if after := p.view().LogStart; after != before {
		t.Errorf("the log start moved from %d to %d although nothing was written", before, after)
	}
}

func TestDeleteRecordsStartDropsSegmentsAndTrims(t *testing.T) {
	r := newRig(t)
	p := r.create("t", nil)
	p.add(10, 0, 10)
	p.seal()
	p.add(10, 0, 10)
	p.seal()
	p.add(10, 0, 10)
	r.do("HSET", p.keys.Segments, "start", "15")
	r.tick()
	p.expect(15, 10, 20)
	r.do("HSET", p.keys.Segments, "start", "25")
	r.tick()
	p.expect(25, 25)
}

func TestHeadOfAnAdoptedStreamIsTrimmedInTheSealedSegmentToo(t *testing.T) {
	r := newRig(t)
	p := r.create("t", map[string]string{"retention.ms": hours(5), "segment.bytes": "1048576"})
	p.add(5000, 6*hour, 1000)
	p.add(2000, hour, 1000)
	p.seal()
	p.add(10, 0, 10)
	r.tick()
	p.expect(5000, 5000, 7000)
	seg := p.view().Segments[0]
	if seg.Base != 5000 || seg.Last != 6999 || seg.Bytes < 2_000_000 || seg.Bytes > 2_500_000 {
		t.Errorf("the registry says %+v", seg)
	}
}

func TestHandTrimmedStreamsAreNoTrouble(t *testing.T) {
	r := newRig(t)
	p := r.create("t", map[string]string{"retention.ms": hours(5)})
	p.add(100, 6*hour, 10)
	p.add(100, 0, 10)
	r.do("XTRIM", p.keys.Stream, "MAXLEN", "20")
	r.tick()
	p.expect(0, 180)
	r.do("XTRIM", p.keys.Stream, "MAXLEN", "0")
	r.tick()
	p.expect(0, -1)
}

// A busy machine stops Redis for longer than any command takes: only what is slow each time is slow.
func TestNoScriptHoldsRedisUp(t *testing.T) {
	for _, bytes := range []int{10, 1000, 100_000} {
		t.Run(fmt.Sprint(bytes), func(t *testing.T) {
			var slow []string
			for range 3 {
				if slow = slowWhenTrimming(t, bytes); len(slow) == 0 {
					return
				}
			}
			t.Errorf("commands above 5 ms, three times:\n%s", strings.Join(slow, "\n"))
		})
	}
}

// slowWhenTrimming trims a large stream of records of a size and lists the commands above 5 ms.
func slowWhenTrimming(t *testing.T, bytes int) (slow []string) {
	r := newRig(t)
	defer r.redis.Kill()
	p := r.create("t", map[string]string{"retention.ms": hours(5), "segment.bytes": "-1"})
	p.add(min(400_000, 100<<20/bytes), 6*hour, bytes)
	p.add(10, 0, bytes)
	start := p.next - 10
	r.do("CONFIG", "SET", "slowlog-log-slower-than", "5000")
	r.do("SLOWLOG", "RESET")
	for p.view().LogStart < start || p.view().First.Seq < uint64(start) {
		r.tick()
	}
	p.expect(start, start)
	m := r.do("SLOWLOG", "GET", "10")
	entries, err := m.ToArray()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		fields, err := e.ToArray()
		if err != nil {
			t.Fatal(err)
		}
		us, _ := fields[2].AsInt64()
		args, _ := fields[3].AsStrSlice()
		slow = append(slow, fmt.Sprintf("%d us: %.200s", us, strings.Join(args, " ")))
	}
	return slow
}

func TestIdleSegmentsAreSealedByAge(t *testing.T) {
	r := newRig(t)
	p := r.create("old", map[string]string{"segment.ms": hours(2)})
	p.add(10, 3*hour, 10)
	young := r.create("young", map[string]string{"segment.ms": hours(2)})
	young.add(10, hour, 10)
	empty := r.create("empty", map[string]string{"segment.ms": hours(2)})
	one := r.create("one", map[string]string{"segment.bytes": "-1"})
	one.add(10, 30*24*hour, 10)
	one.topic.Config.RetentionMs = -1
	r.tick()
	p.expect(0, 0, -1)
	young.expect(0, 0)
	empty.expect(0, -1)
	one.expect(0, 0)
	if r.seen.sealed != 1 {
		t.Errorf("%d segments were sealed, want 1", r.seen.sealed)
	}
	r.tick()
	p.expect(0, 0, -1)
}

func TestSegmentsWhoseOwnerDoesNotRollAreSealedBySize(t *testing.T) {
	r := newRig(t)
	p := r.create("t", map[string]string{"segment.bytes": "1048576"})
	p.add(1200, 0, 1000)
	r.tick()
	p.expect(0, 0, -1)
	if seg := p.view().Segments[0]; seg.Last != 1199 || seg.Bytes < 1<<20 {
		t.Errorf("segment %+v", seg)
	}
	p.add(500, 0, 1000)
	r.tick()
	p.expect(0, 0, 1200)
}

func TestUnsegmentedStreamIsAdoptedWhenItsTopicGetsSegments(t *testing.T) {
	r := newRig(t)
	p := r.create("t", map[string]string{"segment.bytes": "-1"})
	p.add(5000, 0, 1000)
	r.tick()
	p.expect(0, 0)
	p.topic.Config = r.schema.Effective("t", map[string]string{"segment.bytes": "1048576"})
	r.tick()
	p.expect(0, 0, -1)
}

// The rest of a large sealed stream is a hole in which the log starts: there is nothing to trim, and all else is still due.
func TestAHeadWithNothingToTrimHoldsNothingUp(t *testing.T) {
	r := newRig(t)
	p := r.create("t", map[string]string{"retention.ms": hours(5), "segment.bytes": "1048576"})
	p.add(5000, 9*hour, 1000)
	p.seal()
	p.do("XTRIM", p.keys.Segment(0), "MAXLEN", "0")
	p.add(10, 6*hour, 10)
	p.add(10, 0, 10)
	r.do("HSET", p.keys.Segments, "start", "4995", "s:0", fmt.Sprintf("sealed 0 4999 1 %d 1 5500000", p.now()-9*hour.Milliseconds()))
	r.tick()
	p.expect(5010, 5010)
}

// A worker that died in a rewrite leaves a copy as large as the stream. Nobody goes on with it once the topic is not compacted any more.
func TestWhatAnUnfinishedRewriteLeftIsRemoved(t *testing.T) {
	r := newRig(t)
	p := r.create("t", map[string]string{"retention.ms": "-1"})
	p.add(10, 0, 10)
	r.do("XADD", p.keys.Copy, "1-1", "value", "v")
	r.do("HSET", p.keys.Segments, "holes:0", "40", "dense:0", "10 1")
	r.tick()
	if n, _ := toInt(r.do("EXISTS", p.keys.Copy)); n != 0 {
		t.Error("the copy is left")
	}
	p.expect(0, 0)
}

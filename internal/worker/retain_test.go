package worker

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/korvet-io/korvet/internal/worker/workertest"
)

func TestRecordsOlderThanRetentionGoFromTheOpenSegmentToTheRecord(t *testing.T) {
	r := newRig(t)
	p := r.Create("t", map[string]string{"retention.ms": workertest.Hours(5)})
	p.Add(1234, 6*hour, 10)
	p.Add(777, 4*hour, 10)
	r.Tick()
	p.Expect(1234, 1234)
	if r.Seen.Trimmed != 1234 || r.Seen.Freed <= 0 {
		t.Errorf("%d records trimmed, %d bytes freed", r.Seen.Trimmed, r.Seen.Freed)
	}
}

func TestAllRecordsMayGo(t *testing.T) {
	r := newRig(t)
	p := r.Create("t", map[string]string{"retention.ms": workertest.Hours(5)})
	p.Add(500, 6*hour, 10)
	r.Tick()
	p.Expect(500, -1)
	p.Add(3, 0, 10)
	r.Tick()
	p.Expect(500, 500)
}

func TestExpiredSegmentsAreDroppedWholeAndTheLogStartMovesInTheNext(t *testing.T) {
	r := newRig(t)
	p := r.Create("t", map[string]string{"retention.ms": workertest.Hours(5)})
	for _, ages := range [][2]int{{9, 8}, {7, 6}, {6, 4}, {3, 2}} {
		p.Add(10, time.Duration(ages[0])*hour, 10)
		p.Add(10, time.Duration(ages[1])*hour, 10)
		p.Seal()
	}
	p.Add(10, 0, 10)
	r.Tick()
	p.Expect(50, 40, 60, 80) // segment 2 straddles: it is whole, the log starts in it
	if r.Seen.Dropped != 2 {
		t.Errorf("%d segments dropped, want 2", r.Seen.Dropped)
	}
	if n, _ := toInt(r.Do("EXISTS", p.Keys.Segment(0), p.Keys.Segment(1))); n != 0 {
		t.Errorf("%d streams of dropped segments are left", n)
	}
}

func TestCompactedTopicsKeepTheirRecords(t *testing.T) {
	r := newRig(t)
	p := r.Create("t", map[string]string{"retention.ms": workertest.Hours(5), "retention.bytes": "1", "cleanup.policy": "compact"})
	both := r.Create("both", map[string]string{"retention.ms": workertest.Hours(5), "cleanup.policy": "compact,delete"})
	forever := r.Create("forever", map[string]string{"retention.ms": "-1"})
	for _, p := range []*workertest.Part{p, both, forever} {
		p.Add(100, 6*hour, 10)
		p.Add(100, 0, 10)
	}
	r.Tick()
	p.Expect(0, 0)
	both.Expect(100, 100)
	forever.Expect(0, 0)
}

func TestRetentionBytesDropsSegmentsWhileTheRestHasAsMany(t *testing.T) {
	r := newRig(t)
	p := r.Create("t", map[string]string{"retention.bytes": "2000000"})
	for range 5 {
		p.Add(1000, 0, 1000)
		p.Seal()
	}
	p.Add(10, 0, 10)
	r.Tick()
	p.Expect(3000, 3000, 4000, 5000) // two segments of 1.1 MB and the open one
}

func TestRetentionBytesTrimsAnUnsegmentedStreamToTheSize(t *testing.T) {
	r := newRig(t)
	p := r.Create("t", map[string]string{"retention.bytes": "2000000", "segment.bytes": "-1"})
	p.Add(3000, 0, 100)
	p.Add(4000, 0, 1000)
	r.Tick()
	if got := p.Measured(); got < 2_000_000 || got > 2_030_000 {
		t.Errorf("%d bytes are left of 4.9 million, want 2 million", got)
	}
	v := p.View()
	p.Expect(v.LogStart, v.LogStart)
	before := v.LogStart
	r.Tick()
	if after := p.View().LogStart; after != before {
		t.Errorf("the log start moved from %d to %d although nothing was written", before, after)
	}
}

func TestDeleteRecordsStartDropsSegmentsAndTrims(t *testing.T) {
	r := newRig(t)
	p := r.Create("t", nil)
	p.Add(10, 0, 10)
	p.Seal()
	p.Add(10, 0, 10)
	p.Seal()
	p.Add(10, 0, 10)
	r.Do("HSET", p.Keys.Segments, "start", "15")
	r.Tick()
	p.Expect(15, 10, 20)
	r.Do("HSET", p.Keys.Segments, "start", "25")
	r.Tick()
	p.Expect(25, 25)
}

func TestHeadOfAnAdoptedStreamIsTrimmedInTheSealedSegmentToo(t *testing.T) {
	r := newRig(t)
	p := r.Create("t", map[string]string{"retention.ms": workertest.Hours(5), "segment.bytes": "1048576"})
	p.Add(5000, 6*hour, 1000)
	p.Add(2000, hour, 1000)
	p.Seal()
	p.Add(10, 0, 10)
	r.Tick()
	p.Expect(5000, 5000, 7000)
	seg := p.View().Segments[0]
	if seg.Base != 5000 || seg.Last != 6999 || seg.Bytes < 2_000_000 || seg.Bytes > 2_500_000 {
		t.Errorf("the registry says %+v", seg)
	}
}

func TestHandTrimmedStreamsAreNoTrouble(t *testing.T) {
	r := newRig(t)
	p := r.Create("t", map[string]string{"retention.ms": workertest.Hours(5)})
	p.Add(100, 6*hour, 10)
	p.Add(100, 0, 10)
	r.Do("XTRIM", p.Keys.Stream, "MAXLEN", "20")
	r.Tick()
	p.Expect(0, 180)
	r.Do("XTRIM", p.Keys.Stream, "MAXLEN", "0")
	r.Tick()
	p.Expect(0, -1)
}

// A command frees no more than 2,000 entries, or about 2 MB of large ones: Redis does nothing else meanwhile.
func TestNoCommandTrimsMuch(t *testing.T) {
	for _, bytes := range []int{10, 1000, 100_000} {
		t.Run(fmt.Sprint(bytes), func(t *testing.T) {
			r := newRig(t)
			p := r.Create("t", map[string]string{"retention.ms": workertest.Hours(5), "segment.bytes": "-1"})
			p.Add(min(400_000, 100<<20/bytes), 6*hour, bytes)
			p.Add(10, 0, bytes)
			start := p.Next - 10
			r.Do("CONFIG", "SET", "slowlog-max-len", "100000")
			r.Do("CONFIG", "SET", "slowlog-log-slower-than", "0") // from now on it has every command, those of scripts, too
			for p.View().LogStart < start || p.View().First.Seq < uint64(start) {
				r.Tick()
			}
			p.Expect(start, start)
			var trims [][]string
			for _, words := range commands(t, r) {
				if words[0] == "XTRIM" {
					trims = append(trims, words)
				}
			}
			most := min(2000, 2<<20/bytes)
			for i, words := range trims {
				limit, err := strconv.Atoi(words[len(words)-1])
				if rest := i == len(trims)-1 && !slices.Contains(words, "LIMIT"); !rest && (err != nil || limit > most) {
					t.Errorf("%v trims more than %d entries", words, most)
				}
			}
			if least := int(start) / most; len(trims) < least {
				t.Errorf("%d commands trimmed %d entries", len(trims), start)
			}
		})
	}
}

// commands are those in Redis's slow log, the oldest first.
func commands(t *testing.T, r *rig) (list [][]string) {
	t.Helper()
	m := r.Do("SLOWLOG", "GET", "100000")
	entries, err := m.ToArray()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range slices.Backward(entries) {
		fields, err := e.ToArray()
		if err != nil {
			t.Fatal(err)
		}
		words, err := fields[3].AsStrSlice()
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, words)
	}
	return list
}

func TestIdleSegmentsAreSealedByAge(t *testing.T) {
	r := newRig(t)
	p := r.Create("old", map[string]string{"segment.ms": workertest.Hours(2)})
	p.Add(10, 3*hour, 10)
	young := r.Create("young", map[string]string{"segment.ms": workertest.Hours(2)})
	young.Add(10, hour, 10)
	empty := r.Create("empty", map[string]string{"segment.ms": workertest.Hours(2)})
	one := r.Create("one", map[string]string{"segment.bytes": "-1"})
	one.Add(10, 30*24*hour, 10)
	one.Topic.Config.RetentionMs = -1
	r.Tick()
	p.Expect(0, 0, -1)
	young.Expect(0, 0)
	empty.Expect(0, -1)
	one.Expect(0, 0)
	if r.Seen.Sealed != 1 {
		t.Errorf("%d segments were sealed, want 1", r.Seen.Sealed)
	}
	r.Tick()
	p.Expect(0, 0, -1)
}

func TestSegmentsWhoseOwnerDoesNotRollAreSealedBySize(t *testing.T) {
	r := newRig(t)
	p := r.Create("t", map[string]string{"segment.bytes": "1048576"})
	p.Add(1200, 0, 1000)
	r.Tick()
	p.Expect(0, 0, -1)
	if seg := p.View().Segments[0]; seg.Last != 1199 || seg.Bytes < 1<<20 {
		t.Errorf("segment %+v", seg)
	}
	p.Add(500, 0, 1000)
	r.Tick()
	p.Expect(0, 0, 1200)
}

func TestUnsegmentedStreamIsAdoptedWhenItsTopicGetsSegments(t *testing.T) {
	r := newRig(t)
	p := r.Create("t", map[string]string{"segment.bytes": "-1"})
	p.Add(5000, 0, 1000)
	r.Tick()
	p.Expect(0, 0)
	p.Topic.Config = r.Schema.Effective("t", map[string]string{"segment.bytes": "1048576"})
	r.Tick()
	p.Expect(0, 0, -1)
}

// The rest of a large sealed stream is a hole in which the log starts: there is nothing to trim, and all else is still due.
func TestAHeadWithNothingToTrimHoldsNothingUp(t *testing.T) {
	r := newRig(t)
	p := r.Create("t", map[string]string{"retention.ms": workertest.Hours(5), "segment.bytes": "1048576"})
	p.Add(5000, 9*hour, 1000)
	p.Seal()
	p.Do("XTRIM", p.Keys.Segment(0), "MAXLEN", "0")
	p.Add(10, 6*hour, 10)
	p.Add(10, 0, 10)
	r.Do("HSET", p.Keys.Segments, "start", "4995", "s:0", fmt.Sprintf("sealed 0 4999 1 %d 1 5500000", p.Now()-9*hour.Milliseconds()))
	r.Tick()
	p.Expect(5010, 5010)
}

// A worker that died in a rewrite leaves a copy as large as the stream. Nobody goes on with it once the topic is not compacted any more.
func TestWhatAnUnfinishedRewriteLeftIsRemoved(t *testing.T) {
	r := newRig(t)
	p := r.Create("t", map[string]string{"retention.ms": "-1"})
	p.Add(10, 0, 10)
	r.Do("XADD", p.Keys.Copy, "1-1", "value", "v")
	r.Do("HSET", p.Keys.Segments, "holes:0", "40", "dense:0", "10 1")
	r.Tick()
	if n, _ := toInt(r.Do("EXISTS", p.Keys.Copy)); n != 0 {
		t.Error("the copy is left")
	}
	p.Expect(0, 0)
}

package copying_test

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/korvet-io/korvet/internal/worker/copying"
	"github.com/korvet-io/korvet/internal/worker/lifecycle"
	"github.com/korvet-io/korvet/internal/worker/tiertest"
	"github.com/korvet-io/korvet/internal/worker/workertest"
)

func TestSmallSegmentsAreGatheredAndLargeOnesSplit(t *testing.T) {
	c := tiertest.New(t)
	c.Set.RowGroupBytes, c.Set.TargetFileBytes = 20_000, 100_000
	p := c.Tiered("events", nil)
	for range 30 {
		p.AddSealed(10, time.Hour, 20)
	}
	c.Tick()
	if files, _ := c.Files(p); len(files) != 1 || files[0].Rows != 300 {
		t.Errorf("small segments are in %+v", files)
	}
	noise := strings.Repeat("x", 10)
	ms := c.Now()
	for i := range 30_000 {
		xadd(p, ms, "value", fmt.Sprintf("%x%s%d", i*i*7919, noise, i*31337))
	}
	p.Seal()
	c.Tick()
	c.Holds(p, 0, 30_300)
	files, _ := c.Files(p)
	if len(files) < 4 {
		t.Errorf("a large segment is in %d files", len(files)-1)
	}
	for _, f := range files[1 : len(files)-1] {
		if f.Bytes < 50_000 || f.Bytes > 150_000 {
			t.Errorf("a file of %d bytes, wanted are about 100000", f.Bytes)
		}
	}
	want := ""
	for _, f := range files {
		want += fmt.Sprintf("%d-%d ", f.First, f.Last)
	}
	got := ""
	started, rounds := 0, 0
	for _, e := range c.Events.List {
		switch e.State {
		case lifecycle.CopySegmentFinished:
			got += fmt.Sprintf("%d-%d ", e.First, e.Last)
		case lifecycle.CopySegmentStarted:
			started++
			if e.Table == "" || !strings.HasPrefix(e.Location, e.Table+"/") {
				t.Errorf("event %+v", e)
			}
		case lifecycle.CopiesEnded:
			rounds++
			continue
		}
		if e.Topic != "events" || e.TopicID != p.Topic.ID || !strings.HasPrefix(e.Location, "file://") {
			t.Errorf("event %+v", e)
		}
	}
	if got != want || started != len(files) || rounds != 2 {
		t.Errorf("told of %s, %d begun and %d rounds, want %s", got, started, rounds, want)
	}
}

func TestCopyLagHoldsSegmentsBack(t *testing.T) {
	for name, one := range map[string]struct {
		configs map[string]string
		end     int64
	}{
		"at once":                    {nil, 30},
		"by age":                     {map[string]string{"remote.copy.lag.ms": "1800000"}, 10},
		"by bytes":                   {map[string]string{"remote.copy.lag.ms": "80000000", "remote.copy.lag.bytes": "30000", "local.retention.bytes": "1000000"}, 20},
		"by local retention":         {map[string]string{"remote.copy.lag.ms": "-1", "local.retention.ms": "600000"}, 20},
		"by either":                  {map[string]string{"remote.copy.lag.ms": "1800000", "remote.copy.lag.bytes": "30000", "local.retention.bytes": "1000000"}, 20},
		"retention keeps for ever":   {map[string]string{"remote.copy.lag.ms": "-1", "retention.ms": "-1"}, 0},
		"nothing is to be copied":    {map[string]string{"remote.log.copy.disable": "true"}, 0},
		"not a topic that is tiered": {map[string]string{"remote.storage.enable": "false"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			c := tiertest.New(t)
			p := c.Tiered("events", one.configs)
			p.AddSealed(10, time.Hour, 2000)
			p.AddSealed(10, 20*time.Minute, 2000)
			p.AddSealed(10, time.Minute, 2000)
			p.Add(10, time.Second, 2000)
			noteBytes(p)
			c.Tick()
			if one.end == 0 {
				if c.Exists(p) {
					t.Error("there is a table")
				}
				return
			}
			c.Holds(p, 0, one.end)
		})
	}
}

// noteBytes adds to the registry what the sealed segments take.
func noteBytes(p *workertest.Part) {
	p.Helper()
	for _, seg := range p.View().Segments {
		weights, err := p.Shard.Weigh(p.Context(), []string{p.Keys.Segment(seg.Number)}, 0)
		if err != nil {
			p.Fatal(err)
		}
		p.Do("HSET", p.Keys.Segments, fmt.Sprintf("s:%d", seg.Number),
			fmt.Sprintf("sealed %d %d %d %d -1 %d", seg.Base, seg.Last, seg.FirstMs, seg.LastMs, weights[0]))
	}
}

// A leader that took over from one whose lease had not ended gives append times that are ahead of Redis's clock.
func TestAnAppendTimeAheadOfRedisHoldsNothingBack(t *testing.T) {
	c := tiertest.New(t)
	p := c.Tiered("events", nil)
	p.AddSealed(10, -time.Hour, 20)
	c.Tick()
	c.Holds(p, 0, 10)
}

func TestHistoryOfATopicIsCopied(t *testing.T) {
	c := tiertest.New(t)
	p := c.Create("old", map[string]string{"segment.bytes": "-1", "retention.ms": "-1"})
	p.Add(500, 48*time.Hour, 100)
	c.Tick()
	if v := p.View(); len(v.Segments) != 0 {
		t.Fatalf("an unsegmented topic has %d segments", len(v.Segments))
	}
	p.Topic.Configs["remote.storage.enable"] = "true"
	p.Topic.Config = c.Schema.Effective("old", p.Topic.Configs)
	c.Tick()
	c.Holds(p, 0, 500)
}

func TestTopicsThatAreNotTieredAreNotRead(t *testing.T) {
	c := tiertest.New(t)
	c.Do("CONFIG", "SET", "maxmemory-policy", "allkeys-lfu")
	p := c.Create("plain", nil)
	p.AddSealed(10, time.Hour, 10)
	accesses := func() int64 {
		m := c.Do("OBJECT", "FREQ", p.Keys.Segment(0))
		n, err := m.AsInt64()
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := accesses()
	for range 30 {
		c.Tick()
	}
	if after := accesses(); after != before {
		t.Errorf("accesses rose from %d to %d", before, after)
	}
}

func TestNothingToCopyCostsNoRequest(t *testing.T) {
	c := tiertest.New(t)
	p := c.Tiered("events", nil)
	p.AddSealed(10, time.Hour, 10)
	c.Tick()
	c.Tick()
	c.Store.Limit(-1, 0, nil)
	p.Add(10, 0, 10)
	for range 5 {
		c.Tick()
	}
	if n := c.Store.Passed(); n != 0 {
		t.Errorf("%d requests", n)
	}
}

func TestCopiesKeepTheRate(t *testing.T) {
	c := tiertest.New(t)
	c.Set.MaxBytesPerSecond = 10_000
	var waited atomic.Int64
	now := time.Now()
	c.Storage.Copier.SetClock(
		func() time.Time { return now.Add(time.Duration(waited.Load())) },
		func(_ context.Context, d time.Duration) error { waited.Add(int64(d)); return nil },
	)
	p := c.Tiered("events", nil)
	ms := c.Now()
	for i := range 2000 {
		xadd(p, ms, "value", fmt.Sprintf("%x", i*i*7919))
	}
	p.Seal()
	c.Tick()
	files, _ := c.Files(p)
	var bytes int64
	for _, f := range files {
		bytes += f.Bytes
	}
	least := time.Duration(float64(bytes)/10_000*float64(time.Second)) - 2*copying.RateStep
	if got := time.Duration(waited.Load()); got < least || got > least+time.Second {
		t.Errorf("%d bytes took %v, want about %v", bytes, got, least)
	}
	c.Holds(p, 0, 2000)
	before := waited.Load() // merging goes by the same limit
	if n, err := io.Copy(io.Discard, c.Storage.Copier.Slow(t.Context(), strings.NewReader(strings.Repeat("x", 20_000)))); n != 20_000 || err != nil {
		t.Fatalf("%d bytes, %v", n, err)
	}
	if got := time.Duration(waited.Load() - before); got < 2*time.Second-2*copying.RateStep || got > 3*time.Second {
		t.Errorf("20,000 bytes of a merge took %v, want about 2 s", got)
	}
}

func TestMemoryOfACopyIsBounded(t *testing.T) {
	const total = 256 << 20
	for _, bytes := range []int{1 << 10, 1 << 20} {
		t.Run(fmt.Sprint(bytes), func(t *testing.T) {
			c := tiertest.New(t)
			c.Set = copying.Settings{RowGroupBytes: 16 << 20, TargetFileBytes: 1 << 40, Threads: 1, MaxValueBytes: 100 << 20}
			p := c.Tiered("large", nil)
			large(c, p, total/bytes, bytes)
			p.Seal()
			noteBytes(p)
			runtime.GC()
			var before runtime.MemStats
			runtime.ReadMemStats(&before)
			defer debug.SetGCPercent(debug.SetGCPercent(20))
			most := &watermark{}
			c.Storage.Copier.Settings = func() copying.Settings { most.look(); return c.Set }
			c.Tick()
			grew := int64(most.most.Load()) - int64(before.HeapAlloc)
			t.Logf("%d MiB of memory for a segment of %d MiB", grew>>20, total>>20)
			if grew > 128<<20 {
				t.Errorf("copying took %d bytes", grew)
			}
			files, _ := c.Files(p)
			if len(files) != 1 || files[0].Rows != int64(total/bytes) {
				t.Errorf("files %+v", files)
			}
		})
	}
}

// watermark is the most memory that was seen in use.
type watermark struct {
	calls, most atomic.Uint64
}

func (w *watermark) look() {
	if w.calls.Add(1)%50 != 1 {
		return
	}
	var now runtime.MemStats
	runtime.ReadMemStats(&now)
	w.most.Store(max(w.most.Load(), now.HeapAlloc))
}

// large appends n values that do not compress.
func large(c *tiertest.Rig, p *workertest.Part, n, bytes int) {
	c.Helper()
	ms := c.Now() - 1000
	noise := make([]byte, bytes)
	state := uint64(1)
	var page rueidis.Commands
	for i := range n {
		for k := 0; k+8 <= len(noise); k += 8 {
			state = state*6364136223846793005 + 1442695040888963407
			for b := range 8 {
				noise[k+b] = byte(state >> (8 * b))
			}
		}
		page = append(page, p.Client.B().Arbitrary("XADD", p.Keys.Stream, fmt.Sprintf("%d-%d", ms, i), "value", string(noise), "timestamp", "1").Build())
		if len(page)*bytes >= 1<<20 || i == n-1 {
			for _, answer := range p.Client.DoMulti(c.Context(), page...) {
				if err := answer.Error(); err != nil {
					c.Fatal(err)
				}
			}
			page = page[:0]
		}
	}
	p.Next = int64(n)
	p.Do("HSET", p.Keys.State("T"), "last", fmt.Sprintf("%d-%d", ms, n-1))
}

package workertest

import (
	"fmt"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/korvet-io/korvet/internal/metadata"
	"github.com/korvet-io/korvet/internal/redisstream"
)

// Part is one partition of a rig's topic.
type Part struct {
	*Rig
	Keys  redisstream.Keys
	Topic *metadata.Topic
	Next  int64 // offset
	// Number is the partition's.
	Number int32
}

// Add appends n records of an age and size.
func (p *Part) Add(n int, age time.Duration, bytes int) {
	p.Helper()
	ms, value := p.Now()-age.Milliseconds(), strings.Repeat("v", bytes)
	for n > 0 {
		var page rueidis.Commands
		for range min(n, 1000) {
			id := fmt.Sprintf("%d-%d", ms, p.Next)
			page = append(page, p.Client.B().Arbitrary("XADD", p.Keys.Stream, id, "value", value, "timestamp", "1").Build())
			p.Next++
			n--
		}
		for _, answer := range p.Client.DoMulti(p.Context(), page...) {
			if err := answer.Error(); err != nil {
				p.Fatalf("add: %v", err)
			}
		}
	}
	p.Do("HSET", p.Keys.State("T"), "last", fmt.Sprintf("%d-%d", ms, p.Next-1))
}

// Seal seals the open segment as a roll does.
func (p *Part) Seal() {
	p.Helper()
	v := p.View()
	name := p.Keys.Segment(v.Open)
	p.Do("RENAME", p.Keys.Stream, name)
	p.Do("XGROUP", "CREATE", p.Keys.Stream, "x", "0", "MKSTREAM")
	p.Do("XGROUP", "DESTROY", p.Keys.Stream, "x")
	p.Do("XSETID", p.Keys.Stream, v.Last.String())
	text := fmt.Sprintf("sealed %d %d %d %d", v.First.Seq, v.Last.Seq, v.First.Ms, v.Last.Ms)
	p.Do("HSET", p.Keys.Segments, "open", fmt.Sprint(v.Open+1), "sealed", fmt.Sprint(v.Last.Seq), fmt.Sprintf("s:%d", v.Open), text)
}

// View is what a tick sees of it.
func (p *Part) View() redisstream.Glance {
	p.Helper()
	all, err := p.Shard.Glances(p.Context(), []redisstream.Keys{p.Keys})
	if err != nil || all[0].Err != nil {
		p.Fatalf("glance: %v, %+v", err, all)
	}
	return all[0]
}

// Expect checks where the log starts and which streams there are: the first offset of each, and -1 for an empty one.
func (p *Part) Expect(start int64, firsts ...int64) {
	p.Helper()
	v := p.View()
	if v.LogStart != start {
		p.Errorf("%s: the log starts at %d, want %d", p.Topic.Name, v.LogStart, start)
	}
	var got []int64
	for _, stream := range v.Streams(p.Keys) {
		id, found, err := p.Shard.FirstAt(p.Context(), stream, 0)
		if err != nil {
			p.Fatal(err)
		}
		if !found {
			id.Seq = ^uint64(0)
		}
		got = append(got, int64(id.Seq))
	}
	if fmt.Sprint(got) != fmt.Sprint(firsts) {
		p.Errorf("%s: streams start at %v, want %v", p.Topic.Name, got, firsts)
	}
	if end := redisstream.EndOffset(v.LastSeq); end != p.Next {
		p.Errorf("%s: the log ends at %d, want %d", p.Topic.Name, end, p.Next)
	}
}

// Measured is the memory of its streams in Redis, in bytes.
func (p *Part) Measured() int64 {
	p.Helper()
	v := p.View()
	weights, err := p.Shard.Weigh(p.Context(), v.Streams(p.Keys), 0)
	if err != nil {
		p.Fatal(err)
	}
	var total int64
	for _, w := range weights {
		total += w
	}
	return total
}

// Places checks where the log, its part in Redis and its part above the remote tier begin.
func (p *Part) Places(start, local, tiered int64) {
	p.Helper()
	if v := p.View(); v.LogStart != start || v.LocalStart != local || v.TieredEnd != tiered {
		p.Errorf("%s: log starts at %d, Redis at %d, tier ends at %d, want %d, %d, %d", p.Topic.Name, v.LogStart, v.LocalStart, v.TieredEnd, start, local, tiered)
	}
}

// AddSealed appends records and seals them.
func (p *Part) AddSealed(n int, age time.Duration, bytes int) {
	p.Helper()
	p.Add(n, age, bytes)
	p.Seal()
}

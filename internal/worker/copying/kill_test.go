package copying_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/korvet-io/korvet/internal/iceberg/storetest"
	"github.com/korvet-io/korvet/internal/redisstream"
	"github.com/korvet-io/korvet/internal/worker/tiertest"
	"github.com/korvet-io/korvet/internal/worker/workertest"
)

// everywhere checks that each of the offsets below end is in Redis or in the table, and in the table once.
func everywhere(c *tiertest.Rig, p *workertest.Part, end int64) {
	c.Helper()
	seen := make([]int, end)
	if _, ok := c.Tables.Find(p.Topic.ID); ok && c.Exists(p) {
		last := int64(-1)
		for _, r := range c.Rows(p) {
			if r.Offset <= last {
				c.Fatalf("offset %d of the table follows %d", r.Offset, last)
			}
			last = r.Offset
			seen[r.Offset]++
		}
	}
	v := p.View()
	for _, stream := range v.Streams(p.Keys) {
		sink := offsets{}
		if _, err := p.Shard.Range(p.Context(), stream, redisstream.ID{}, true, 100_000, &sink); err != nil {
			c.Fatal(err)
		}
		for _, o := range sink {
			seen[o]++
		}
	}
	for o, n := range seen {
		if n == 0 {
			c.Fatalf("offset %d is lost", o)
		}
	}
	if v.TieredEnd > 0 {
		if _, state := c.Files(p); state.Ends[p.Number] < v.TieredEnd {
			c.Fatalf("noted up to %d, the table ends at %d", v.TieredEnd, state.Ends[p.Number])
		}
	}
}

type offsets []int64

func (o *offsets) PutEntry(e *redisstream.Entry) bool {
	*o = append(*o, e.Record.Offset)
	return true
}

func TestWorkerThatDiesBetweenAnyTwoOperationsCopiesAllOnce(t *testing.T) {
	tiertest.OnEachPlace(t, func(t *testing.T, c *tiertest.Rig) {
		c.Set.TargetFileBytes, c.Set.RowGroupBytes, c.Set.Threads = 4000, 2000, 1
		number := 0
		try := func(commands, operations int, how storetest.How) (died bool) {
			number++
			p := c.Tiered(fmt.Sprintf("t%d", number), map[string]string{"local.retention.ms": "60000"})
			c.Topics.List = c.Topics.List[len(c.Topics.List)-1:]
			for range 3 {
				p.AddSealed(40, time.Hour, 50)
			}
			p.Add(3, 0, 50)
			died = c.Mortal(commands, operations, how).Works(c, 2)
			everywhere(c, p, p.Next)
			c.Storage = c.Worker("1/next")
			c.Storage.Gone = func(string) bool { return true }
			c.Storage.Copier = c.Copier(c.Shard)
			for range 3 {
				c.Tick()
			}
			c.Holds(p, 0, 120)
			p.Places(0, 120, 120)
			p.Expect(0, 120)
			return died
		}
		tiertest.AtEachLoss(t, tiertest.Places{Every: 1, Least: 10}, tiertest.Places{Every: 1, Least: 10}, try)
	})
}

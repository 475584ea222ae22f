package upkeep_test

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"

	objectstore "github.com/korvet-io/korvet/internal/iceberg/store"
	"github.com/korvet-io/korvet/internal/iceberg/storetest"
	"github.com/korvet-io/korvet/internal/iceberg/tables"
	"github.com/korvet-io/korvet/internal/redisstream"
	"github.com/korvet-io/korvet/internal/remote"
	"github.com/korvet-io/korvet/internal/worker/tiertest"
	"github.com/korvet-io/korvet/internal/worker/upkeep"
)

type noUpkeep struct{}

func (noUpkeep) TablesKept(_, _, _, _ map[string]int64) {}
func (noUpkeep) UpkeepDone(string, int)                 {}
func (noUpkeep) UpkeepFailed(string)                    {}

// keeperOn makes a keeper on a store and a Redis.
func keeperOn(c *tiertest.Rig, s objectstore.Store, redis *redisstream.Shard) *upkeep.Keeper {
	c.Helper()
	tier := tiertest.Tier(c, c.Root, c.Tables, s)
	return upkeep.New(upkeep.Dependencies{
		Redis: redis, Times: remote.NewReader(tier, remote.DefaultReaderSettings(), nil), Observer: noUpkeep{}, Log: slog.New(slog.DiscardHandler),
		Tables: func(topic uuid.UUID) (upkeep.Table, bool) {
			e, ok := c.Tables.Find(topic)
			return tier.Table(e), ok
		},
		Settings: func() upkeep.Settings {
			return upkeep.Settings{Snapshots: tables.Rules{MaxAge: time.Hour, MinCount: 1, MaxCount: 2}, NoMerge: true, OrphanAge: time.Hour}
		},
	})
}

// Retention raises the log start in Redis and takes files out of the table, on both sides of the tiers: a worker may die in between
// at any place. What is within retention is in the table once, and whoever goes on comes to the same end.
func TestWorkerThatDiesDuringRetentionOfATableKeepsWhatIsYoung(t *testing.T) {
	tiertest.OnEachPlace(t, func(t *testing.T, c *tiertest.Rig) {
		c.Set.TargetFileBytes, c.Set.RowGroupBytes, c.Set.Threads = 4000, 2000, 1
		number := 0
		try := func(commands, operations int, how storetest.How) (died bool) {
			number++
			p := c.Tiered(fmt.Sprintf("r%d", number), map[string]string{"local.retention.ms": "60000", "retention.ms": "-1"})
			c.Topics.List = c.Topics.List[len(c.Topics.List)-1:]
			for _, age := range []time.Duration{4 * time.Hour, 3 * time.Hour, time.Hour} {
				p.AddSealed(40, age, 50)
				c.Storage.Copier, c.Storage.Keeper = c.Copier(c.Shard), nil
				c.Tick()
			}
			c.Tick()
			c.Holds(p, 0, 120)
			p.Places(0, 120, 120)
			p.Topic.Config.RetentionMs = (2 * time.Hour).Milliseconds()
			m := c.Mortal(commands, operations, how)
			m.Storage.Keeper = keeperOn(c, m.Store, m.Storage.Redis.(*redisstream.Shard))
			died = m.Works(c, 4)
			if v := p.View(); v.LogStart > 80 {
				t.Fatalf("the log starts at %d: what is young begins at 80", v.LogStart)
			}
			rows := c.Rows(p)
			if n := len(rows); n < 40 || rows[n-1].Offset != 119 || rows[0].Offset != int64(120-n) {
				t.Fatalf("%d rows are in the table", n)
			}
			c.Storage = c.Worker("1/next")
			c.Storage.Gone = func(string) bool { return true }
			c.Storage.Copier, c.Storage.Keeper = c.Copier(c.Shard), keeperOn(c, c.Plain, c.Shard)
			for range 4 {
				if err := c.Storage.RunOnce(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			c.Holds(p, 80, 120)
			p.Places(80, 120, 120)
			return died
		}
		tiertest.AtEachLoss(t, tiertest.Places{Every: 8, Least: 8}, tiertest.Places{Every: 12, Least: 12}, try)
	})
}

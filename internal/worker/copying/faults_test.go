package copying_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	objectstore "github.com/korvet-io/korvet/internal/iceberg/store"
	"github.com/korvet-io/korvet/internal/iceberg/storetest"
	"github.com/korvet-io/korvet/internal/iceberg/tables"
	"github.com/korvet-io/korvet/internal/redisstream"
	"github.com/korvet-io/korvet/internal/worker/tiertest"
	"github.com/korvet-io/korvet/internal/worker/workertest"
)

func TestStoreThatIsAwayForAnHourCostsNothing(t *testing.T) {
	c := tiertest.New(t)
	p := c.Tiered("events", map[string]string{"local.retention.ms": "60000", "retention.ms": "36000000"})
	other := c.Create("plain", map[string]string{"retention.ms": "1800000"})
	other.AddSealed(10, time.Hour, 10)
	c.Store.Limit(0, storetest.Before, nil)
	for range 60 {
		p.AddSealed(10, 2*time.Hour, 10)
		c.Tick()
	}
	p.Places(0, 0, 0)
	if v := p.View(); len(v.Segments) != 60 {
		t.Errorf("%d segments are left", len(v.Segments))
	}
	other.Expect(10, -1)
	if n := c.Count("not all that is due was copied"); n != 1 {
		t.Errorf("logged %d times that the store is away:\n%.2000s", n, c.Logged)
	}
	if c.Copied.Failures["table"] != 60 || c.Copied.Lag["events"] != 60 || c.Copied.Offsets["events"] != 600 || c.Copied.Oldest["events"] < 2*time.Hour {
		t.Errorf("told %+v", c.Copied)
	}
	c.Store.Limit(-1, storetest.Before, nil)
	c.Tick()
	c.Tick()
	c.Holds(p, 0, 600)
	p.Places(0, 600, 600)
	if c.Count("works again") != 1 || c.Copied.Lag["events"] != 0 {
		t.Errorf("told %+v, logged\n%.2000s", c.Copied, c.Logged)
	}
}

// full is a store whose disk has no room for data files.
type full struct {
	objectstore.Store
	full bool
}

func (f *full) Put(ctx context.Context, location string, body io.Reader) error {
	if !f.full {
		return f.Store.Put(ctx, location, body)
	}
	_, err := io.CopyN(io.Discard, body, 100)
	return errors.Join(err, fmt.Errorf("write %s: %w", location, objectstore.ErrFull))
}

func TestFullDiskIsToldOnceAndCaughtUpWith(t *testing.T) {
	c := tiertest.New(t)
	disk := &full{Store: c.Plain, full: true}
	c.Storage.Copier.Tables = c.TablesOn(disk)
	p := c.Tiered("events", map[string]string{"local.retention.ms": "60000", "retention.ms": "36000000"})
	for n := range 20 {
		p.AddSealed(10, 2*time.Hour, 10)
		c.Tick()
		if c.Copied.Lag["events"] != int64(n+1) {
			t.Fatalf("after %d segments %d are told to wait", n+1, c.Copied.Lag["events"])
		}
	}
	p.Places(0, 0, 0)
	if v := p.View(); len(v.Segments) != 20 {
		t.Errorf("%d segments are left in Redis", len(v.Segments))
	}
	if n := c.Count("not all that is due was copied"); n != 1 || c.Copied.Failures["copy"] != 20 {
		t.Errorf("logged %d times that the disk is full, counted %d:\n%.2000s", n, c.Copied.Failures["copy"], c.Logged)
	}
	disk.full = false
	c.Tick()
	c.Tick()
	c.Tick()
	c.Holds(p, 0, 200)
	p.Places(0, 200, 200)
	if c.Count("works again") != 1 || c.Copied.Lag["events"] != 0 {
		t.Errorf("told %+v, logged\n%.2000s", c.Copied, c.Logged)
	}
}

func TestTotalRetentionLetsGoWhatCouldNotBeCopied(t *testing.T) {
	c := tiertest.New(t)
	c.Store.Limit(0, storetest.Before, nil)
	p := c.Tiered("events", map[string]string{"local.retention.ms": "60000", "retention.ms": "3600000"})
	p.AddSealed(10, 2*time.Hour, 10)
	p.AddSealed(10, 10*time.Minute, 10)
	c.Tick()
	p.Expect(10, 10, -1)
	c.Store.Limit(-1, storetest.Before, nil)
	c.Tick()
	c.Holds(p, 10, 20)
}

func TestOperationsThatAreNotAnsweredAreLookedAfter(t *testing.T) {
	c := tiertest.New(t)
	c.Set.TargetFileBytes, c.Set.RowGroupBytes = 4000, 2000
	for n, cut := 0, true; cut; n++ {
		p := c.Tiered(fmt.Sprintf("t%d", n), map[string]string{"local.retention.ms": "60000"})
		c.Topics.List = c.Topics.List[len(c.Topics.List)-1:]
		for range 3 {
			p.AddSealed(40, time.Hour, 50)
		}
		c.Store.Limit(n, storetest.After, nil)
		c.Tick()
		if cut = c.Store.Dead(); cut && n > 50 {
			t.Fatal("no end of operations")
		}
		everywhere(c, p, p.Next)
		c.Store.Limit(-1, storetest.Before, nil)
		c.Tick()
		c.Tick()
		c.Holds(p, 0, 120)
		p.Places(0, 120, 120)
	}
}

func TestWorkerThatWasPausedBeyondItsLeaseMovesNothingBack(t *testing.T) {
	for _, paused := range []string{".parquet", "/v2.metadata.json", ".avro"} {
		c := tiertest.New(t)
		p := c.Tiered("events", map[string]string{"local.retention.ms": "60000"})
		p.AddSealed(100, time.Hour, 10)
		at, goOn := make(chan struct{}), make(chan struct{})
		c.Gated(paused, func() { close(at); <-goOn })
		zombie := c.Storage
		done := make(chan error, 1)
		go func() { done <- zombie.RunOnce(t.Context()) }()
		<-at
		c.Storage = c.Worker("1/next")
		c.Storage.Gone = func(string) bool { return true }
		c.Storage.Copier = c.Copier(c.Shard)
		c.Tick()
		p.AddSealed(50, time.Hour, 10)
		c.Tick()
		c.Holds(p, 0, 150)
		_, before := c.Files(p)
		close(goOn)
		if err := <-done; !errors.Is(err, redisstream.ErrFenced) {
			t.Errorf("paused before %s: %v, want ErrFenced", paused, err)
		}
		c.Holds(p, 0, 150)
		if _, after := c.Files(p); after.Snapshot() != before.Snapshot() || after.Fence != before.Fence {
			t.Errorf("paused before %s: fence %d, before %d", paused, after.Fence, before.Fence)
		}
		_ = zombie.RunOnce(t.Context())
		c.Tick()
		c.Holds(p, 0, 150)
		p.Places(0, 150, 150)
	}
}

func TestCommitsOfOthersMeanwhileAreKept(t *testing.T) {
	c := tiertest.New(t)
	p := c.Tiered("events", nil)
	p.AddSealed(10, time.Hour, 10)
	c.Tick()
	p.AddSealed(10, time.Hour, 10)
	c.Gated("/v3.metadata.json", func() { // it has read v2
		table := c.Opened(p)
		state, err := table.State(t.Context())
		if err == nil {
			_, err = table.SetProperties(t.Context(), state, map[string]string{"engine": "was here"})
		}
		if err != nil {
			t.Error(err)
		}
	})
	c.Tick()
	c.Holds(p, 0, 20)
	if _, state := c.Files(p); !strings.Contains(string(state.Raw()), "was here") {
		t.Error("what an engine committed is gone")
	}
	if len(c.Copied.Failures) != 0 || c.Copied.Files != 2 {
		t.Errorf("told %+v", c.Copied)
	}
}

func TestTablesAndLogsThatDoNotFitAreLeftAlone(t *testing.T) {
	c := tiertest.New(t)
	p := c.Tiered("events", map[string]string{"local.retention.ms": "60000"})
	other := c.Another(p.Topic)
	for _, one := range []*workertest.Part{p, other} {
		one.AddSealed(10, time.Hour, 10)
		one.AddSealed(10, time.Second, 10)
	}
	table := c.Table(p)
	if err := table.Create(t.Context()); err != nil {
		t.Fatal(err)
	}
	state, err := table.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ahead := tables.Added{Partition: 0, Location: table.Location() + "/data/elsewhere.parquet", Bytes: 4, End: 30}
	ahead.Rows, ahead.FirstOffset, ahead.LastOffset = 30, 0, 29
	if _, err := table.Append(t.Context(), state, 1, []tables.Added{ahead}); err != nil {
		t.Fatal(err)
	}
	c.Tick()
	c.Tick()
	p.Places(0, 0, 0) // Redis has lost what is in the table: nothing of it may be dropped
	c.Holds(other, 0, 20)
	other.Places(0, 10, 20)
	if c.Count("nobody has led the log since: the log ends at 20, the table at 30") != 1 {
		t.Errorf("logged\n%s", c.Logged)
	}
	c.Topics.List = nil
	lost := c.Tiered("lost", nil)
	lost.AddSealed(10, time.Hour, 10)
	lost.Do("HSET", lost.Keys.Segments, "tiered", "10", "local", "5")
	c.Tick()
	if c.Exists(lost) || c.Copied.Failures["table"] == 0 {
		t.Error("a table that is gone was made anew, without what it had")
	}
}

package worker_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/korvet-io/korvet/internal/partition"
	"github.com/korvet-io/korvet/internal/redisstream"
	"github.com/korvet-io/korvet/internal/worker/tiertest"
	"github.com/korvet-io/korvet/internal/worker/workertest"
)

// caughtCopying is a worker in the midst of copying a partition, until the channel is closed.
func caughtCopying(t *testing.T) (*tiertest.Rig, *workertest.Part, chan struct{}) {
	t.Helper()
	c := tiertest.New(t)
	p := c.Tiered("events", nil)
	p.AddSealed(10, time.Hour, 10)
	at, goOn := make(chan struct{}), make(chan struct{})
	c.Gated(".parquet", func() { close(at); <-goOn })
	if err := c.Storage.BeginTick(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-at
	return c, p, goOn
}

func TestCopyingEndsWithTheLease(t *testing.T) {
	c, p, goOn := caughtCopying(t)
	c.Storage.Leave()
	close(goOn)
	if err := c.Storage.EndCopies(); !errors.Is(err, redisstream.ErrLeaseLost) {
		t.Errorf("the copy ended with %v", err)
	}
	if files, _ := c.Files(p); len(files) != 0 {
		t.Errorf("%d files were committed", len(files))
	}
}

func TestSlowStoreHoldsUpNothingElse(t *testing.T) {
	c := tiertest.New(t)
	p := c.Tiered("events", nil)
	other := c.Create("plain", map[string]string{"retention.ms": "1800000"})
	p.AddSealed(10, time.Hour, 10)
	goOn := make(chan struct{})
	c.Gated(".parquet", func() { <-goOn })
	for range 3 {
		other.AddSealed(10, time.Hour, 10)
		if err := c.Storage.BeginTick(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	other.Expect(30, -1)
	close(goOn)
	if err := c.Storage.EndCopies(); err != nil {
		t.Fatal(err)
	}
	c.Holds(p, 0, 10)
}

func TestTopicThatIsNotToBeCopiedAnyMoreEndsItsCopies(t *testing.T) {
	c, p, goOn := caughtCopying(t)
	changed := *p.Topic
	changed.Config.RemoteCopyDisable = true
	c.Topics.List = nil
	c.Topics.List = append(c.Topics.List, &changed)
	c.Storage.KeepCopies()
	close(goOn)
	if err := c.Storage.EndCopies(); err != nil {
		t.Errorf("the copy ended with %v", err)
	}
	c.Tick()
	if files, _ := c.Files(p); len(files) != 0 {
		t.Errorf("%d files were committed", len(files))
	}
	c.Topics.List[0] = p.Topic
	c.Tick()
	c.Holds(p, 0, 10)
}

func TestLocalRetentionByBytes(t *testing.T) {
	c := tiertest.New(t)
	p := c.Tiered("events", map[string]string{"local.retention.bytes": "50000"})
	for range 5 {
		p.AddSealed(10, time.Minute, 2000)
	}
	p.Add(5, 0, 2000)
	c.Tick()
	p.Places(0, 0, 50)
	c.Tick()
	v := p.View()
	open, sealed := c.Storage.Sizes(partition.Ref{Topic: p.Topic.Name, ID: p.Topic.ID})
	var rest int64
	for _, seg := range v.Segments[1:] {
		rest += sealed[seg.Number]
	}
	if total := p.Measured(); total < 50_000 || rest+open >= 50_000 {
		t.Errorf("%d bytes are left, %d without the oldest segment", total, rest)
	}
	if v.LocalStart == 0 || v.LogStart != 0 {
		t.Errorf("view %+v", v.View)
	}
	c.Holds(p, 0, 50)
}

func TestLocalRetentionThatIsTheTotalDropsNothingEarlier(t *testing.T) {
	c := tiertest.New(t)
	p := c.Tiered("events", map[string]string{"retention.ms": "7200000", "retention.bytes": "1000000"})
	p.AddSealed(10, time.Hour, 10)
	for range 3 {
		c.Tick()
	}
	p.Places(0, 0, 10)
}

// Values in the table are plain: dictionaries go with the last frames in Redis.
func TestDictionariesGoWhenTheirRecordsAreInTheTableAlone(t *testing.T) {
	c := tiertest.New(t)
	p := c.Tiered("events", map[string]string{"local.retention.ms": "60000"}) // its values are stored as they are
	uses := func(id int) {
		p.Do("HSET", p.Keys.Dictionaries, fmt.Sprint(id), "blob")
		p.Do("HSET", p.Keys.State("T"), fmt.Sprint("d:", id), fmt.Sprint(p.Next))
	}
	uses(1)
	p.AddSealed(10, time.Hour, 10)
	uses(2)
	p.AddSealed(10, 0, 10)
	c.Tick()
	if n := p.View().Dictionaries; n != 2 {
		t.Errorf("%d dictionaries while Redis has the records", n)
	}
	c.Tick()
	p.Places(0, 10, 20)
	c.Tick()
	if n := p.View().Dictionaries; n != 1 {
		t.Errorf("%d dictionaries once the first segment was dropped", n)
	}
}

package worker

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/korvet-io/korvet/internal/partition"
	"github.com/korvet-io/korvet/internal/redisstream"
)

func TestCopyingEndsWithTheLease(t *testing.T) {
	c := newCopyRig(t)
	p := c.tiered("events", nil)
	p.addSealed(10, time.Hour, 10)
	at, goOn := make(chan struct{}), make(chan struct{})
	c.gated(".parquet", func() { close(at); <-goOn })
	if err := c.storage.BeginTick(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-at
	c.storage.Leave()
	close(goOn)
	if err := c.storage.EndCopies(); !errors.Is(err, redisstream.ErrLeaseLost) {
		t.Errorf("the copy ended with %v", err)
	}
	if files, _ := c.files(p); len(files) != 0 {
		t.Errorf("%d files were committed", len(files))
	}
}

func TestSlowStoreHoldsUpNothingElse(t *testing.T) {
	c := newCopyRig(t)
	p := c.tiered("events", nil)
	other := c.create("plain", map[string]string{"retention.ms": "1800000"})
	p.addSealed(10, time.Hour, 10)
	goOn := make(chan struct{})
	c.gated(".parquet", func() { <-goOn })
	for range 3 {
		other.addSealed(10, time.Hour, 10)
		if err := c.storage.BeginTick(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	other.expect(30, -1)
	close(goOn)
	if err := c.storage.EndCopies(); err != nil {
		t.Fatal(err)
	}
	c.holds(p, 0, 10)
}

func TestTopicThatIsNotToBeCopiedAnyMoreEndsItsCopies(t *testing.T) {
	c := newCopyRig(t)
	p := c.tiered("events", nil)
	p.addSealed(10, time.Hour, 10)
	at, goOn := make(chan struct{}), make(chan struct{})
	c.gated(".parquet", func() { close(at); <-goOn })
	if err := c.storage.BeginTick(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-at
	changed := *p.topic
	changed.Config.RemoteCopyDisable = true
	c.topics.topics = nil
	c.topics.topics = append(c.topics.topics, &changed)
	c.storage.KeepCopies()
	close(goOn)
	if err := c.storage.EndCopies(); err != nil {
		t.Errorf("the copy ended with %v", err)
	}
	c.tick()
	if files, _ := c.files(p); len(files) != 0 {
		t.Errorf("%d files were committed", len(files))
	}
	c.topics.topics[0] = p.topic
	c.tick()
	c.holds(p, 0, 10)
}

func TestLocalRetentionByBytes(t *testing.T) {
	c := newCopyRig(t)
	p := c.tiered("events", map[string]string{"local.retention.bytes": "50000"})
	for range 5 {
		p.addSealed(10, time.Minute, 2000)
	}
	p.add(5, 0, 2000)
	c.tick()
	p.places(0, 0, 50)
	c.tick()
	v := p.view()
	open, sealed := c.storage.Sizes(partition.Ref{Topic: p.topic.Name, ID: p.topic.ID})
	var rest int64
	for _, seg := range v.Segments[1:] {
		rest += sealed[seg.Number]
	}
	if total := p.measured(); total < 50_000 || rest+open >= 50_000 {
		t.Errorf("%d bytes are left, %d without the oldest segment", total, rest)
	}
	if v.LocalStart == 0 || v.LogStart != 0 {
		t.Errorf("view %+v", v.View)
	}
	c.holds(p, 0, 50)
}

func TestLocalRetentionThatIsTheTotalDropsNothingEarlier(t *testing.T) {
	c := newCopyRig(t)
	p := c.tiered("events", map[string]string{"retention.ms": "7200000", "retention.bytes": "1000000"})
	p.addSealed(10, time.Hour, 10)
	for range 3 {
		c.tick()
	}
	p.places(0, 0, 10)
}

// Values in the table are plain: dictionaries go with the last frames in Redis.
func TestDictionariesGoWhenTheirRecordsAreInTheTableAlone(t *testing.T) {
	c := newCopyRig(t)
	p := c.tiered("events", map[string]string{"local.retention.ms": "60000"}) // its values are stored as they are
	uses := func(id int) {
		p.do("HSET", p.keys.Dictionaries, fmt.Sprint(id), "blob")
		p.do("HSET", p.keys.State("T"), fmt.Sprint("d:", id), fmt.Sprint(p.next))
	}
	uses(1)
	p.addSealed(10, time.Hour, 10)
	uses(2)
	p.addSealed(10, 0, 10)
	c.tick()
	if n := p.view().Dictionaries; n != 2 {
		t.Errorf("%d dictionaries while Redis has the records", n)
	}
	c.tick()
	p.places(0, 10, 20)
	c.tick()
	if n := p.view().Dictionaries; n != 1 {
		t.Errorf("%d dictionaries once the first segment was dropped", n)
	}
}

package worker

import (
	"testing"
	"time"
)

func TestSealedSegmentsAreCopiedOnceAndThenDropped(t *testing.T) {
	c := newCopyRig(t)
	p := c.tiered("orders", map[string]string{"local.retention.ms": "60000"})
	p.AddSealed(100, time.Hour, 10)
	p.AddSealed(50, 30*time.Second, 10)
	p.Add(5, 0, 10)
	c.Tick()
	c.holds(p, 0, 150)
	p.Places(0, 0, 150) // a later round of the tick has read what the first committed
	if files, _ := c.files(p); len(files) != 1 {
		t.Errorf("%d files of two small segments", len(files))
	}
	c.Tick()
	p.Places(0, 100, 150)
	p.Expect(0, 100, 150)
	c.Tick()
	c.holds(p, 0, 150)
	if c.copied.segments != 2 || c.copied.files != 1 || len(c.copied.failures) != 0 {
		t.Errorf("told %+v", c.copied)
	}
}

package copying_test

import (
	"testing"
	"time"

	"github.com/korvet-io/korvet/internal/worker/tiertest"
)

func TestSealedSegmentsAreCopiedOnceAndThenDropped(t *testing.T) {
	c := tiertest.New(t)
	p := c.Tiered("orders", map[string]string{"local.retention.ms": "60000"})
	p.AddSealed(100, time.Hour, 10)
	p.AddSealed(50, 30*time.Second, 10)
	p.Add(5, 0, 10)
	c.Tick()
	c.Holds(p, 0, 150)
	p.Places(0, 0, 150) // a later round of the tick has read what the first committed
	if files, _ := c.Files(p); len(files) != 1 {
		t.Errorf("%d files of two small segments", len(files))
	}
	c.Tick()
	p.Places(0, 100, 150)
	p.Expect(0, 100, 150)
	c.Tick()
	c.Holds(p, 0, 150)
	if c.Copied.Segments != 2 || c.Copied.Files != 1 || len(c.Copied.Failures) != 0 {
		t.Errorf("told %+v", c.Copied)
	}
}

package worker

import (
	"testing"
	"time"

	objectstore "github.com/korvet-io/korvet/internal/iceberg/store"
	"github.com/korvet-io/korvet/internal/iceberg/storetest"
)

func TestSegmentsAreCopiedToAnS3Server(t *testing.T) {
	s3 := storetest.Start(t)
	root := s3.Location() + "/tier"
	plain, err := objectstore.Open(t.Context(), root, s3.Options(""))
	if err != nil {
		t.Fatal(err)
	}
	c := newCopyRigOn(newBase(t), root, plain)
	c.set.TargetFileBytes, c.set.RowGroupBytes = 30_000, 10_000
	p := c.tiered("events", map[string]string{"local.retention.ms": "60000"})
	other := c.another(p.topic)
	for range 3 {
		p.addSealed(1000, time.Hour, 50)
		other.addSealed(500, time.Hour, 50)
	}
	for n := range 3 { // what is sent is not answered, then the worker goes on
		c.store.Limit(4+5*n, storetest.After, nil)
		c.tick()
		everywhere(c, p, p.next)
	}
	c.store.Limit(-1, storetest.Before, nil)
	c.tick()
	c.tick()
	c.holds(p, 0, 3000)
	c.holds(other, 0, 1500)
	p.places(0, 3000, 3000)
	other.places(0, 1500, 1500)
}

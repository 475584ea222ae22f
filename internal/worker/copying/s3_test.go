package copying_test

import (
	"testing"
	"time"

	objectstore "github.com/korvet-io/korvet/internal/iceberg/store"
	"github.com/korvet-io/korvet/internal/iceberg/storetest"
	"github.com/korvet-io/korvet/internal/worker/tiertest"
	"github.com/korvet-io/korvet/internal/worker/workertest"
)

func TestSegmentsAreCopiedToAnS3Server(t *testing.T) {
	s3 := storetest.Start(t)
	root := s3.Location() + "/tier"
	plain, err := objectstore.Open(t.Context(), root, s3.Options(""))
	if err != nil {
		t.Fatal(err)
	}
	c := tiertest.On(workertest.New(t), root, plain)
	c.Set.TargetFileBytes, c.Set.RowGroupBytes = 30_000, 10_000
	p := c.Tiered("events", map[string]string{"local.retention.ms": "60000"})
	other := c.Another(p.Topic)
	for range 3 {
		p.AddSealed(1000, time.Hour, 50)
		other.AddSealed(500, time.Hour, 50)
	}
	for n := range 3 { // what is sent is not answered, then the worker goes on
		c.Store.Limit(4+5*n, storetest.After, nil)
		c.Tick()
		everywhere(c, p, p.Next)
	}
	c.Store.Limit(-1, storetest.Before, nil)
	c.Tick()
	c.Tick()
	c.Holds(p, 0, 3000)
	c.Holds(other, 0, 1500)
	p.Places(0, 3000, 3000)
	other.Places(0, 1500, 1500)
}

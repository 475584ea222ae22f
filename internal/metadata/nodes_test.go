package metadata

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/korvet-io/korvet/internal/redistest"
)

func TestNewerBrokerWithTheSameIDStopsTheOlderOne(t *testing.T) {
	redis := redistest.Start(t)
	opt := options(t, 1)
	opt.Heartbeat = time.Millisecond
	older := open(t, redis, opt)
	stopped := make(chan error, 1)
	go func() { stopped <- older.Run(context.Background()) }()
	newer := open(t, redis, options(t, 1))
	if err := <-stopped; !errors.Is(err, ErrSuperseded) {
		t.Errorf("the older one ended with %v, want ErrSuperseded", err)
	}
	if err := newer.Heartbeat(t.Context()); err != nil {
		t.Errorf("the newer one: %v", err)
	}
	if _, err := older.Create(t.Context(), "t", 1, nil); !errors.Is(err, ErrSuperseded) {
		t.Errorf("create on the older one: %v, want ErrSuperseded", err)
	}
	if err := older.Leave(t.Context()); err != nil {
		t.Errorf("leave: %v", err)
	}
	if err := newer.Heartbeat(t.Context()); err != nil || len(newer.Nodes()) != 1 || newer.Nodes()[0].BootID != newer.Self().BootID {
		t.Errorf("brokers %+v, %v, want the newer one alone", newer.Nodes(), err)
	}
}

func TestBootIDsRiseAlthoughTheClockWentBack(t *testing.T) {
	redis := redistest.Start(t)
	redis.Do("HSET", "korvet:meta", "format", "1", "cluster_id", "c")
	redis.Do("HSET", "korvet:broker:nodes", "1", `{"id":1,"boot":"0fffffff-ffff-7000-8000-000000000000"}`)
	s := open(t, redis, options(t, 1))
	if id := s.Self().BootID.String(); id <= "0fffffff-ffff-7000-8000-000000000000" {
		t.Errorf("boot id %s is not above the one before", id)
	}
}

func TestBrokersSeeWhoLives(t *testing.T) {
	redis := redistest.Start(t)
	a := open(t, redis, options(t, 2))
	b := open(t, redis, options(t, 1))
	redis.Do("HSET", "korvet:broker:nodes", "3", `{"id":3,"boot":"01890a5d-ac96-774b-bcce-b302099a8057","host":"dead","port":1,"seen":1000}`)
	if err := a.Heartbeat(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := a.Nodes(); len(n) != 2 || n[0].ID != 1 || n[1].ID != 2 || n[0].Host != "localhost" || n[0].Port != 9092 {
		t.Errorf("live brokers %+v, want 1 and 2", n)
	}
	if err := b.Leave(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := a.Heartbeat(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := a.Nodes(); len(n) != 1 || n[0].ID != 2 {
		t.Errorf("live brokers %+v after 1 left, want 2", n)
	}
}

func TestBrokerComesBackAfterRedisForgotIt(t *testing.T) {
	redis := redistest.Start(t)
	s := open(t, redis, options(t, 1))
	redis.Do("DEL", "korvet:broker:nodes")
	if err := s.Heartbeat(t.Context()); err != nil || len(s.Nodes()) != 1 {
		t.Errorf("brokers %+v, %v, want this one", s.Nodes(), err)
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	s := open(t, redistest.Start(t), options(t, 1))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Run(ctx); err != nil {
		t.Errorf("run: %v", err)
	}
}

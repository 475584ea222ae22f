package migrate_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/korvet-io/korvet/internal/migrate"
)

// Two brokers on two Redis: the topic keeps its name, gets another codec and more partitions, a run is killed, the
// producers go on until the cutover is ready, and a group goes on in the other cluster.
func TestATopicMovesToAnotherClusterWhileItIsWritten(t *testing.T) {
	from, to := newWorld(t), newWorld(t)
	from.create("orders", 2, "retention.ms", "123456789")
	from.fill("orders", 2, 400)
	from.commit("billing", "orders", map[int32]int64{0: 50, 1: 70})
	codec := "zstd"
	options := func(partitions int32) migrate.Options {
		o := from.options(from.client, "orders", "orders", partitions)
		o.To, o.Configs = migrate.NewCluster(to.client), map[string]*string{"storage.compression.type": &codec}
		return o
	}
	plan, err := migrate.MakePlan(t.Context(), options(3), true)
	if err != nil || plan.Exists || len(plan.Problems) > 0 || plan.Configs["retention.ms"] != "123456789" {
		t.Fatalf("plan: %v, %+v", err, plan)
	}
	from.cutShort(to, options(3))

	follower, err := migrate.Open(t.Context(), options(3))
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- follower.Copy(t.Context(), true) }()
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			default:
				r := &kgo.Record{Topic: "orders", Partition: int32(n % 2), Key: fmt.Appendf(nil, "key-%d", n%50), Headers: []kgo.RecordHeader{{Key: "serial", Value: fmt.Appendf(nil, "late-%d", n)}}}
				if err := from.client.ProduceSync(t.Context(), r).FirstErr(); err != nil {
					t.Errorf("produce: %v", err)
					return
				}
			}
		}
	}()
	m, err := migrate.Open(t.Context(), options(0))
	if err != nil {
		t.Fatal(err)
	}
	ready := func() { close(stop); <-stopped }
	result, err := m.Cutover(t.Context(), migrate.CutoverOptions{Quiet: time.Millisecond, Timeout: patience, Ready: ready})
	if err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, migrate.ErrTakenOver) {
		t.Errorf("the follower: %v", err)
	}
	from.sameAt(to, "orders", "orders")
	if len(result.Groups) != 1 || result.Groups[0].Done != "translated" {
		t.Fatalf("groups: %+v", result.Groups)
	}
	from.checkGroup(to, result.Groups[0], "orders", false)
	from.hasNot(migrate.JournalName("orders"))
	settings, err := to.admin.DescribeTopicConfigs(t.Context(), "orders")
	if err != nil {
		t.Fatal(err)
	}
	own, _ := settings.On("orders", nil)
	for _, c := range own.Configs {
		if c.Key == "storage.compression.type" && c.MaybeValue() != codec {
			t.Errorf("the codec is %s", c.MaybeValue())
		}
	}
}

// cutShort begins to copy over a connection to the target that breaks after a while.
func (w *world) cutShort(to *world, o migrate.Options) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	c := &cord{broken: cancel}
	c.left.Store(16)
	client := to.open(kgo.Dialer(c.dial))
	defer client.Close()
	o.To = migrate.NewCluster(client)
	m, err := migrate.Open(ctx, o)
	if err == nil {
		err = m.Copy(ctx, true)
	}
	if err == nil || c.left.Load() >= 0 {
		w.t.Fatalf("the run was not cut: %v", err)
	}
}

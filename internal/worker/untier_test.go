package worker

import (
	"context"
	"errors"
	"testing"

	"github.com/google/uuid"

	"github.com/korvet-io/korvet/internal/metadata"
	"github.com/korvet-io/korvet/internal/redisstream"
	"github.com/korvet-io/korvet/internal/worker/copying"
	"github.com/korvet-io/korvet/internal/worker/workertest"
)

// tableList is a list of tables.
type tableList struct {
	tables  []metadata.Table
	dropped []metadata.Table
	fails   error
}

func (l *tableList) TableOf(topic uuid.UUID) (metadata.Table, bool) {
	for _, t := range l.tables {
		if t.TopicID == topic {
			return t, true
		}
	}
	return metadata.Table{}, false
}

func (l *tableList) DropTable(_ context.Context, t metadata.Table) error {
	if l.fails == nil {
		l.tables, l.dropped = nil, append(l.dropped, t)
	}
	return l.fails
}

// half is a topic of which the table has two segments, and Redis the second and what came after.
func (r *rig) half(configs map[string]string) (*workertest.Part, *tableList) {
	r.Helper()
	p := r.Create("t", configs)
	p.Topic.Partitions = 2 // the second one was never written to
	for range 2 {
		p.Add(10, 0, 10)
		p.Seal()
	}
	p.Add(5, 0, 10)
	r.Tick()
	claim := redisstream.Claim{TopicID: p.View().TopicID, Fence: r.storage.lease.fence}
	if _, err := r.Shard.SetTiered(r.Context(), p.Keys, claim, 20); err != nil {
		r.Fatal(err)
	}
	if _, err := r.Shard.DropSegment(r.Context(), p.Keys, claim, p.View().Segments[0]); err != nil {
		r.Fatal(err)
	}
	tables := &tableList{tables: []metadata.Table{{Name: "t", Topic: "t", TopicID: p.Topic.ID, Location: "file:///tier/korvet/t"}}}
	r.storage.TableList = tables
	return p, tables
}

func TestALogWithoutItsRemoteTierStartsAtWhatRedisHas(t *testing.T) {
	r := newRig(t)
	p, tables := r.half(map[string]string{"remote.log.delete.on.disable": "true"})
	if v := p.View(); v.LogStart != 0 || v.LocalStart != 10 {
		t.Fatalf("before: %+v", v.View)
	}
	tables.fails = errors.New("away")
	r.Tick()
	if v := p.View(); len(tables.dropped) != 0 || v.LogStart != 10 || r.Seen.Failures != 1 {
		t.Errorf("log start %d, %d failures", v.LogStart, r.Seen.Failures)
	}
	tables.fails = nil
	r.Tick()
	if v := p.View(); len(tables.dropped) != 1 || v.LogStart != 10 || v.LocalStart != 10 || v.TieredEnd != 0 {
		t.Errorf("after: %+v, %d tables dropped", v.View, len(tables.dropped))
	}
	p.Expect(10, 10, 20)
}

func TestRemoteDataIsKeptUnlessItsDeletionIsWished(t *testing.T) {
	r := newRig(t)
	p, tables := r.half(nil) // a server without its pattern, say
	r.Tick()
	if v := p.View(); len(tables.tables) != 1 || v.LogStart != 0 || v.TieredEnd != 20 {
		t.Errorf("%+v, %d tables", v.View, len(tables.tables))
	}
}

// A tick offers copies with the settings that it began with. One that began after its topic's table was let go of would note again
// what the table had, and the next table could not be made.
func TestACopyThatWasOfferedIsNotBegunOnceTheTierIsOff(t *testing.T) {
	r := newRig(t)
	p, tables := r.half(map[string]string{"remote.log.delete.on.disable": "true"})
	r.storage.copies.offer([]copying.Job{{Topic: p.Topic}}, 0)
	if err := r.storage.untierOff(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left := len(r.storage.copies.offered); left != 0 || len(tables.dropped) != 1 {
		t.Errorf("%d copies wait to begin, %d tables are let go of", left, len(tables.dropped))
	}
}

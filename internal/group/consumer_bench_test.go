package group

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
)

// indexed is a view that finds topics as fast as the broker's.
type indexed struct {
	*testImage
	names map[string]Topic
	ids   map[uuid.UUID]Topic
}

func (i indexed) Topic(name string) (Topic, bool) {
	t, ok := i.names[name]
	return t, ok
}

func (i indexed) ByID(id uuid.UUID) (Topic, bool) {
	t, ok := i.ids[id]
	return t, ok
}

// benchGroup is a new group with 50 topics of 100 partitions, and the first heartbeat of one of 500 members.
func benchGroup(interval time.Duration) (*Group, Image, func(i int) HeartbeatRequest) {
	partitions := make([]int32, 50)
	for i := range partitions {
		partitions[i] = 100
	}
	img := indexed{&testImage{topics: topicsOf(partitions...)}, map[string]Topic{}, map[uuid.UUID]Topic{}}
	names := make([]string, len(img.topics))
	for i, t := range img.topics {
		names[i] = t.Name
		img.names[t.Name], img.ids[t.ID] = t, t
	}
	set := &Settings{
		ConsumerSession: 45 * time.Second, ConsumerHeartbeat: 5 * time.Second, ConsumerMaxSize: 1000,
		Assignors: []string{UniformAssignor, RangeAssignor}, AssignmentInterval: interval,
	}
	return New("g", set, epoch), img, func(i int) HeartbeatRequest { return joining(fmt.Sprintf("m%03d", i), names...) }
}

// BenchmarkBurstOfJoins shows what 500 members cost that join at once, with each join assigned and with all at the end of
// the interval.
func BenchmarkBurstOfJoins(b *testing.B) {
	for _, interval := range []time.Duration{0, time.Second} {
		b.Run(interval.String(), func(b *testing.B) {
			for b.Loop() {
				g, img, join := benchGroup(interval)
				for i := range 500 {
					var out Effects
					g.ConsumerHeartbeat(epoch, img, join(i), Ticket(i), &out)
				}
				var out Effects
				g.ConsumerHeartbeat(epoch.Add(time.Second), img, plain("m000", 2), 1, &out)
				if d := g.Summary(); d.Epoch != d.AssignmentEpoch {
					b.Fatalf("%+v", d)
				}
			}
		})
	}
}

// BenchmarkIdleHeartbeat shows what a heartbeat that changes nothing costs in a stable group of 500 members.
func BenchmarkIdleHeartbeat(b *testing.B) {
	g, img, join := benchGroup(time.Second)
	beat := func(now time.Time, req HeartbeatRequest) HeartbeatResponse {
		var out Effects
		g.ConsumerHeartbeat(now, img, req, 1, &out)
		return out.Heartbeats[0].HeartbeatResponse
	}
	for i := range 500 {
		beat(epoch, join(i))
	}
	now := epoch.Add(time.Second)
	for round := 0; g.Summary().State != Stable && round < 5; round++ {
		for _, m := range g.Describe().Members {
			resp := beat(now, plain(m.MemberID, m.Epoch))
			if resp.Assignment != nil {
				beat(now, has(m.MemberID, resp.Epoch, *resp.Assignment...))
			}
		}
	}
	req := plain("m499", g.Summary().Epoch)
	var out Effects
	for b.Loop() {
		out.Heartbeats = out.Heartbeats[:0]
		g.ConsumerHeartbeat(now, img, req, 1, &out)
	}
	if err := out.Heartbeats[0].Err; err != nil || g.Summary().State != Stable {
		b.Fatal(err, g.Summary())
	}
}

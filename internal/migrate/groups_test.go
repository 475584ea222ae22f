package migrate_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/korvet-io/korvet/internal/migrate"
)

func (w *world) commit(group, topic string, offsets map[int32]int64) {
	w.t.Helper()
	all := kadm.Offsets{}
	for p, o := range offsets {
		all.Add(kadm.Offset{Topic: topic, Partition: p, At: o, LeaderEpoch: -1, Metadata: fmt.Sprintf("of %d", p)})
	}
	if err := w.admin.CommitAllOffsets(w.t.Context(), group, all); err != nil {
		w.t.Fatal(err)
	}
}

// delete takes records out of a partition, as compaction does, or somebody at Redis: -1 is the last one.
func (w *world) delete(topic string, partition int32, offsets ...int) {
	w.t.Helper()
	stream := fmt.Sprintf("korvet:storage:local:%s:%d", topic, partition)
	reply := w.broker.Redis.Do("XRANGE", stream, "-", "+")
	entries, err := reply.ToArray()
	if err != nil {
		w.t.Fatal(err)
	}
	args := []string{"XDEL", stream}
	for _, o := range offsets {
		entry, err := entries[(o+len(entries))%len(entries)].AsXRangeEntry()
		if err != nil {
			w.t.Fatal(err)
		}
		args = append(args, entry.ID)
	}
	w.broker.Redis.Do(args...)
	w.broker.Restart() // it has them in memory
}

// left are the serials that a group has not processed: of the records of a topic from its committed offsets on.
func (w *world) left(group, topic string) map[string]bool {
	w.t.Helper()
	committed, err := w.admin.FetchOffsets(w.t.Context(), group)
	if err != nil {
		w.t.Fatal(err)
	}
	serials := map[string]bool{}
	for p, records := range w.read(topic) {
		o, ok := committed.Lookup(topic, int32(p))
		for _, r := range records {
			if ok && r.Offset >= o.At {
				serials[string(r.Headers[0].Value)] = true
			}
		}
	}
	return serials
}

func TestGroupsGoOnWhereTheyWereInASourceWithHoles(t *testing.T) {
	w := newWorld(t)
	w.create("orders", 2)
	w.fill("orders", 2, 400)
	w.delete("orders", 0, 0, 1, 7, 8, 9, 30, 55)
	w.delete("orders", 1, 12, 13)
	groups := map[string]map[int32]int64{}
	for i, o := range []int64{0, 2, 8, 10, 31, 56, 100} {
		groups[fmt.Sprintf("g%d", i)] = map[int32]int64{0: o, 1: o + 3}
	}
	for g, offsets := range groups {
		w.commit(g, "orders", offsets)
	}
	for _, partitions := range []int32{2, 3} {
		target := fmt.Sprintf("orders-%d", partitions)
		if err := w.run(t.Context(), w.client, "orders", target, partitions); err != nil {
			t.Fatal(err)
		}
		result := w.cutover("orders", target)
		w.same("orders", target)
		if len(result.Groups) != len(groups) {
			t.Errorf("%d groups, want %d", len(result.Groups), len(groups))
		}
		for _, g := range result.Groups {
			w.checkGroup(w, g, target, partitions == 2)
		}
	}
}

// checkGroup fails unless a group will get what it has not processed and, of the rest, as many as was said.
func (w *world) checkGroup(to *world, g migrate.GroupResult, target string, exact bool) {
	w.t.Helper()
	before, after := w.left(g.Name, "orders"), to.left(g.Name, target)
	again := int64(len(after))
	for serial := range before {
		if !after[serial] {
			w.t.Errorf("group %s loses record %s in %s", g.Name, serial, target)
		}
		again--
	}
	said := int64(0)
	for _, o := range g.Offsets {
		said += o.Again
		if want := fmt.Sprintf("of %d", o.Partition); exact && o.Metadata != want {
			w.t.Errorf("group %s, partition %d: metadata %q", g.Name, o.Partition, o.Metadata)
		}
	}
	if said != again || exact && again != 0 {
		w.t.Errorf("group %s gets %d records again in %s, and %d was said", g.Name, again, target, said)
	}
}

func TestGroupsWithMembersStayAsTheyAre(t *testing.T) {
	w := newWorld(t)
	w.create("orders", 1)
	w.fill("orders", 1, 10)
	w.commit("idle", "orders", map[int32]int64{0: 4})
	joined := make(chan struct{})
	member := w.open(kgo.ConsumerGroup("busy"), kgo.ConsumeTopics("orders"), kgo.DisableAutoCommit(),
		kgo.OnPartitionsAssigned(func(context.Context, *kgo.Client, map[string][]int32) { close(joined) }))
	select {
	case <-joined:
	case <-time.After(patience):
		t.Fatal("the group gets no partitions")
	}
	record := member.PollRecords(t.Context(), 1)
	if err := member.CommitRecords(t.Context(), record.Records()...); err != nil {
		t.Fatal(err)
	}
	open := func() *migrate.Migration {
		m, err := migrate.Open(t.Context(), w.options(w.client, "orders", "copy", 0))
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	quick := migrate.CutoverOptions{Quiet: time.Millisecond, Timeout: patience}
	if _, err := open().Cutover(t.Context(), quick); err == nil || !strings.Contains(err.Error(), "groups busy have members") {
		t.Errorf("cutover with a member: %v", err)
	}
	quick.SkipActive = true
	result, err := open().Cutover(t.Context(), quick)
	if err != nil || len(result.Groups) != 2 || result.Groups[0].Name != "busy" || result.Groups[0].Offsets != nil || result.Groups[1].Offsets[0].Offset != 4 {
		t.Fatalf("cutover without it: %v, %+v", err, result)
	}
	member.Close()
	quick.SkipActive = false
	result, err = open().Cutover(t.Context(), quick)
	if err != nil || result.Groups[0].Offsets[0].Offset != 1 || result.Groups[1].Done != "translated before" {
		t.Errorf("cutover again: %v, %+v", err, result)
	}
	status, err := migrate.ReadStatus(t.Context(), migrate.NewCluster(w.client), migrate.NewCluster(w.client), "copy")
	if err != nil || status.Cutover == nil || !slices.Equal(status.Groups, []string{"idle", "busy"}) {
		t.Errorf("status: %v, %+v", err, status)
	}
}

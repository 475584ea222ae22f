package faults

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/korvet-io/korvet/internal/redistest"
	"github.com/korvet-io/korvet/test/faults/cut"
	"github.com/korvet-io/korvet/test/faults/load"
	"github.com/korvet-io/korvet/test/harness"
	"github.com/twmb/franz-go/pkg/kerr"
)

// replicated is a broker whose Redis has one replica and may change places with it, at one address.
type replicated struct {
	*world
	master, replica *redistest.Server
	address         *cut.Proxy
}

func newReplicated(t *testing.T) *replicated {
	t.Helper()
	master := redistest.Start(t, always...)
	r := &replicated{master: master, replica: master.Replica(always...)}
	var err error
	if r.address, err = cut.Start(master.Addr(), seed()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.address.Close)
	r.world = newWorld(t, harness.Options{Redis: master, Args: []string{
		"--korvet.redis.uri=redis://" + r.address.Addr(), "--korvet.redis.replicas=1", "--korvet.broker.produce-timeout=700ms",
	}})
	r.keepRedisLog("replica", r.replica)
	return r
}

// fail kills the master, promotes the replica, moves the address and lets the old master come back as the replica.
func (r *replicated) fail() {
	r.t.Helper()
	r.master.Kill()
	r.faults++
	r.replica.Do("REPLICAOF", "NO", "ONE")
	r.address.SetUpstream(r.replica.Addr())
	r.master, r.replica = r.replica, r.master
	r.redis, r.messages = r.master, r.master
	r.replica.Restart()
	r.replica.Do("REPLICAOF", "127.0.0.1", strconv.Itoa(r.master.Port))
	redistest.Eventually(r.t, "the old master to follow the new one", func() bool {
		m := r.master.Do("INFO", "replication")
		info, err := m.ToString()
		return err == nil && strings.Contains(info, "state=online")
	})
}

// lag lets the master go on for a while without its replica, which gets nothing of that when the master is killed.
func (r *replicated) lag() {
	r.t.Helper()
	r.replica.Pause()
	r.master.Do("CLIENT", "KILL", "TYPE", "replica")
	r.pass(300 * time.Millisecond)
	r.master.Kill()
	r.replica.Resume()
}

// With min.insync.replicas=2 nothing is visible, or acknowledged to who asked for all, that only the master has.
func TestAcksAllWaitsForTheReplica(t *testing.T) {
	r := newReplicated(t)
	r.topic("direct", map[string]string{"min.insync.replicas": "2"})
	end := int64(0) // what was appended, acknowledged or not
	write := func(acks int16) error {
		offset, err := r.probe().Produce("direct", "v", acks)
		if err == nil && offset != end {
			t.Errorf("written at offset %d, want %d", offset, end)
		}
		if err == nil || errors.Is(err, kerr.NotEnoughReplicasAfterAppend) {
			end++
		}
		return err
	}
	visible := func(want int64, when string) {
		t.Helper()
		if a, err := r.probe().Fetch("direct", 0); err != nil || a.HighWatermark != want || a.Next != want {
			t.Errorf("%s: fetch %+v, %v; want a high watermark of %d", when, a, err, want)
		}
	}
	for range rounds(2) {
		eventually(t, "write with a replica", func() error { return write(-1) })
		before := end
		visible(before, "with a replica")

		r.replica.Pause()
		r.faults++
		for range 2 {
			if err := write(-1); !errors.Is(err, kerr.NotEnoughReplicasAfterAppend) {
				t.Errorf("replica frozen: %v, want NOT_ENOUGH_REPLICAS_AFTER_APPEND", err)
			}
		}
		if err := write(1); err != nil {
			t.Errorf("replica frozen, acks=1: %v", err)
		}
		visible(before, "replica frozen")

		r.master.Do("CLIENT", "KILL", "TYPE", "replica")
		eventually(t, "notice that the replica is disconnected", func() error {
			err := write(-1)
			if errors.Is(err, kerr.NotEnoughReplicas) {
				return nil
			}
			if !errors.Is(err, kerr.NotEnoughReplicasAfterAppend) {
				t.Errorf("replica disconnected: %v, want NOT_ENOUGH_REPLICAS", err)
			}
			return errors.Join(err, errors.New("not yet"))
		})
		visible(before, "replica disconnected")

		r.replica.Resume()
		eventually(t, "write after the replica came back", func() error { return write(-1) })
		visible(end, "replica back")
	}
}

func TestMasterKilledAndReplicaPromotedLosesNothingAcknowledgedByAll(t *testing.T) {
	r := newReplicated(t)
	two := "2"
	r.start(func(c *load.Config) { c.TopicConfig = map[string]*string{"min.insync.replicas": &two} })
	r.progress(20)
	for range rounds(2) {
		r.moment()
		r.lag()
		r.fail()
		r.progress(20)
	}
	r.verdict()
}

// A broker that starts while the replica is frozen does not know which records the replica has. It must not show one that
// it has not, nor tell a consumer who saw one that it has that the offset is out of range.
func TestBrokerRestartedWhileTheReplicaIsFrozenNeitherShowsMoreNorForgets(t *testing.T) {
	r := newReplicated(t)
	r.topic("direct", map[string]string{"min.insync.replicas": "2"})
	for range 3 {
		eventually(t, "write with a replica", func() error { _, err := r.probe().Produce("direct", "v", -1); return err })
	}
	var has int64 // 3, or more where a write was told that the replica does not have it yet
	eventually(t, "all on the replica", func() error {
		a, err := r.probe().Fetch("direct", 0)
		if has = a.Next; err == nil && has < 3 {
			err = fmt.Errorf("NOT_YET: %+v", a)
		}
		return err
	})
	r.replica.Pause()
	for range 2 {
		if _, err := r.probe().Produce("direct", "v", 1); err != nil {
			t.Errorf("replica frozen, acks=1: %v", err)
		}
	}
	r.broker.Kill9()
	r.broker.Restart()
	if a, err := r.probe().Fetch("direct", 0); a.HighWatermark > has || a.Next > has || err != nil && !kerr.IsRetriable(err) {
		t.Errorf("replica frozen, from 0: %+v, %v; want at most the %d records that the replica has", a, err, has)
	}
	if a, err := r.probe().Fetch("direct", has); a.Next > has || err != nil && !kerr.IsRetriable(err) {
		t.Errorf("replica frozen, from %d, where a consumer was: %+v, %v; want nothing yet", has, a, err)
	}
	r.replica.Resume()
	eventually(t, "everything visible", func() error {
		a, err := r.probe().Fetch("direct", 0)
		if err == nil && a.Next != has+2 {
			err = fmt.Errorf("NOT_YET: %+v", a)
		}
		return err
	})
}

func TestReplicaFrozenUnderLoadLosesAndDoublesNothing(t *testing.T) {
	r := newReplicated(t)
	two := "2"
	r.start(func(c *load.Config) { c.TopicConfig = map[string]*string{"min.insync.replicas": &two} })
	r.topic("direct", map[string]string{"min.insync.replicas": two})
	r.progress(20)
	for range rounds(2) {
		r.moment()
		r.replica.Pause()
		r.faults++
		if _, err := r.probe().Produce("direct", "v", -1); err == nil { // the load's producers are told the same meanwhile
			t.Error("acknowledged by all while the replica is frozen")
		}
		r.replica.Resume()
		r.progress(20)
	}
	r.verdict()
}

// A failover to a replica that had not received the tail loses it, as docs/durability.md says of acks without
// min.insync.replicas. What is promised all the same: clients can tell. The epoch rises, offsets beyond the new end are
// out of range, and no offset holds two records under one epoch.
func TestFailoverThatLosesTheTailRaisesTheEpoch(t *testing.T) {
	r := newReplicated(t)
	r.topic("direct", nil)
	write := func() error { _, err := r.probe().Produce("direct", "v", -1); return err }
	eventually(t, "first write", write)
	before, err := r.probe().Fetch("direct", 0)
	if err != nil {
		t.Fatal(err)
	}
	redistest.Eventually(t, "the replica to have the record", func() bool {
		m := r.replica.Do("XLEN", "korvet:storage:local:direct:0")
		n, err := m.ToInt64()
		return err == nil && n == 1
	})
	r.replica.Pause()
	r.master.Do("CLIENT", "KILL", "TYPE", "replica")
	for range 3 {
		if err := write(); err != nil {
			t.Fatalf("write that only the master has: %v", err)
		}
	}
	r.master.Kill()
	r.replica.Resume()
	r.fail()
	eventually(t, "write after the failover", write)
	after, err := r.probe().Fetch("direct", 0)
	if err != nil || after.HighWatermark != 2 || after.Next != 2 || after.LeaderEpoch <= before.LeaderEpoch {
		t.Errorf("after the failover: %+v, %v; want a high watermark of 2 and an epoch above %d", after, err, before.LeaderEpoch)
	}
	if _, err := r.probe().Fetch("direct", 4); !errors.Is(err, kerr.OffsetOutOfRange) {
		t.Errorf("fetch at the old end: %v, want OFFSET_OUT_OF_RANGE", err)
	}
	if epoch, end, err := r.probe().EndOfEpoch("direct", before.LeaderEpoch); err != nil || epoch != before.LeaderEpoch || end != 1 {
		t.Errorf("epoch %d ends at %d (as epoch %d), %v; want 1", before.LeaderEpoch, end, epoch, err)
	}
}

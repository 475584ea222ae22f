package redisstream

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/korvet-io/korvet/internal/redisstream/resp"
)

// at is a FenceRequest of an owner at a time.
func at(owner string, now uint64) func(*FenceRequest) {
	return func(q *FenceRequest) { q.Owner, q.NowMs = owner, now }
}

const someTime = 1_800_000_000_000 // ms; a fence's seconds since 2024 make its epoch

func TestFirstFenceMakesAnEmptyLog(t *testing.T) {
	b := newBench(t)
	f, token := b.mustFence(at("1/a", someTime))
	want := Fenced{LastSeq: BeforeFirst, Floor: 1, Expiry: someTime + 3000, Now: someTime}
	if f != want {
		t.Errorf("got %+v, want %+v", f, want)
	}
	if got := b.lastID(b.keys.Stream); got != "1-18446744073709551615" {
		t.Errorf("the stream's last id is %s", got)
	}
	leader := map[string]string{"owner": "1/a", "token": token, "topic": lifeOne, "epoch": "0"}
	if got := b.hash(b.keys.Leader); !reflect.DeepEqual(got, leader) {
		t.Errorf("leader %v, want %v", got, leader)
	}
	if got := b.hash(b.keys.Epochs); !reflect.DeepEqual(got, map[string]string{"0": "18446744073709551615"}) {
		t.Errorf("epochs %v", got)
	}
	if groups := b.Do("XINFO", "GROUPS", b.keys.Stream); len(must(groups.ToArray())) != 0 {
		t.Error("the fence left a group behind")
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestFirstFenceOfALogWithABaseEndsThere(t *testing.T) {
	b := newBench(t)
	f, token := b.mustFence(func(q *FenceRequest) { q.EndAtMin = SeqBefore(1 << 60) })
	if EndOffset(f.LastSeq) != 1<<60 {
		t.Errorf("the log ends at %d", EndOffset(f.LastSeq))
	}
	b.mustSend(appendAt(token, f.Floor+1, 1<<60, values(2)))
	if v := b.look(); EndOffset(v.LastSeq) != 1<<60+2 {
		t.Errorf("the log ends at %d after two records", EndOffset(v.LastSeq))
	}
}

func TestLeaseOfAnotherOwnerIsHeldUntilItExpires(t *testing.T) {
	b := newBench(t)
	f, _ := b.mustFence(at("1/a", someTime))
	before := b.hash(b.keys.Leader)
	_, _, err := b.fence(at("2/b", f.Expiry-1))
	held, ok := errors.AsType[*HeldError](err)
	if !ok || held.Owner != "1/a" || held.Expiry != f.Expiry || held.Now != f.Expiry-1 {
		t.Fatalf("got %v, want held by 1/a", err)
	}
	if after := b.hash(b.keys.Leader); !reflect.DeepEqual(after, before) {
		t.Errorf("a refused fence changed the leader from %v to %v", before, after)
	}
	g, _ := b.mustFence(at("2/b", f.Expiry))
	if g.WasMine || g.Floor < f.Expiry || g.Epoch <= f.Epoch {
		t.Errorf("taken over with %+v after %+v", g, f)
	}
}

func TestForceTakesALeaseThatRunsAndPutsTheFloorAboveIt(t *testing.T) {
	b := newBench(t)
	f, token := b.mustFence(at("1/a", someTime))
	asked := ""
	g, _ := b.mustFence(func(q *FenceRequest) {
		at("1/b", someTime+1)(q)
		q.Force = func(owner string) bool { asked = owner; return true }
	})
	if asked != "1/a" {
		t.Errorf("asked about %q", asked)
	}
	if g.Floor < f.Expiry || g.Expiry <= g.Floor {
		t.Errorf("floor %d and expiry %d after a lease until %d", g.Floor, g.Expiry, f.Expiry)
	}
	if err := b.send(appendAt(token, f.Expiry-1, 0, values(1))); !errors.Is(err, ErrUnknownOutcome) {
		t.Errorf("the old owner's last possible append: %v", err)
	}
	if n := b.text("XLEN", b.keys.Stream); n != "0" {
		t.Errorf("%s entries, want none", n)
	}
}

func TestEarlierStartOfTheSameBrokerNeverTakesAPartitionBack(t *testing.T) {
	b := newBench(t)
	f, _ := b.mustFence(at("1/b", someTime))
	before := b.hash(b.keys.Leader)
	_, _, err := b.fence(func(q *FenceRequest) {
		at("1/a", f.Expiry+1)(q)
		q.Force = func(string) bool { return true }
	})
	if !errors.Is(err, ErrSuperseded) {
		t.Errorf("got %v after the later start's lease, want ErrSuperseded", err)
	}
	if after := b.hash(b.keys.Leader); !reflect.DeepEqual(after, before) {
		t.Errorf("a refused fence changed the leader from %v to %v", before, after)
	}
	b.mustFence(at("2/a", f.Expiry+1))
}

func TestFloorIsStrictlyAboveEveryStampOfThisProcess(t *testing.T) {
	b, _, ms := filled(t, 3)
	for _, stamped := range []uint64{ms, ms + 70_000} {
		f, _ := b.mustFence(func(q *FenceRequest) { q.Stamped = stamped })
		if f.Floor <= stamped {
			t.Errorf("floor %d after a stamp of %d", f.Floor, stamped)
		}
		if got, want := b.lastID(b.keys.Stream), fmt.Sprintf("%d-2", f.Floor); got != want {
			t.Errorf("the stream's last id is %s, want %s", got, want)
		}
	}
}

func TestFloorNeverFalls(t *testing.T) {
	b := newBench(t)
	f, _ := b.mustFence(at("1/a", someTime))
	f, _ = b.mustFence(at("2/b", f.Expiry))
	for _, now := range []uint64{someTime - 1_000_000, 1, someTime} { // Redis's clock was set back
		g, _ := b.mustFence(at("2/b", now))
		if g.Floor < f.Floor || g.Expiry < f.Expiry {
			t.Errorf("at %d: floor %d after %d, expiry %d after %d", now, g.Floor, f.Floor, g.Expiry, f.Expiry)
		}
		f = g
	}
}

func TestFenceRenamesTheStateAndWhatComesLateLandsInADeadKey(t *testing.T) {
	b, old, ms := filled(t, 3)
	b.Do("HSET", b.keys.State(old), "p:1", "state")
	_, token := b.mustFence(func(q *FenceRequest) { q.Stamped = ms })
	if b.text("EXISTS", b.keys.State(old)) != "0" || b.text("HGET", b.keys.State(token), "p:1") != "state" {
		t.Error("the state did not move to the new token")
	}
	late := appendAt(old, ms, 3, values(2))
	late.Fields = []Field{{"p:1", "late"}}
	if err := b.send(late); !errors.Is(err, ErrUnknownOutcome) {
		t.Errorf("late append: %v", err)
	}
	if got := b.text("HGET", b.keys.State(token), "p:1"); got != "state" {
		t.Errorf("a late append changed the state to %q", got)
	}
}

func TestFenceStartsAgainWhenTheTokenChangesMeanwhile(t *testing.T) {
	b := newBench(t)
	first, token := b.mustFence(at("1/a", someTime))
	stale := request(at("1/a", someTime))
	keys := []string{b.keys.Stream, b.keys.Leader, b.keys.State("x"), b.keys.State(stale.Token), b.keys.Epochs, b.keys.Segments, b.keys.Segment(-1)}
	v, err := Await(t.Context(), func(done func(resp.Value, error)) {
		fenceScript.run(b.conn, keys, stale.args("x", "1/a", "", "", ""), done)
	})
	if _, err2 := parseFenced(v); err != nil || !errors.Is(err2, errStale) {
		t.Errorf("a fence that saw another token: %v, %v", err, err2)
	}
	second, _ := b.mustFence(at("1/a", someTime))
	if second.Replaced != token || !second.WasMine || first.Replaced != "" {
		t.Errorf("replaced %q, then %q, want none and %q", first.Replaced, second.Replaced, token)
	}
}

// interrupted is a connection on which something happens before its n-th request.
type interrupted struct {
	Conn
	sent, n int
	happens func()
}

func (c *interrupted) Send(write func(io.Writer) error, reply Reply) {
	if c.sent++; c.sent == c.n {
		c.happens()
	}
	c.Conn.Send(write, reply)
}

func TestFenceDuringADeletionBeginsTheNextLifeAtItsStart(t *testing.T) {
	for name, before := range map[string]func(b *bench){
		"sealed segment": func(b *bench) {
			if !b.roll(lifeOne, 0) {
				b.Fatal("not rolled")
			}
		},
		"deleted records": func(b *bench) {
			if _, err := b.shard.Trim(b.Context(), b.keys, lifeOne, 2); err != nil {
				b.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			b, _, _ := filled(t, 3)
			before(b)
			c := &interrupted{Conn: b.conn, n: 2, happens: func() {
				if err := b.shard.Delete(b.Context(), b.keys, lifeOne); err != nil {
					t.Error(err)
				}
			}}
			q := request(func(q *FenceRequest) { q.TopicID = lifeTwo })
			f, err := Await(t.Context(), func(done func(Fenced, error)) { Fence(c, b.keys, q, done) })
			if err != nil || f.LastSeq != BeforeFirst {
				t.Errorf("%+v, %v: want an empty log from 0 on", f, err)
			}
		})
	}
}

func TestLivesOfATopicAreFencedInOrder(t *testing.T) {
	b, _, _ := filled(t, 3)
	later := func(q *FenceRequest) { q.TopicID = lifeTwo }
	if _, _, err := b.fence(later); !errors.Is(err, ErrUnfinished) {
		t.Errorf("a later life before the deletion: %v", err)
	}
	if err := b.shard.Delete(t.Context(), b.keys, lifeOne); err != nil {
		t.Fatal(err)
	}
	if _, _, err := b.fence(nil); !errors.Is(err, ErrDeleted) {
		t.Errorf("the deleted life: %v", err)
	}
	f, _ := b.mustFence(later)
	if f.LastSeq != BeforeFirst || f.Epoch != 0 {
		t.Errorf("the next life begins with %+v", f)
	}
	if _, _, err := b.fence(nil); !errors.Is(err, ErrDeleted) {
		t.Errorf("the earlier life after the next began: %v", err)
	}
	if ttl := b.text("TTL", b.keys.Leader); ttl != "-1" {
		t.Errorf("the new life's leader expires in %s s", ttl)
	}
}

func TestAlarmKeepsOffsetsRising(t *testing.T) {
	for name, disturb := range map[string]func(b *bench, token string, ms uint64){
		"a stranger's XADD *":        func(b *bench, _ string, _ uint64) { b.Do("XADD", b.keys.Stream, "*", "f", "v") },
		"a stranger's high sequence": func(b *bench, _ string, ms uint64) { b.Do("XADD", b.keys.Stream, fmt.Sprintf("%d-50", ms+1), "f", "v") },
		"a lost stream":              func(b *bench, _ string, _ uint64) { b.Do("DEL", b.keys.Stream) },
		"a stream replaced by a new": func(b *bench, _ string, _ uint64) {
			b.Do("DEL", b.keys.Stream)
			b.Do("XADD", b.keys.Stream, "1-1", "f", "v")
		},
		"a claim that did not arrive": func(b *bench, token string, ms uint64) {
			b.Do("HSET", b.keys.State(token), "last", fmt.Sprintf("%d-9", ms+9))
		},
	} {
		t.Run(name, func(t *testing.T) {
			b, _, ms := filled(t, 5)
			calm, token := b.mustFence(func(q *FenceRequest) { q.Stamped = ms })
			if calm.Alarm {
				t.Fatal("alarm without a cause")
			}
			disturb(b, token, ms+10)
			f, token := b.mustFence(func(q *FenceRequest) { q.Stamped = ms + 1 })
			if !f.Alarm || EndOffset(f.LastSeq) < 5 {
				t.Fatalf("got %+v", f)
			}
			end := EndOffset(f.LastSeq)
			b.mustSend(appendAt(token, max(f.Now, f.Floor+1), end, values(2)))
			g, _ := b.mustFence(nil)
			if g.Alarm || EndOffset(g.LastSeq) != end+2 {
				t.Errorf("after two more records: %+v, want an end at %d", g, end+2)
			}
		})
	}
}

func TestStreamThatANativeGroupMadeFirstIsEmpty(t *testing.T) {
	b := newBench(t)
	b.Do("XGROUP", "CREATE", b.keys.Stream, "native", "$", "MKSTREAM")
	if v := b.look(); EndOffset(v.LastSeq) != 0 {
		t.Errorf("before a fence the log ends at %d, want 0", EndOffset(v.LastSeq))
	}
	if f, _ := b.mustFence(nil); EndOffset(f.LastSeq) != 0 {
		t.Errorf("the log begins at %d, want 0", EndOffset(f.LastSeq))
	}
}

func TestLeaseIsAwaitedInFullWhenTheStateWasRemoved(t *testing.T) {
	b := newBench(t)
	_, token := b.mustFence(at("1/a", someTime))
	b.Do("DEL", b.keys.State(token))
	_, _, err := b.fence(at("2/b", someTime+60_000))
	held, ok := errors.AsType[*HeldError](err)
	if !ok || held.Expiry != someTime+63_000 {
		t.Fatalf("got %v, want held for a lease", err)
	}
	b.mustFence(at("2/b", held.Expiry))
}

func TestEpochRisesWithTheOwnerOrRedisOnly(t *testing.T) {
	b := newBench(t)
	since2024 := int32(someTime/1000 - 1704067200)
	now := uint64(someTime)
	for i, c := range []struct {
		owner    string
		newRedis bool
		want     int32
	}{
		{"1/a", false, 0}, {"1/a", false, 0}, {"1/a", true, since2024}, {"1/a", true, since2024 + 1},
		{"2/b", false, since2024 + 2}, {"2/b", false, since2024 + 2}, {"1/a", false, since2024 + 3},
	} {
		f, _ := b.mustFence(func(q *FenceRequest) {
			at(c.owner, now)(q)
			q.NewEpoch = c.newRedis
			q.Force = func(string) bool { return true }
		})
		if f.Epoch != c.want {
			t.Errorf("fence %d by %s has epoch %d, want %d", i, c.owner, f.Epoch, c.want)
		}
	}
}

func TestRedisThatLostTheEpochGetsALaterOne(t *testing.T) {
	b := newBench(t)
	f, _ := b.mustFence(func(q *FenceRequest) { at("1/a", someTime)(q); q.NewEpoch = true })
	if want := int32(someTime/1000 - 1704067200); f.Epoch != want {
		t.Errorf("epoch %d, want %d", f.Epoch, want)
	}
}

func TestEpochsAreRecordedWithWhereTheyStart(t *testing.T) {
	b := newBench(t)
	f, token := b.mustFence(nil)
	b.mustSend(appendAt(token, f.Floor+1, 0, values(4)))
	takeOver := func(owner string) (Fenced, string) {
		return b.mustFence(func(q *FenceRequest) { q.Owner = owner; q.Force = func(string) bool { return true } })
	}
	g, _ := takeOver("2/b")
	h, token := takeOver("3/c")
	b.mustSend(appendAt(token, h.Floor+1, 4, values(2)))
	want := []Epoch{{Epoch: 0, Start: 0}, {Epoch: g.Epoch, Start: 4}, {Epoch: h.Epoch, Start: 4}}
	if v := b.look(); !reflect.DeepEqual(v.Epochs, want) {
		t.Errorf("epochs %v, want %v", v.Epochs, want)
	}
}

func TestFenceTellsWhetherAnUnknownAppendLanded(t *testing.T) {
	roll := func(b *bench) {
		if !b.roll(lifeOne, 0) {
			b.Fatal("not rolled")
		}
	}
	for name, c := range map[string]struct {
		happens func(b *bench, a *Append)
		landed  bool
		entries int
	}{
		"in the open segment":    {func(b *bench, a *Append) { b.mustSend(a) }, true, 6},
		"in a sealed segment":    {func(b *bench, a *Append) { b.mustSend(a); roll(b) }, true, 6},
		"not at all":             {func(*bench, *Append) {}, false, 3},
		"not at all, but rolled": {func(b *bench, _ *Append) { roll(b) }, false, 3},
		"and was trimmed": {func(b *bench, a *Append) {
			b.mustSend(a)
			if _, err := b.shard.Trim(b.Context(), b.keys, lifeOne, 6); err != nil {
				b.Fatal(err)
			}
		}, true, 0},
		"and is in the remote tier alone": {func(b *bench, a *Append) {
			b.mustSend(a)
			roll(b)
			b.tiered(6)
			if dropped, err := b.shard.DropSegment(b.Context(), b.keys, claimOne, Segment{Number: 0, Last: 5}); err != nil || !dropped {
				b.Fatalf("dropped %v, %v", dropped, err)
			}
		}, true, 0},
		"half": {func(b *bench, a *Append) {
			b.Do("XADD", b.keys.Stream, ID{a.Ms, 4}.String(), "stranger", "1")
			if err := b.send(a); !errors.Is(err, ErrUnknownOutcome) {
				b.Fatalf("append: %v", err)
			}
		}, false, 3},
	} {
		t.Run(name, func(t *testing.T) {
			b, token, ms := filled(t, 3)
			a := appendAt(token, ms+1, 3, values(3))
			c.happens(b, a)
			f, _ := b.mustFence(func(q *FenceRequest) { q.Unknown, q.Stamped = a, a.Ms })
			if f.Landed != c.landed {
				t.Errorf("landed %v, want %v", f.Landed, c.landed)
			}
			view := b.look()
			n := 0
			for _, stream := range view.Streams(b.keys) {
				n += len(b.entries(stream))
			}
			if n != c.entries {
				t.Errorf("%d entries, want %d", n, c.entries)
			}
			a.Sources[0].Records = &records{list: values(3)}
			if err := b.send(a); !errors.Is(err, ErrUnknownOutcome) {
				t.Errorf("the same append after the fence: %v", err)
			}
		})
	}
}

func TestFenceKeepsOffsetsAboveTheRegistryWhenEverythingElseIsLost(t *testing.T) {
	b, token, _ := filled(t, 10)
	if _, err := b.shard.Trim(t.Context(), b.keys, lifeOne, 7); err != nil {
		t.Fatal(err)
	}
	b.Do("DEL", b.keys.Stream, b.keys.State(token), b.keys.Leader)
	if f, _ := b.mustFence(nil); EndOffset(f.LastSeq) < 7 {
		t.Errorf("the log ends at %d, below its start at 7", EndOffset(f.LastSeq))
	}
}

func TestRefusedFenceChangesNothing(t *testing.T) {
	b, _, _ := filled(t, 3)
	before := b.hash(b.keys.Leader)
	for code, set := range map[string][2]string{"OOM": {"maxmemory", "1"}, "NOREPLICAS": {"min-replicas-to-write", "1"}} {
		old := b.Do("CONFIG", "GET", set[0])
		b.Do("CONFIG", "SET", set[0], set[1])
		_, _, err := b.fence(nil)
		if refused, ok := errors.AsType[*RefusedError](err); !ok || refused.Code != code {
			t.Errorf("fence: %v, want refused with %s", err, code)
		}
		b.Do("CONFIG", "SET", set[0], must(old.AsStrMap())[set[0]])
		if after := b.hash(b.keys.Leader); !reflect.DeepEqual(after, before) {
			t.Errorf("%s: the leader changed from %v to %v", code, before, after)
		}
	}
}

func TestReleaseEndsTheLeaseOfItsOwnTokenOnly(t *testing.T) {
	b := newBench(t)
	f, token := b.mustFence(at("1/a", someTime))
	release := func(token string, stamped uint64) bool {
		return must(Await(t.Context(), func(done func(bool, error)) { Release(b.conn, b.keys, token, stamped, done) }))
	}
	if release("another", someTime) {
		t.Error("a lease was ended with another token")
	}
	if _, _, err := b.fence(at("2/b", someTime+10)); err == nil {
		t.Error("the lease is gone")
	}
	if !release(token, someTime+5) {
		t.Error("the lease was not ended")
	}
	g, _ := b.mustFence(at("2/b", someTime+6))
	if g.Floor <= someTime+5 || g.Floor >= f.Expiry {
		t.Errorf("floor %d, want above the last stamp %d and below the lease", g.Floor, someTime+5)
	}
}

func TestHeldErrorTellsOwnerAndTime(t *testing.T) {
	e := &HeldError{Owner: "1/a", Expiry: 5, Now: 2}
	if !strings.Contains(e.Error(), "1/a for 3 ms") {
		t.Error(e)
	}
}

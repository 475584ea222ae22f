package redisstream

import (
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/korvet-io/korvet/internal/redistest"
)

func newReplicas(t *testing.T, s *redistest.Server, wait time.Duration) *Replicas {
	t.Helper()
	r := NewReplicas(testOptions(t, s), "korvet:storage:marker", wait, slog.New(slog.DiscardHandler))
	t.Cleanup(r.Close)
	return r
}

func confirm(t *testing.T, r *Replicas, id Identity, n int) error {
	t.Helper()
	_, err := Await(within(t), func(done func(bool, error)) { r.Confirm(id, n, func(err error) { done(true, err) }) })
	return err
}

// confirmed waits until one replica confirms: a new one may take a second to say how far it is.
func confirmed(t *testing.T, r *Replicas, id Identity) {
	t.Helper()
	redistest.Eventually(t, "the replica to confirm", func() bool { return confirm(t, r, id, 1) == nil })
}

func TestReplicaConfirmsAndAFrozenOneDoesNot(t *testing.T) {
	s := redistest.Start(t)
	replica := s.Replica()
	b := &bench{TB: t, Server: s, shard: openShard(t, s), keys: NewKeys("korvet", "t", 0)}
	b.conn = b.acquire()
	f, token := b.mustFence(nil)
	ms := max(f.Now, f.Floor+1)
	b.mustSend(appendAt(token, ms, 0, values(3)))
	r := newReplicas(t, s, 100*time.Millisecond)
	id := b.conn.Identity()
	confirmed(t, r, id)
	if n := replica.Do("XLEN", b.keys.Stream); must(n.AsInt64()) != 3 {
		t.Error("confirmed what the replica does not have")
	}
	if err := confirm(t, r, id, 2); !errors.Is(err, ErrReplicasBehind) {
		t.Errorf("two replicas: %v", err)
	}
	replica.Pause()
	b.mustSend(appendAt(token, ms+1, 3, values(1)))
	if err := confirm(t, r, id, 1); !errors.Is(err, ErrReplicasBehind) {
		t.Errorf("a frozen replica: %v", err)
	}
	replica.Resume()
	confirmed(t, r, id)
	if n := replica.Do("XLEN", b.keys.Stream); must(n.AsInt64()) != 4 {
		t.Error("confirmed what the replica does not have")
	}
}

// A master without replicas gets another replication id with its first one, and keeps its connections.
func TestFirstReplicaGivesRedisAnotherIdentityAndEveryConnectionFollows(t *testing.T) {
	for name, notice := range map[string]func(b *bench) *Replicas{
		"a reader notices": func(b *bench) *Replicas {
			r := newReplicas(t, b.Server, 100*time.Millisecond)
			if err := confirm(t, r, b.conn.Identity(), 0); err != nil {
				t.Fatalf("without a replica: %v", err)
			}
			b.Replica()
			b.look()
			return r
		},
		"the confirmer notices": func(b *bench) *Replicas {
			b.Replica()
			r := newReplicas(t, b.Server, 100*time.Millisecond)
			r.Follow(b.shard)
			return r
		},
	} {
		t.Run(name, func(t *testing.T) {
			b, _, _ := filled(t, 3)
			before := b.conn.Identity()
			r := notice(b)
			redistest.Eventually(t, "the replica to confirm", func() bool {
				id := b.acquire().Identity()
				return confirm(t, r, id, 1) == nil && id != before && b.shard.Identity() == id
			})
			redistest.Eventually(t, "the older connection to be given up", func() bool { return !b.conn.Alive() })
		})
	}
}

func TestConfirmOfAnotherRedisFails(t *testing.T) {
	s := redistest.Start(t)
	s.Replica()
	r := newReplicas(t, s, 100*time.Millisecond)
	for _, id := range []Identity{{}, {"another", "life"}} {
		if err := confirm(t, r, id, 1); !errors.Is(err, ErrReplicasBehind) {
			t.Errorf("identity %v: %v", id, err)
		}
	}
	b := &bench{TB: t, Server: s, shard: openShard(t, s), keys: NewKeys("korvet", "t", 0)}
	before := b.acquire().Identity()
	s.Restart()
	redistest.Eventually(t, "the new life to be reached", func() bool {
		err := confirm(t, r, before, 0)
		if err == nil {
			t.Error("a later life of redis confirmed for an earlier one")
		}
		return errors.Is(err, ErrReplicasBehind)
	})
}

func TestRefusedMarkerConfirmsNothing(t *testing.T) {
	s := redistest.Start(t)
	s.Replica()
	r := newReplicas(t, s, 100*time.Millisecond)
	b := &bench{TB: t, Server: s, shard: openShard(t, s), keys: NewKeys("korvet", "t", 0)}
	id := b.acquire().Identity()
	s.Do("CONFIG", "SET", "maxmemory", "1")
	if err := confirm(t, r, id, 1); err == nil {
		t.Error("confirmed although the marker was refused")
	}
	s.Do("CONFIG", "SET", "maxmemory", "0")
	confirmed(t, r, id)
}

func TestManyQuestionsAreAnsweredOnceEach(t *testing.T) {
	s := redistest.Start(t)
	s.Replica()
	r := newReplicas(t, s, 100*time.Millisecond)
	b := &bench{TB: t, Server: s, shard: openShard(t, s), keys: NewKeys("korvet", "t", 0)}
	id := b.acquire().Identity()
	confirmed(t, r, id)
	const n = 500
	answers := make(chan error, 2*n)
	for range n {
		r.Confirm(id, 1, func(err error) { answers <- err })
	}
	for range n {
		if err := <-answers; err != nil {
			t.Errorf("confirm: %v", err)
		}
	}
	r.Close()
	if len(answers) != 0 {
		t.Error("a question was answered twice")
	}
}

func TestConnectedCountsReplicas(t *testing.T) {
	s := redistest.Start(t)
	r := newReplicas(t, s, 100*time.Millisecond)
	redistest.Eventually(t, "no replica to be counted", func() bool { return !r.Connected(1) })
	s.Replica()
	redistest.Eventually(t, "one replica to be counted", func() bool { return r.Connected(1) && !r.Connected(2) })
}

func TestClosedConfirmerAnswersWhatWaits(t *testing.T) {
	s := redistest.Start(t)
	s.Replica()
	r := newReplicas(t, s, time.Hour)
	b := &bench{TB: t, Server: s, shard: openShard(t, s), keys: NewKeys("korvet", "t", 0)}
	answer := make(chan error, 1)
	r.Confirm(b.acquire().Identity(), 2, func(err error) { answer <- err }) // there is only one
	r.Close()
	if err := <-answer; err == nil {
		t.Error("confirmed by nobody")
	}
	late := make(chan error, 1)
	r.Confirm(Identity{}, 1, func(err error) { late <- err })
	if err := <-late; err == nil {
		t.Error("a closed confirmer confirms")
	}
}

package coordinator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/redis/rueidis"

	"github.com/korvet-io/korvet/internal/group"
	"github.com/korvet-io/korvet/internal/redistest"
)

// Three coordinators claim, commit, save and delete one group, their commands in every order that chance finds. Some
// commands are lost, and of some only the answer is.
func TestOnlyTheNewestClaimChangesAGroup(t *testing.T) {
	redis := redistest.Start(t)
	look, stores := redis.Client(), []*RedisStore{storeOf(t, redis), storeOf(t, redis), storeOf(t, redis)}
	for seed := range uint64(100) {
		redis.Do("FLUSHDB")
		w := &raceWorld{t: t, look: look, stores: stores, rnd: rand.New(rand.NewPCG(seed, 4)), seed: seed, offsets: map[int32]Offset{}}
		w.run()
		if t.Failed() {
			return
		}
	}
}

// raceWorld is one run: one command of one actor at a time.
type raceWorld struct {
	t      *testing.T
	look   rueidis.Client
	stores []*RedisStore
	rnd    *rand.Rand
	seed   uint64
	loss   bool // some commands or answers are lost

	stored [2]map[string]string // what Redis has of the group

	life       int // deletions so far
	holder     *raceActor
	offsets    map[int32]Offset // what is stored of partitions
	generation int32            // the highest that was answered in this life
	newest     int32            // the highest of all
}

// raceActor is a coordinator. Its goroutine stops before each command until the world lets it go on.
type raceActor struct {
	w     *raceWorld
	id    int
	store *RedisStore
	token Token
	life  int // that it claimed
	n     int32

	ready chan struct{} // it is about to send a command, or has ended
	turn  chan struct{}
	ended bool

	changed bool // a command of the call that is going on changed the group
}

var errRaceLost = errors.New("lost")

func (w *raceWorld) run() {
	w.loss = w.seed%2 == 1
	var actors []*raceActor
	for id, s := range w.stores {
		a := &raceActor{w: w, id: id, ready: make(chan struct{}), turn: make(chan struct{})}
		a.store = NewRedisStore(&raceClient{Client: s.client, a: a}, s.namespace, s.owner, s.timeout)
		a.store.Log = slog.New(slog.DiscardHandler)
		actors = append(actors, a)
		go func() {
			defer func() {
				a.ended = true
				a.ready <- struct{}{}
			}()
			for range 12 {
				a.call()
			}
		}()
		<-a.ready
	}
	for len(actors) > 0 {
		a := actors[w.rnd.IntN(len(actors))]
		a.turn <- struct{}{}
		if <-a.ready; a.ended {
			actors = slices.DeleteFunc(actors, func(b *raceActor) bool { return a == b })
		}
	}
	w.finish()
}

// call is one random call of the store. Between two commands nobody else runs, so it may look at the world.
func (a *raceActor) call() {
	a.n++
	ctx, w := context.Background(), a.w
	a.changed = false
	var err error
	what := "claim"
	switch k := w.rnd.IntN(10); {
	case k < 3 || a.token == 0:
		var l Loaded
		var t Token
		if t, l, err = a.store.Claim(ctx, "g"); err == nil {
			a.token = t
			w.checkLoaded(a, l)
		}
	case k < 7:
		what = "commit"
		o := someOffset(int32(w.rnd.IntN(3)), int64(a.id)<<32|int64(a.n))
		var gone []TopicPartition
		if w.rnd.IntN(3) == 0 {
			gone = []TopicPartition{{"orders", (o.Partition + 1) % 3}}
		}
		if err = a.store.Commit(ctx, "g", a.token, []Offset{o}, gone); err == nil && !a.changed {
			w.t.Errorf("seed %d: a commit succeeded and changed nothing", w.seed)
		}
	case k < 9:
		what = "save"
		w.newest++
		c := &group.Changes{Generation: w.newest, Group: fmt.Appendf(nil, "%d", a.life), Members: map[string][]byte{"m": fmt.Appendf(nil, "%d", a.life)}}
		if err = a.store.Save(ctx, "g", a.token, c); err == nil && a.life == w.life && w.holder == a {
			w.generation = c.Generation
		}
	default:
		what = "delete"
		err = a.store.Delete(ctx, "g", a.token)
	}
	if (errors.Is(err, ErrStale) || errors.Is(err, ErrRefused)) && what != "claim" && a.changed {
		w.t.Errorf("seed %d: a %s changed the group, and its error is %v", w.seed, what, err)
	}
	if err != nil {
		a.token = 0 // as the coordinator does: forget it, and claim again
	}
}

// checkLoaded compares what a claim found with what is there, and with the life it belongs to.
func (w *raceWorld) checkLoaded(a *raceActor, l Loaded) {
	if w.holder != a {
		return // overtaken while it loaded: nothing it does will count
	}
	found := map[int32]Offset{}
	for _, o := range l.Offsets {
		found[o.Partition] = o
	}
	if !maps.Equal(found, w.offsets) {
		w.t.Errorf("seed %d: loaded offsets %v, stored are %v", w.seed, found, w.offsets)
	}
	life := fmt.Sprint(w.life)
	if g := l.Group; g.Group != nil && (string(g.Group) != life || string(g.Members["m"]) != life) {
		w.t.Errorf("seed %d: life %s has members of life %s", w.seed, life, g.Group)
	}
	if l.Group.Generation < w.generation {
		w.t.Errorf("seed %d: generation %d after %d was answered", w.seed, l.Group.Generation, w.generation)
	}
}

// finish looks at the end: the group's name is listed if it lives, and an idle claim finds what is stored.
func (w *raceWorld) finish() {
	s := w.stores[0]
	names, err := s.Names(w.t.Context())
	mustStore(w.t, err)
	if alive := len(w.stored[0]) > 0; !w.loss && alive != (len(names) == 1) {
		w.t.Errorf("seed %d: the group lives: %v, and the names are %v", w.seed, alive, names)
	}
	last := &raceActor{w: w}
	w.holder = last
	_, l := claimed(w.t, s, "g")
	w.checkLoaded(last, l)
}

// raceClient sends an actor's commands when it is its turn, and notes what each did to the group.
type raceClient struct {
	rueidis.Client
	a *raceActor
}

func (c *raceClient) Do(ctx context.Context, command rueidis.Completed) rueidis.RedisResult {
	a, w := c.a, c.a.w
	a.ready <- struct{}{}
	<-a.turn
	fate := 99
	if w.loss {
		fate = w.rnd.IntN(25)
	}
	if fate == 0 {
		return rueidis.NewErrorResult(errRaceLost)
	}
	r := c.Client.Do(ctx, command)
	w.did(a)
	if fate == 1 {
		return rueidis.NewErrorResult(errRaceLost)
	}
	return r
}

// did finds out from what Redis had and has what a command did.
func (w *raceWorld) did(a *raceActor) {
	before, after := w.stored, [2]map[string]string{}
	b := w.look.B
	for i, r := range w.look.DoMulti(context.Background(), b().Hgetall().Key(commitsOfG).Build(), b().Hgetall().Key(membersOfG).Build()) {
		var err error
		if after[i], err = r.AsStrMap(); err != nil {
			w.t.Errorf("look at the group: %v", err)
		}
	}
	w.stored = after
	if maps.Equal(before[0], after[0]) && maps.Equal(before[1], after[1]) {
		return
	}
	a.changed = true
	oldToken, token := before[0][":token"], after[0][":token"]
	switch {
	case token == "" && oldToken != "": // deleted
		if w.holder != a {
			w.t.Errorf("seed %d: actor %d deleted the group that another had claimed", w.seed, a.id)
		}
		w.life, w.holder, w.generation = w.life+1, nil, 0
	case token != oldToken: // claimed
		w.holder, a.life = a, w.life
	case !maps.Equal(before[0], after[0]) && w.holder != a:
		w.t.Errorf("seed %d: actor %d changed the offsets that another had claimed", w.seed, a.id)
	}
	clear(w.offsets)
	for field, value := range after[0] {
		if o, err := parseOffset(field, value); err == nil {
			w.offsets[o.Partition] = o
		}
	}
}

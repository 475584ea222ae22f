package model

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// step is one kind of step. It carries it out, tells the model, and returns what it leaves open.
type step struct {
	weight int
	run    func(*world) (Latitude, error)
}

// steps are all kinds of steps.
var steps = []step{
	{30, (*world).produce},
	{4, (*world).repeat},
	{3, (*world).restart},
	{2, (*world).takeOver},
	{3, (*world).crash},
	{6, (*world).roll},
	{4, (*world).deleteRecords},
	{3, (*world).trimByHand},
	{3, (*world).readElsewhere},
	{6, (*world).tick},
	{4, (*world).cutTick},
	{2, (*world).wokenTick},
	{3, (*world).pausedTick},
	{5, (*world).alter},
	{1, (*world).grow},
	{1, (*world).restartRedis},
	{3, (*world).publishDictionary},
	{12, (*world).toTheRemoteTier},
	{8, (*world).engineCommits},
	{4, (*world).switchRemote},
	{2, (*world).clearTables},
}

// Failure is a program that showed a difference.
type Failure struct {
	Seed  uint64
	Steps []string // what was done, up to the step after which it showed
	Err   error
}

func (f *Failure) Error() string {
	return fmt.Sprintf("KORVET_TEST_SEED=%d repeats this program:\n  %s\n%v", f.Seed, strings.Join(f.Steps, "\n  "), f.Err)
}

// play runs the program of a seed. It compares everything after each step, so that the first difference ends the shortest
// program that shows it.
func (s *stage) play(ctx context.Context, seed uint64, length int) error {
	w, err := s.open(ctx, seed, nil)
	if err != nil {
		return fmt.Errorf("prepare program: %w", err)
	}
	defer w.close()
	for range length {
		if err := w.step(); err != nil {
			return &Failure{Seed: seed, Steps: w.said, Err: err}
		}
	}
	return nil
}

func (w *world) step() error {
	w.part = w.parts[w.rnd.IntN(len(w.parts))]
	open, err := w.choose().run(w)
	if err != nil {
		return err
	}
	return errors.Join(w.check(w.broker(), open), w.checkTable())
}

func (w *world) choose() step {
	total := 0
	for _, s := range steps {
		total += s.weight
	}
	n := w.rnd.IntN(total)
	for _, s := range steps {
		if n -= s.weight; n < 0 {
			return s
		}
	}
	panic("weights do not add up")
}

// readElsewhere compares everything through a broker that knows nothing yet: all it has is what Redis says.
func (w *world) readElsewhere() (Latitude, error) {
	w.say("read by a new broker")
	return Latitude{}, w.checkAnew(make([]Latitude, len(w.parts)))
}

// checkAnew compares everything with what Redis has, caches apart: what a step left open, by partition, is taken from there.
func (w *world) checkAnew(open []Latitude) error {
	b := w.startBroker(3)
	b.fresh = true
	if err := w.each(func(i int) error { return w.check(b, open[i]) }); err != nil {
		b.crash()
		return err
	}
	return b.stop(w.ctx)
}

// checkAll compares everything with what Redis has, and then with what the active broker answers: before it has heard of what the
// step did, and when it has.
func (w *world) checkAll(open []Latitude) error {
	if err := w.checkAnew(open); err != nil {
		return err
	}
	return w.each(func(int) error {
		for _, from := range []int64{w.log.Start, max(w.log.Start, w.part.local-1), w.log.Start + w.rnd.Int64N(w.log.End-w.log.Start+1)} {
			if err := w.checkRead(w.broker(), from); err != nil {
				return err
			}
		}
		return w.check(w.broker(), Latitude{})
	})
}

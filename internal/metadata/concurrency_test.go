package metadata

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/korvet-io/korvet/internal/redistest"
)

// TestMemoryAgreesWithRedisAfterAnyRace lets goroutines create, change, delete and look up a few topics through two
// stores. Afterwards one heartbeat must bring both to what Redis holds, and every id must have been given once.
func TestMemoryAgreesWithRedisAfterAnyRace(t *testing.T) {
	redis := redistest.Start(t)
	opt := options(t, 1)
	opt.MissInterval = 1 // ask Redis at every miss
	other := opt
	other.BrokerID = 2
	stores := []*Store{open(t, redis, opt), open(t, redis, other)}
	var ids sync.Map
	var work sync.WaitGroup
	for g := range uint64(8) {
		work.Go(func() {
			random := rand.New(rand.NewPCG(g, 1))
			for range 150 {
				if err := step(t, stores[random.IntN(2)], random, &ids); err != nil {
					t.Error(err)
				}
			}
		})
	}
	work.Wait()
	for i, s := range stores {
		if err := s.Heartbeat(t.Context()); err != nil {
			t.Fatal(err)
		}
		length := redis.Do("HLEN", "korvet:topics")
		n, err := length.AsInt64()
		if err != nil {
			t.Fatal(err)
		}
		if got := len(s.All()); got != int(n)-2 { // beside :last and :rev
			t.Errorf("store %d knows %d topics, Redis %d", i, got, n-2)
		}
		for _, topic := range s.All() {
			stored := redis.Do("HGET", "korvet:topics", topic.Name)
			text, err := stored.ToString()
			if err != nil {
				t.Fatal(err)
			}
			if want, err := s.decode(topic.Name, text); err != nil || want.ID != topic.ID || want.Version != topic.Version {
				t.Errorf("store %d has %s in version %d of %s, Redis %+v, %v", i, topic.Name, topic.Version, topic.ID, want, err)
			}
		}
	}
}

// step does one random thing. Losing a race is no error.
func step(t *testing.T, s *Store, random *rand.Rand, ids *sync.Map) error {
	name := fmt.Sprintf("t%d", random.IntN(4))
	topic, err := s.Topic(t.Context(), name)
	switch {
	case errors.Is(err, ErrUnknownTopic):
		made, err := s.Create(t.Context(), name, 1, nil)
		if errors.Is(err, ErrTopicExists) {
			return nil
		}
		if err != nil {
			return err
		}
		if _, again := ids.LoadOrStore(made.ID, true); again {
			return fmt.Errorf("id %s was given twice", made.ID)
		}
		return nil
	case err != nil:
		return err
	case random.IntN(3) == 0:
		err = s.Delete(t.Context(), topic)
	default:
		_, err = s.Alter(t.Context(), topic, topic.Partitions+1, nil)
	}
	if errors.Is(err, ErrUnknownTopic) || errors.Is(err, ErrVersionConflict) {
		return nil
	}
	return err
}

// The worker that finds a deletion listed, and takes the topic off itself, does the deleter's work: the deleter is told of
// its success.
func TestADeletionThatTheWorkerCompletesSucceeds(t *testing.T) {
	redis := redistest.Start(t)
	s, worker := open(t, redis, options(t, 0)), open(t, redis, options(t, 1))
	done := make(chan struct{})
	var working sync.WaitGroup
	working.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			listed, err := worker.Deletions(t.Context())
			if err != nil {
				t.Error(err)
				return
			}
			for _, topic := range listed {
				if _, err := worker.CommitDeletion(t.Context(), topic); err != nil {
					t.Error(err)
				}
				if err := worker.DeletionDone(t.Context(), topic); err != nil {
					t.Error(err)
				}
			}
		}
	})
	for i := range 300 {
		topic, err := s.Create(t.Context(), fmt.Sprint("t", i), 1, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Delete(t.Context(), topic); err != nil {
			t.Errorf("deletion %d: %v", i, err)
		}
		if err := s.Delete(t.Context(), topic); !errors.Is(err, ErrUnknownTopic) {
			t.Errorf("deletion %d again: %v", i, err)
		}
	}
	close(done)
	working.Wait()
}

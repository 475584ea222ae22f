package worker

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/korvet-io/korvet/internal/partition"
	"github.com/korvet-io/korvet/internal/redisstream"
	"github.com/korvet-io/korvet/internal/worker/workertest"
)

func TestOutlivedDictionaries(t *testing.T) {
	type notes = map[uint32]int64
	for _, c := range []struct {
		name   string
		from   notes
		oldest int64
		since  uint32
		ids    []uint32
		due    int64 // when those are gone
	}{
		{"none", notes{}, 10, 0, nil, math.MaxInt64},
		{"one", notes{1: 0}, 10, 1, nil, math.MaxInt64},
		{"the older one is used right below", notes{1: 0, 2: 11}, 10, 1, nil, 11},
		{"the older one is not needed", notes{1: 0, 2: 10}, 10, 2, []uint32{1}, math.MaxInt64},
		{"several", notes{1: 0, 2: 5, 3: 7, 4: 20}, 10, 3, []uint32{1, 2}, 20},
		{"used again", notes{1: 15, 2: 5, 3: 7, 4: 20}, 10, 3, []uint32{2}, 15},
		{"used again by the oldest record", notes{1: 10, 2: 5, 3: 7}, 10, 1, []uint32{2, 3}, math.MaxInt64},
		{"noted from the same offset on", notes{1: 5, 2: 5}, 10, 2, nil, math.MaxInt64},
		{"noted from the same offset on, then another", notes{1: 5, 2: 5, 3: 6}, 10, 3, []uint32{1, 2}, math.MaxInt64},
	} {
		since, ids := outlived(c.from, c.oldest)
		if (since != c.since && c.from[since] != c.from[c.since]) || !slices.Equal(ids, c.ids) {
			t.Errorf("%s: %v since %d, want %v since %d", c.name, ids, since, c.ids, c.since)
		}
		for _, id := range ids {
			delete(c.from, id)
		}
		if due := nextDue(c.from); due != c.due {
			t.Errorf("%s: the next is due at %d, want %d", c.name, due, c.due)
		}
	}
}

// shelved is a partition with a dictionary for each thousand of its records, and the worker's look at it.
type shelved struct {
	*workertest.Part
	all redisstream.DictionaryKeys
}

func (r *rig) shelved(name string, dictionaries int) *shelved {
	r.Helper()
	p := r.Create(name, map[string]string{"storage.compression.type": "zstd", "storage.compression.dictionary.enabled": "true", "segment.bytes": "-1"})
	s := &shelved{p, redisstream.NewDictionaryKeys("korvet", name, partition.Ref{ID: p.Topic.ID}.TopicID())}
	for id := 1; id <= dictionaries; id++ {
		r.Do("HSET", s.all.All, fmt.Sprint(id), "blob", "newest", fmt.Sprint(id), "sum", "s", "ratio", "0.5")
		s.uses(id)
		p.Add(1000, time.Minute, 10)
	}
	return s
}

// uses notes what the next append says of a dictionary.
func (s *shelved) uses(id int) {
	s.Helper()
	s.Do("HSET", s.Keys.Dictionaries, fmt.Sprint(id), "blob")
	s.Do("HSET", s.Keys.State("T"), fmt.Sprint("d:", id), fmt.Sprint(s.Next))
}

func (s *shelved) startAt(offset int64) {
	s.Do("HSET", s.Keys.Segments, "topic", partition.Ref{ID: s.Topic.ID}.TopicID(), "start", fmt.Sprint(offset))
}

// has compares the dictionaries of the partition and of the topic.
func (s *shelved) has(when, partition, topic string) {
	s.Helper()
	for i, want := range []string{partition, topic} {
		answer := s.Do("HKEYS", []string{s.Keys.Dictionaries, s.all.All}[i])
		fields, err := answer.AsStrSlice()
		if err != nil {
			s.Fatal(err)
		}
		fields = slices.DeleteFunc(fields, func(f string) bool { return strings.Trim(f, "0123456789") != "" })
		slices.Sort(fields)
		if got := strings.Join(fields, " "); got != want {
			s.Errorf("%s the %s has dictionaries %q, want %q", when, []string{"partition", "topic"}[i], got, want)
		}
	}
}

func TestDictionariesGoWithTheirRecords(t *testing.T) {
	r := newRig(t)
	s := r.shelved("t", 4)
	r.Tick()
	s.has("before anything is due", "1 2 3 4", "1 2 3 4")
	s.startAt(999)
	r.Tick()
	s.has("while one record is left", "1 2 3 4", "1 2 3 4")
	s.startAt(1000)
	r.Tick()
	s.has("after it", "2 3 4", "2 3 4")
	s.uses(2) // by a broker that has not heard of any other
	s.Add(1000, time.Minute, 10)
	s.startAt(4000)
	r.Tick()
	s.has("when the second is used again", "2", "2 4")
	s.uses(4)
	s.Add(1, time.Minute, 10)
	s.startAt(5000)
	r.Tick()
	s.has("at the end", "4", "4")
	s.startAt(5001)
	r.Tick()
	s.has("without any record", "4", "4")
}

func TestDictionariesStayAsLongAsASegmentHasTheirRecords(t *testing.T) {
	r := newRig(t)
	s := r.shelved("t", 1)
	s.uses(2)
	s.Add(1000, time.Minute, 10)
	s.Seal()
	s.startAt(1500) // the segment is there as a whole: it may be read by hand
	r.Tick()
	s.has("with a segment of both", "1 2", "1")
	s.uses(3)
	s.Add(10, time.Minute, 10)
	s.startAt(2000)
	r.Tick()
	s.has("without it", "3", "1")
}

// Whoever notes nothing, such as a broker whose state somebody removed by hand, may be using any dictionary.
func TestDictionariesOfWhichNothingIsNotedStay(t *testing.T) {
	r := newRig(t)
	s := r.shelved("t", 3)
	r.Do("HDEL", s.Keys.State("T"), "d:1")
	s.startAt(2500)
	r.Tick()
	s.has("of two noted ones", "1 3", "1 3")
	r.Do("DEL", s.Keys.State("T"))
	r.Tick()
	s.has("without any note", "1 3", "1 3")
}

func TestNothingIsAskedOfDictionariesThatDoNotChange(t *testing.T) {
	r := newRig(t)
	s := r.shelved("t", 3)
	s.startAt(1000)
	for range 2 { // the second look finds that the first has dropped one
		r.Tick()
	}
	before := r.calls()["hkeys"]
	s.Add(10, time.Second, 10)
	r.Tick()
	if n := r.calls()["hkeys"] - before; n != 0 {
		t.Errorf("%d looks at dictionaries of which none is due", n)
	}
	s.startAt(2000)
	r.Tick()
	s.has("when the next is due", "3", "3")
}

func TestDictionariesAreDroppedOnlyWhereAllThatWasSeenHolds(t *testing.T) {
	r := newRig(t)
	s := r.shelved("t", 3)
	s.startAt(2000)
	life := partition.Ref{ID: s.Topic.ID}.TopicID()
	claim := redisstream.Claim{TopicID: life, Fence: 10}
	seen := redisstream.DictionaryDrop{Token: "T", Below: 2000, Since: 3, IDs: []uint32{1, 2}}
	drop := func(what string, want error, change func(*redisstream.Claim, *redisstream.DictionaryDrop)) {
		t.Helper()
		c, d := claim, seen
		change(&c, &d)
		if n, err := r.Shard.DropDictionaries(t.Context(), s.Keys, c, d); n != 0 || !errors.Is(err, want) {
			t.Errorf("%s: %d dropped, %v", what, n, err)
		}
		s.has(what, "1 2 3", "1 2 3")
	}
	drop("another life", redisstream.ErrDeleted, func(c *redisstream.Claim, _ *redisstream.DictionaryDrop) { c.TopicID = strings.Repeat("0", 32) })
	drop("another token", nil, func(_ *redisstream.Claim, d *redisstream.DictionaryDrop) { d.Token = "U" })
	drop("above the log start", nil, func(_ *redisstream.Claim, d *redisstream.DictionaryDrop) { d.Below = 2001 })
	drop("used later", nil, func(_ *redisstream.Claim, d *redisstream.DictionaryDrop) { d.Below = 1999 })
	drop("used since then", nil, func(_ *redisstream.Claim, d *redisstream.DictionaryDrop) { d.IDs = []uint32{3} })
	drop("used by what is not noted", nil, func(_ *redisstream.Claim, d *redisstream.DictionaryDrop) { d.Since = 9 })
	r.Do("HSET", s.Keys.Segments, "fence", "11")
	drop("a later worker", redisstream.ErrFenced, func(*redisstream.Claim, *redisstream.DictionaryDrop) {})

	if n, err := r.Shard.ForgetDictionaries(t.Context(), s.all, 10, []uint32{1, 3}); n != 1 || err != nil {
		t.Errorf("of an old one and the newest %d went, %v", n, err)
	}
	if n, err := r.Shard.ForgetDictionaries(t.Context(), s.all, 9, []uint32{2}); n != 0 || !errors.Is(err, redisstream.ErrFenced) {
		t.Errorf("an earlier worker: %d went, %v", n, err)
	}
	s.has("at the end", "1 2 3", "2 3")
	r.Do("DEL", s.all.All)
	if n, err := r.Shard.ForgetDictionaries(t.Context(), s.all, 12, []uint32{2}); n != 0 || err != nil {
		t.Errorf("of a topic that is deleted: %d went, %v", n, err)
	}
	if n, err := toInt(r.Do("EXISTS", s.all.All)); n != 0 || err != nil {
		t.Errorf("a deleted topic's dictionaries are there again: %d, %v", n, err)
	}
}

func TestDictionariesGoWithRedisFull(t *testing.T) {
	r := newRig(t)
	s := r.shelved("t", 40) // more than one command drops
	s.startAt(39_000)
	r.Do("CONFIG", "SET", "maxmemory", "1")
	r.Tick()
	s.has("with Redis full", "40", "40")
}

package coordinator

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/korvet-io/korvet/internal/group"
	"github.com/korvet-io/korvet/internal/redistest"
)

func TestSaveCutShortLeavesTheNewerGeneration(t *testing.T) {
	redis := redistest.Start(t)
	s := storeOf(t, redis)
	token, _ := claimed(t, s, "g")
	mustStore(t, s.Save(t.Context(), "g", token, &group.Changes{Generation: 1, Group: []byte("one"), Members: map[string][]byte{"m": []byte("1")}}))
	redis.Do("HSET", commitsOfG, ":gen", "2") // the first step of a save
	_, l := claimed(t, s, "g")
	want := group.Stored{Generation: 2, Group: []byte("one"), Members: map[string][]byte{"m": []byte("1")}}
	if !reflect.DeepEqual(l.Group, want) {
		t.Errorf("found %+v, want %+v", l.Group, want)
	}
}

// Its first step raised the generation: that is not nothing.
func TestSaveThatIsOvertakenBetweenItsStepsIsUnknown(t *testing.T) {
	redis := redistest.Start(t)
	a, b := storeOf(t, redis), storeOf(t, redis)
	token, _ := claimed(t, a, "g")
	a.client = &steps{Client: a.client, before: func(n int) error {
		if n == 2 {
			claimed(t, b, "g")
		}
		return nil
	}}
	err := a.Save(t.Context(), "g", token, &group.Changes{Generation: 9, Group: []byte("{}")})
	if err == nil || errors.Is(err, ErrStale) || errors.Is(err, ErrRefused) {
		t.Errorf("got %v, want an error that leaves the outcome open", err)
	}
	if _, l := claimed(t, b, "g"); l.Group.Generation != 9 || l.Group.Group != nil {
		t.Errorf("found %+v, want generation 9 and no group", l.Group)
	}
}

// What is left of a group whose deletion stopped after the offsets is not the next life's, even if the next claim stops, too.
func TestDeletionCutShortLeavesNoMembers(t *testing.T) {
	lost := errors.New("lost")
	for _, stops := range []int{0, 3, 5} { // commands that the first claim afterwards gets through; 0: all
		redis := redistest.Start(t)
		s := storeOf(t, redis)
		token, _ := claimed(t, s, "g")
		mustStore(t, s.Save(t.Context(), "g", token, &group.Changes{Generation: 8, Group: []byte("old"), Members: map[string][]byte{"old": []byte("1")}}))
		whole := s.client
		s.client = &steps{Client: whole, before: func(n int) error { return failFrom(n, 2, lost) }}
		mustStore(t, s.Delete(t.Context(), "g", token)) // the group is gone whatever happens next
		s.client = whole
		if exists(t, s, "g") {
			t.Error("what is left exists")
		}
		if stops > 0 {
			s.client = &steps{Client: whole, before: func(n int) error { return failFrom(n, stops, lost) }}
			if _, _, err := s.Claim(t.Context(), "g"); !errors.Is(err, lost) {
				t.Fatalf("claim: %v, want it lost", err)
			}
			s.client = whole
		}
		if exists(t, s, "g") {
			t.Error("what is left exists after a claim")
		}
		token, l := claimed(t, s, "g")
		if !reflect.DeepEqual(l, Loaded{}) {
			t.Errorf("stopped before command %d: the next life has %+v", stops, l)
		}
		mustStore(t, s.Delete(t.Context(), "g", token))
		if names, err := s.Names(t.Context()); err != nil || len(names) > 0 {
			t.Errorf("names %v, %v", names, err)
		}
	}
}

func failFrom(n, from int, err error) error {
	if n >= from {
		return err
	}
	return nil
}

func TestClaimGoesOnAfterRedisClockWasSetBack(t *testing.T) {
	redis := redistest.Start(t)
	s := storeOf(t, redis)
	redis.Do("HSET", membersOfG, ":token", "8000000000000000", ":life", "8000000000000000", ":group", "old")
	token, l := claimed(t, s, "g")
	if token != 8000000000000001 || !reflect.DeepEqual(l, Loaded{}) {
		t.Errorf("token %d and %+v", token, l)
	}
	mustStore(t, s.Save(t.Context(), "g", token, &group.Changes{Generation: 1, Group: []byte("new")}))
}

func TestClaimThatIsOvertakenIsStale(t *testing.T) {
	redis := redistest.Start(t)
	a, b := storeOf(t, redis), storeOf(t, redis)
	var newer Token
	claimed(t, b, "g")
	a.client = &steps{Client: a.client, before: func(n int) error {
		if n == 3 { // its offsets are claimed, its members not yet
			newer, _ = claimed(t, b, "g")
		}
		return nil
	}}
	if _, _, err := a.Claim(t.Context(), "g"); !errors.Is(err, ErrStale) {
		t.Errorf("got %v, want ErrStale", err)
	}
	mustStore(t, b.Save(t.Context(), "g", newer, &group.Changes{Generation: 1, Group: []byte("{}")}))
	mustStore(t, b.Commit(t.Context(), "g", newer, []Offset{someOffset(0, 1)}, nil))
}

func TestNameOfANewLifeIsListedAlthoughTheOldOnesDeletionEndsLater(t *testing.T) {
	redis := redistest.Start(t)
	a, b := storeOf(t, redis), storeOf(t, redis)
	token, _ := claimed(t, a, "g")
	a.client = &steps{Client: a.client, before: func(n int) error {
		if n == 3 { // the offsets and members are deleted, the name not yet
			claimed(t, b, "g")
		}
		return nil
	}}
	mustStore(t, a.Delete(t.Context(), "g", token))
	if names, err := b.Names(t.Context()); err != nil || !slices.Equal(names, []string{"g"}) {
		t.Errorf("names %v, %v", names, err)
	}
}

func TestFullRedisRefusesWhatGrowsAndTakesWhatFreesMemory(t *testing.T) {
	redis := redistest.Start(t)
	s := storeOf(t, redis)
	token, _ := claimed(t, s, "g")
	mustStore(t, s.Commit(t.Context(), "g", token, []Offset{someOffset(0, 1), someOffset(1, 1)}, nil))
	mustStore(t, s.Save(t.Context(), "g", token, &group.Changes{Generation: 1, Group: []byte("{}"), Members: map[string][]byte{"m": []byte("1"), "n": []byte("1")}}))
	redis.Do("CONFIG", "SET", "maxmemory", "1")

	before := storedOf(t, redis)
	for what, err := range map[string]error{
		"commit":            s.Commit(t.Context(), "g", token, []Offset{someOffset(0, 2)}, nil),
		"commit and remove": s.Commit(t.Context(), "g", token, []Offset{someOffset(0, 2)}, []TopicPartition{{"orders", 1}}),
		"save":              s.Save(t.Context(), "g", token, &group.Changes{Generation: 2, Members: map[string][]byte{"m": []byte("2")}, Gone: []string{"n"}}),
		"new group":         newGroup(t.Context(), s),
	} {
		if !errors.Is(err, ErrRefused) || errors.Is(err, ErrStale) || !strings.Contains(err.Error(), "OOM") {
			t.Errorf("%s: %v, want ErrRefused because of OOM", what, err)
		}
	}
	if after := storedOf(t, redis); !reflect.DeepEqual(after, before) {
		t.Errorf("Redis has %v, before it had %v", after, before)
	}

	token, l := claimed(t, s, "g")
	if len(l.Offsets) != 2 || len(l.Group.Members) != 2 {
		t.Errorf("loaded %+v", l)
	}
	mustStore(t, s.Commit(t.Context(), "g", token, nil, []TopicPartition{{"orders", 0}}))
	mustStore(t, s.Save(t.Context(), "g", token, &group.Changes{Generation: 2, Group: []byte("empty"), Gone: []string{"m", "n"}}))
	token, l = claimed(t, s, "g")
	want := Loaded{group.Stored{Generation: 2, Group: []byte("empty")}, []Offset{someOffset(1, 1)}}
	if !reflect.DeepEqual(l, want) {
		t.Errorf("found %+v, want %+v", l, want)
	}
	mustStore(t, s.Delete(t.Context(), "g", token))
	if exists(t, s, "g") {
		t.Error("the deleted group exists")
	}
}

func newGroup(ctx context.Context, s *RedisStore) error {
	_, _, err := s.Claim(ctx, "another")
	return err
}

func TestKeysOfAnotherKindAreErrorsAndStayAsTheyAre(t *testing.T) {
	redis := redistest.Start(t)
	s := storeOf(t, redis)
	token, _ := claimed(t, s, "g")
	redis.Do("SET", "korvet:broker:commit:commits", "x")
	redis.Do("SET", "korvet:broker:group:members", "x")
	for _, name := range []string{"commits", "members"} {
		_, existsErr := s.Exists(t.Context(), name)
		_, _, claimErr := s.Claim(t.Context(), name)
		for what, err := range map[string]error{"exists": existsErr, "claim": claimErr} {
			if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "WRONGTYPE") {
				t.Errorf("%s of %s: %v, want ErrRefused because of WRONGTYPE", what, name, err)
			}
		}
	}
	for what, err := range map[string]error{
		"commit": s.Commit(t.Context(), "commits", token, []Offset{someOffset(0, 2)}, nil),
		"save":   s.Save(t.Context(), "commits", token, &group.Changes{Generation: 2}),
		"delete": s.Delete(t.Context(), "commits", token),
	} {
		if !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %v, want ErrRefused", what, err)
		}
	}
	for _, key := range []string{"korvet:broker:commit:commits", "korvet:broker:group:members"} {
		reply := redis.Do("GET", key)
		if v, err := reply.ToString(); err != nil || v != "x" {
			t.Errorf("%s is %q, %v", key, v, err)
		}
	}
	redis.Do("DEL", "korvet:broker:groups")
	redis.Do("SET", "korvet:broker:groups", "x")
	if _, err := s.Names(t.Context()); !errors.Is(err, ErrRefused) {
		t.Errorf("names: %v, want ErrRefused", err)
	}
	if _, _, err := s.Claim(t.Context(), "g"); !errors.Is(err, ErrRefused) {
		t.Errorf("claim without a list: %v, want ErrRefused", err)
	}
}

func TestReplicasAndServersThatLoadRefuse(t *testing.T) {
	redis := redistest.Start(t, "--appendonly", "yes", "--appendfsync", "no")
	s := storeOf(t, redis)
	token, _ := claimed(t, s, "g")
	mustStore(t, s.Commit(t.Context(), "g", token, []Offset{someOffset(0, 1)}, nil))
	redis.Do("REPLICAOF", "127.0.0.1", "1")
	err := s.Commit(t.Context(), "g", token, []Offset{someOffset(0, 2)}, nil)
	if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "READONLY") {
		t.Errorf("commit on a replica: %v, want ErrRefused because of READONLY", err)
	}
	redis.Do("REPLICAOF", "NO", "ONE")
	var filler []rueidis.Completed // what takes a while to load
	for range 3000 {
		filler = append(filler, s.client.B().Set().Key("filler").Value("x").Build())
	}
	s.client.DoMulti(t.Context(), filler...)
	redis.RestartLoading()
	s.timeout = 100 * time.Millisecond
	if err := s.Commit(t.Context(), "g", token, []Offset{someOffset(0, 2)}, nil); errors.Is(err, ErrStale) {
		t.Errorf("commit while Redis loads: %v", err)
	}
	s.timeout = 10 * time.Second
	redis.FinishLoading()
	redistest.Eventually(t, "a commit to succeed", func() bool {
		return s.Commit(t.Context(), "g", token, []Offset{someOffset(0, 3)}, nil) == nil
	})
	if _, l := claimed(t, storeOf(t, redis), "g"); !slices.Equal(l.Offsets, []Offset{someOffset(0, 3)}) {
		t.Errorf("found %+v after the load", l)
	}
}

func TestRedisThatIsAwayLeavesTheOutcomeOpen(t *testing.T) {
	redis := redistest.Start(t)
	s := storeOf(t, redis)
	token, _ := claimed(t, s, "g")
	s.timeout = 50 * time.Millisecond
	all := func() map[string]error {
		_, namesErr := s.Names(t.Context())
		_, existsErr := s.Exists(t.Context(), "g")
		_, _, claimErr := s.Claim(t.Context(), "g")
		return map[string]error{
			"names": namesErr, "exists": existsErr, "claim": claimErr,
			"commit": s.Commit(t.Context(), "g", token, []Offset{someOffset(0, 1)}, nil),
			"save":   s.Save(t.Context(), "g", token, &group.Changes{Generation: 1}),
			"delete": s.Delete(t.Context(), "g", token),
		}
	}
	redis.Pause()
	silent := all()
	redis.Resume()
	redis.Kill()
	dead := all()
	for state, errs := range map[string]map[string]error{"silent": silent, "dead": dead} {
		for what, err := range errs {
			if err == nil || errors.Is(err, ErrStale) || errors.Is(err, ErrRefused) {
				t.Errorf("%s at a %s Redis: %v, want an error that leaves the outcome open", what, state, err)
			}
		}
	}
}

// What Redis did although nobody heard of it is found by the next claim, and what it has not done by then never happens.
func TestCommitOfUnknownOutcomeIsDecidedByTheNextClaim(t *testing.T) {
	redis := redistest.Start(t)
	s, patient := storeOf(t, redis), storeOf(t, redis)
	token, _ := claimed(t, s, "g")
	s.timeout = 50 * time.Millisecond
	redis.Pause()
	if err := s.Commit(t.Context(), "g", token, []Offset{someOffset(0, 5)}, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want a timeout", err)
	}
	redis.Resume()
	next, l := claimed(t, patient, "g")
	then := storedOf(t, redis)
	if strconv.FormatUint(uint64(next), 10) != then[0][":token"] {
		t.Errorf("token %d, in Redis %s", next, then[0][":token"])
	}
	redistest.Eventually(t, "Redis to have run two claims and the commit", func() bool {
		reply := redis.Do("INFO", "commandstats")
		info, err := reply.ToString()
		return err == nil && strings.Contains(info, "cmdstat_evalsha:calls=5,")
	})
	if now := storedOf(t, redis); !reflect.DeepEqual(now, then) || len(l.Offsets) != len(then[0])-3 {
		t.Errorf("claimed with %d offsets; Redis had %v, then %v", len(l.Offsets), then, now)
	}
}

// steps counts a client's calls from 1 and lets a test do something before each, or let it fail unsent.
type steps struct {
	rueidis.Client
	n      int
	before func(n int) error
}

func (s *steps) Do(ctx context.Context, command rueidis.Completed) rueidis.RedisResult {
	s.n++
	if err := s.before(s.n); err != nil {
		return rueidis.NewErrorResult(err)
	}
	return s.Client.Do(ctx, command)
}

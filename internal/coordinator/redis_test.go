package coordinator

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/korvet-io/korvet/internal/group"
	"github.com/korvet-io/korvet/internal/redistest"
)

const (
	commitsOfG = "korvet:broker:commit:g"
	membersOfG = "korvet:broker:group:g"
)

var someTopic = uuid.MustParse("01890a5d-ac96-774b-bcce-b302099a8057")

// storeOf opens a store with connections of its own. Redis knows the scripts: each is one command.
func storeOf(t testing.TB, redis *redistest.Server) *RedisStore {
	t.Helper()
	c := redis.Client()
	for _, text := range []string{claimCommitsLua, claimGroupLua, writeLua, deleteLua} {
		if err := c.Do(t.Context(), c.B().ScriptLoad().Script(text).Build()).Error(); err != nil {
			t.Fatal(err)
		}
	}
	return NewRedisStore(c, "korvet", "1/boot", 10*time.Second)
}

func someOffset(partition int32, at int64) Offset {
	return Offset{TopicPartition: TopicPartition{"orders", partition}, TopicID: someTopic, Offset: at, LeaderEpoch: -1, CommitMs: 1700000000000}
}

// claimed claims a group. Its offsets come in the order of their partitions.
func claimed(t *testing.T, s *RedisStore, name string) (Token, Loaded) {
	t.Helper()
	token, l, err := s.Claim(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(l.Offsets, func(a, b Offset) int {
		return cmp.Or(strings.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	return token, l
}

func mustStore(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// stored is everything that Redis has of group g.
func storedOf(t *testing.T, redis *redistest.Server) [2]map[string]string {
	t.Helper()
	var all [2]map[string]string
	for i, key := range []string{commitsOfG, membersOfG} {
		reply := redis.Do("HGETALL", key)
		var err error
		if all[i], err = reply.AsStrMap(); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

func exists(t *testing.T, s *RedisStore, name string) bool {
	t.Helper()
	there, err := s.Exists(t.Context(), name)
	mustStore(t, err)
	return there
}

func TestClaimFindsWhatAnEarlierOneStored(t *testing.T) {
	redis := redistest.Start(t)
	a, b := storeOf(t, redis), storeOf(t, redis)
	first, l := claimed(t, a, "g")
	if !reflect.DeepEqual(l, Loaded{}) {
		t.Errorf("a new group has %+v", l)
	}
	extreme := Offset{
		TopicPartition: TopicPartition{"orders", math.MaxInt32}, TopicID: someTopic, Offset: math.MaxInt64, LeaderEpoch: math.MaxInt32,
		CommitMs: math.MaxInt64, ExpireMs: math.MaxInt64, Metadata: "x y\x00z ",
	}
	mustStore(t, a.Commit(t.Context(), "g", first, []Offset{someOffset(0, 1), someOffset(1, 1), extreme}, nil))
	mustStore(t, a.Commit(t.Context(), "g", first, []Offset{someOffset(0, 7)}, []TopicPartition{{"orders", 1}, {"never", 0}}))
	mustStore(t, a.Save(t.Context(), "g", first, &group.Changes{
		Generation: 3, Group: []byte(`{"x":1}`), Members: map[string][]byte{"m-1": []byte("one"), "m-2": {}, ":gen": {0, 255}},
	}))
	mustStore(t, a.Save(t.Context(), "g", first, &group.Changes{
		Generation: math.MaxInt32, Members: map[string][]byte{"m-3": []byte("three")}, Gone: []string{"m-1", "never"},
	}))

	second, l := claimed(t, b, "g")
	want := Loaded{
		group.Stored{
			Generation: math.MaxInt32, Group: []byte(`{"x":1}`), Members: map[string][]byte{"m-2": {}, ":gen": {0, 255}, "m-3": []byte("three")},
		},
		[]Offset{someOffset(0, 7), extreme},
	}
	if !reflect.DeepEqual(l, want) {
		t.Errorf("found %+v, want %+v", l, want)
	}
	if second <= first {
		t.Errorf("token %d after %d", second, first)
	}
}

func TestTokenIsTheTimeOfRedis(t *testing.T) {
	redis := redistest.Start(t)
	s := storeOf(t, redis)
	before := time.Now().Add(-time.Minute).UnixMicro()
	if token, _ := claimed(t, s, "g"); int64(token) < before {
		t.Errorf("token %d is no time in microseconds", token)
	}
	redis.Do("HSET", commitsOfG, ":token", "5000000000000000") // the clock was ahead
	if token, _ := claimed(t, s, "g"); token != 5000000000000001 {
		t.Errorf("token %d, want one more than the last", token)
	}
	redis.Do("HSET", commitsOfG, ":token", "9007199254740992")
	if _, _, err := s.Claim(t.Context(), "g"); !errors.Is(err, ErrRefused) {
		t.Errorf("a token that doubles cannot tell from the next: %v, want ErrRefused", err)
	}
}

func TestOlderClaimChangesNothing(t *testing.T) {
	redis := redistest.Start(t)
	a, b := storeOf(t, redis), storeOf(t, redis)
	old, _ := claimed(t, a, "g")
	mustStore(t, a.Commit(t.Context(), "g", old, []Offset{someOffset(0, 1)}, nil))
	mustStore(t, a.Save(t.Context(), "g", old, &group.Changes{Generation: 1, Group: []byte("g"), Members: map[string][]byte{"m": []byte("1")}}))
	claimed(t, b, "g")
	before := storedOf(t, redis)
	for what, err := range map[string]error{
		"commit":  a.Commit(t.Context(), "g", old, []Offset{someOffset(0, 2)}, []TopicPartition{{"orders", 1}}),
		"removal": a.Commit(t.Context(), "g", old, nil, []TopicPartition{{"orders", 0}}),
		"save":    a.Save(t.Context(), "g", old, &group.Changes{Generation: 2, Group: []byte("h"), Gone: []string{"m"}}),
		"delete":  a.Delete(t.Context(), "g", old),
	} {
		if !errors.Is(err, ErrStale) || errors.Is(err, ErrRefused) {
			t.Errorf("%s: %v, want ErrStale", what, err)
		}
	}
	if after := storedOf(t, redis); !reflect.DeepEqual(after, before) {
		t.Errorf("Redis has %v, before it had %v", after, before)
	}
}

func TestGroupExistsOnceSomethingIsStored(t *testing.T) {
	redis := redistest.Start(t)
	s := storeOf(t, redis)
	token, _ := claimed(t, s, "offsets")
	if exists(t, s, "offsets") || exists(t, s, "never") {
		t.Error("a group that nothing is stored of exists")
	}
	mustStore(t, s.Commit(t.Context(), "offsets", token, []Offset{someOffset(0, 1)}, nil))
	if !exists(t, s, "offsets") {
		t.Error("a group with an offset does not exist")
	}
	mustStore(t, s.Commit(t.Context(), "offsets", token, nil, []TopicPartition{{"orders", 0}}))
	if exists(t, s, "offsets") {
		t.Error("a group whose last offset went exists")
	}
	token, _ = claimed(t, s, "members")
	mustStore(t, s.Save(t.Context(), "members", token, &group.Changes{Generation: 1, Group: []byte("{}")}))
	if !exists(t, s, "members") {
		t.Error("a group with a line does not exist")
	}
}

func TestDeletedGroupIsGoneAndItsTokenWithIt(t *testing.T) {
	redis := redistest.Start(t)
	s := storeOf(t, redis)
	old, _ := claimed(t, s, "g")
	mustStore(t, s.Commit(t.Context(), "g", old, []Offset{someOffset(0, 1)}, nil))
	mustStore(t, s.Save(t.Context(), "g", old, &group.Changes{Generation: 4, Group: []byte("{}"), Members: map[string][]byte{"m": []byte("1")}}))
	mustStore(t, s.Delete(t.Context(), "g", old))
	reply := redis.Do("KEYS", "*")
	if keys, err := reply.AsStrSlice(); err != nil || len(keys) > 0 {
		t.Errorf("left are %v, %v", keys, err)
	}
	if exists(t, s, "g") {
		t.Error("the deleted group exists")
	}
	if err := s.Commit(t.Context(), "g", old, []Offset{someOffset(0, 2)}, nil); !errors.Is(err, ErrStale) {
		t.Errorf("commit to a deleted group: %v, want ErrStale", err)
	}
	if err := s.Delete(t.Context(), "g", old); !errors.Is(err, ErrStale) {
		t.Errorf("second deletion: %v, want ErrStale", err)
	}
	next, l := claimed(t, s, "g")
	if next <= old || !reflect.DeepEqual(l, Loaded{}) {
		t.Errorf("the next life has token %d after %d and %+v", next, old, l)
	}
	if err := s.Save(t.Context(), "g", old, &group.Changes{Generation: 5}); !errors.Is(err, ErrStale) {
		t.Errorf("save with the token of an earlier life: %v, want ErrStale", err)
	}
}

func TestNamesListsEveryGroupOnce(t *testing.T) {
	redis := redistest.Start(t)
	s := storeOf(t, redis)
	if names, err := s.Names(t.Context()); err != nil || len(names) != 0 {
		t.Errorf("names %v, %v", names, err)
	}
	var want []string
	for i := range 3000 {
		want = append(want, fmt.Sprintf("group-%04d", i))
	}
	redis.Do(append([]string{"SADD", "korvet:broker:groups"}, want...)...)
	names, err := s.Names(t.Context())
	if err != nil || !slices.Equal(names, want) {
		t.Errorf("%d names, %v, want %d", len(names), err, len(want))
	}
}

func TestGroupsMayHaveAnyName(t *testing.T) {
	redis := redistest.Start(t)
	s := storeOf(t, redis)
	names := []string{"", " ", ":", "*", "?", "a:b", "{a}", "{}", "a b\nc", "\x00\xff\xfe", "[a-z]", `\`, "group", "s", "ü", strings.Repeat("x", 255), strings.Repeat("\xff", 255)}
	for i, name := range names {
		token, _ := claimed(t, s, name)
		mustStore(t, s.Commit(t.Context(), name, token, []Offset{someOffset(0, int64(i))}, nil))
		mustStore(t, s.Save(t.Context(), name, token, &group.Changes{Generation: int32(i), Group: []byte(name), Members: map[string][]byte{name: []byte("1")}}))
	}
	listed, err := s.Names(t.Context())
	if err != nil || !slices.Equal(listed, slices.Sorted(slices.Values(names))) {
		t.Errorf("names %q, %v", listed, err)
	}
	for i, name := range names {
		if !exists(t, s, name) {
			t.Errorf("group %q does not exist", name)
		}
		token, l := claimed(t, s, name)
		want := Loaded{
			group.Stored{Generation: int32(i), Group: []byte(name), Members: map[string][]byte{name: []byte("1")}},
			[]Offset{someOffset(0, int64(i))},
		}
		if !reflect.DeepEqual(l, want) {
			t.Errorf("group %q: %+v, want %+v", name, l, want)
		}
		mustStore(t, s.Delete(t.Context(), name, token))
	}
	reply := redis.Do("DBSIZE")
	if n, err := reply.AsInt64(); err != nil || n != 0 {
		t.Errorf("%d keys are left, %v", n, err)
	}
}

func TestBigGroupsAreStoredByOneScript(t *testing.T) {
	redis := redistest.Start(t)
	s := storeOf(t, redis)
	token, _ := claimed(t, s, "g")
	var set []Offset
	var gone []TopicPartition
	for i := range int32(10_000) {
		set = append(set, someOffset(i, int64(i)))
		gone = append(gone, TopicPartition{"orders", i})
	}
	changes := group.Changes{Generation: 1, Group: []byte("{}"), Members: map[string][]byte{}}
	var left []string
	for i := range 9_000 {
		id := fmt.Sprintf("member-%d", i)
		changes.Members[id] = bytes.Repeat([]byte("x"), 100)
		left = append(left, id)
	}
	mustStore(t, s.Commit(t.Context(), "g", token, set, nil))
	mustStore(t, s.Save(t.Context(), "g", token, &changes))
	token, l := claimed(t, s, "g")
	if !slices.Equal(l.Offsets, set) || !reflect.DeepEqual(l.Group.Members, changes.Members) {
		t.Errorf("found %d offsets and %d members", len(l.Offsets), len(l.Group.Members))
	}
	mustStore(t, s.Commit(t.Context(), "g", token, set[:1], gone[1:]))
	mustStore(t, s.Save(t.Context(), "g", token, &group.Changes{Generation: 2, Gone: left}))
	if _, l = claimed(t, s, "g"); !slices.Equal(l.Offsets, set[:1]) || len(l.Group.Members) != 0 {
		t.Errorf("after the removal: %d offsets and %d members", len(l.Offsets), len(l.Group.Members))
	}
}

func TestFieldsThatCannotBeReadAreSkippedAndCounted(t *testing.T) {
	redis := redistest.Start(t)
	s := storeOf(t, redis)
	var log bytes.Buffer
	s.Log = slog.New(slog.NewTextHandler(&log, nil))
	token, _ := claimed(t, s, "g")
	mustStore(t, s.Commit(t.Context(), "g", token, []Offset{someOffset(0, 1)}, nil))
	redis.Do("HSET", commitsOfG, "orders:1", "many", "orders", "1 -1 1 0 "+someTopic.String(), ":gen", "x", ":new", "of a later version")
	redis.Do("HSET", membersOfG, ":gen", "6", ":new", "of a later version")
	_, l := claimed(t, s, "g")
	if !slices.Equal(l.Offsets, []Offset{someOffset(0, 1)}) || l.Group.Generation != 6 {
		t.Errorf("found %+v", l)
	}
	if s.Unreadable() != 3 || strings.Count(log.String(), "\n") != 1 || !strings.Contains(log.String(), "fields=3") {
		t.Errorf("%d fields skipped, log %q", s.Unreadable(), &log)
	}
}

func TestScriptsAreSentAgainToARedisThatForgotThem(t *testing.T) {
	redis := redistest.Start(t)
	s := storeOf(t, redis)
	token, _ := claimed(t, s, "g")
	redis.Do("SCRIPT", "FLUSH")
	mustStore(t, s.Commit(t.Context(), "g", token, []Offset{someOffset(0, 1)}, nil))
	redis.Do("SCRIPT", "FLUSH")
	mustStore(t, s.Delete(t.Context(), "g", token))
}

func TestOnlyTheNewestClaimHolds(t *testing.T) {
	redis := redistest.Start(t)
	a, b := storeOf(t, redis), storeOf(t, redis)
	mustStore(t, a.Holds(t.Context(), "g", 0)) // nobody claimed it
	old, _ := claimed(t, a, "g")
	mustStore(t, a.Holds(t.Context(), "g", old))
	newest, _ := claimed(t, b, "g")
	for what, token := range map[string]Token{"older claim": old, "none": 0, "never given": newest + 1} {
		if err := a.Holds(t.Context(), "g", token); !errors.Is(err, ErrStale) {
			t.Errorf("%s: %v, want ErrStale", what, err)
		}
	}
	mustStore(t, b.Delete(t.Context(), "g", newest))
	if err := b.Holds(t.Context(), "g", newest); !errors.Is(err, ErrStale) {
		t.Errorf("claim of a deleted group: %v, want ErrStale", err)
	}
	redis.Do("SET", commitsOfG, "x")
	if err := b.Holds(t.Context(), "g", newest); !errors.Is(err, ErrRefused) {
		t.Errorf("key of another kind: %v, want ErrRefused", err)
	}
}

package metadata

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/korvet-io/korvet/internal/redistest"
	"github.com/korvet-io/korvet/internal/topicconfig"
)

func withTables(t testing.TB, broker int32) Options {
	opt := options(t, broker)
	opt.Tables = "file:///tier/korvet"
	return opt
}

func ensure(t testing.TB, s *Store, topic *Topic) Table {
	t.Helper()
	table, err := s.EnsureTable(t.Context(), topic)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func TestATopicHasOneTableWhoeverAsks(t *testing.T) {
	redis := redistest.Start(t)
	a, b := open(t, redis, withTables(t, 1)), open(t, redis, withTables(t, 2))
	topic := create(t, a, "Orders.eu-1")
	made := ensure(t, a, topic)
	if made.Name != "orders_eu_1" || made.Topic != topic.Name || made.TopicID != topic.ID {
		t.Errorf("the table is %+v", made)
	}
	if folder, found := strings.CutPrefix(made.Location, "file:///tier/korvet/orders_eu_1-"+topic.ID.String()[:8]+"-"); !found || len(folder) != 8 {
		t.Errorf("it is at %s", made.Location)
	}
	if got := ensure(t, b, topic); got != made {
		t.Errorf("the other broker has %+v, want %+v", got, made)
	}
	if got, ok := a.TableOf(topic.ID); !ok || got != made {
		t.Errorf("in memory is %+v, %v", got, ok)
	}
	c := open(t, redis, options(t, 3))
	if got, ok := c.TableOf(topic.ID); !ok || got != made || len(c.Tables()) != 1 {
		t.Errorf("a broker that was started later has %+v, %v", got, ok)
	}
}

func TestTablesOfTwoTopicsNeverShareANameOrAFolder(t *testing.T) {
	redis := redistest.Start(t)
	a, b := open(t, redis, withTables(t, 1)), open(t, redis, withTables(t, 2))
	long := strings.Repeat("x", 249)
	names, folders := map[string]bool{}, map[string]bool{}
	for i, name := range []string{"a.b", "a-b", "A_b", "a_b_2", long, long[:248] + "y"} {
		s := []*Store{a, b}[i%2]
		table := ensure(t, s, create(t, s, name))
		folder := table.Location[strings.LastIndex(table.Location, "/")+1:]
		if names[table.Name] || folders[folder] || len(folder) > 255 {
			t.Errorf("%s has table %s in %s", name, table.Name, folder)
		}
		names[table.Name], folders[folder] = true, true
	}
	for _, want := range []string{"a_b", "a_b_2", "a_b_3", "a_b_2_2"} {
		if !names[want] {
			t.Errorf("no table is called %s: %v", want, names)
		}
	}
}

func TestATopicGetsANewTableOnceItsOldOneIsDropped(t *testing.T) {
	redis := redistest.Start(t)
	a, b := open(t, redis, withTables(t, 1)), open(t, redis, withTables(t, 2))
	topic := create(t, a, "t")
	old := ensure(t, a, topic)
	for range 2 { // also again, after an unclear answer
		if err := a.DropTable(t.Context(), old); err != nil {
			t.Fatal(err)
		}
	}
	if _, ok := a.TableOf(topic.ID); ok {
		t.Error("the topic still has the dropped table")
	}
	if all, dropped := a.Tables(), a.DroppedTables(); len(all) != 0 || len(dropped) != 1 || dropped[0].DroppedMs == 0 || dropped[0].Location != old.Location {
		t.Errorf("tables are %+v, dropped ones %+v", all, dropped)
	}
	if err := b.Heartbeat(t.Context()); err != nil {
		t.Fatal(err)
	}
	next := ensure(t, b, topic)
	if next.Name != old.Name || next.Location == old.Location || next.TopicID != topic.ID {
		t.Errorf("the new table is %+v, the old one was %+v", next, old)
	}
	for range 2 {
		if err := b.ForgetTable(t.Context(), old); err != nil {
			t.Fatal(err)
		}
	}
	if got, ok := b.TableOf(topic.ID); !ok || got != next || len(b.Tables()) != 1 || len(b.DroppedTables()) != 0 {
		t.Errorf("after the old one was forgotten: %+v, %v, %+v", got, ok, b.Tables())
	}
	if err := a.DropTable(t.Context(), old); err != nil { // a late repetition
		t.Fatal(err)
	}
	if got, ok := a.TableOf(topic.ID); !ok || got != next || len(a.DroppedTables()) != 0 {
		t.Errorf("a late repetition left %+v, %v, want %+v", got, ok, next)
	}
}

func TestWithoutAPlaceForTablesNoneIsReserved(t *testing.T) {
	s := open(t, redistest.Start(t), options(t, 1))
	if _, err := s.EnsureTable(t.Context(), create(t, s, "t")); !errors.Is(err, ErrNoTables) {
		t.Errorf("error %v, want ErrNoTables", err)
	}
}

func TestEntriesThatAreNoTablesAreLeftOut(t *testing.T) {
	redis := redistest.Start(t)
	s := open(t, redis, withTables(t, 1))
	good := ensure(t, s, create(t, s, "good"))
	id := uuid.NewString()
	for field, value := range map[string]string{
		"broken": "{", "empty": "{}", "other": `{"name":"another","id":"` + id + `","location":"s3://b/x"}`, "slash": `{"name":"slash","id":"` + id + `","location":"s3://b/"}`,
		":dropped:x": `{"name":"x","id":"` + id + `","location":"s3://b/y","dropped":1}`,
	} {
		c := redis.Client()
		if err := c.Do(t.Context(), c.B().Hset().Key(s.tablesKey()).FieldValue().FieldValue(field, value).FieldValue(":rev", "x").Build()).Error(); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Heartbeat(t.Context()); err != nil {
		t.Fatal(err)
	}
	if all := s.Tables(); len(all) != 1 || all[0] != good || len(s.DroppedTables()) != 0 {
		t.Errorf("tables are %+v, %+v", all, s.DroppedTables())
	}
	for _, taken := range []string{"broken", "empty"} { // names of others are not overwritten, whatever they are
		if table := ensure(t, s, create(t, s, taken)); table.Name != taken+"_2" {
			t.Errorf("table of %s is %s", taken, table.Name)
		}
	}
}

func TestTheHintOfATableIsKeptUntilItIsForgotten(t *testing.T) {
	redis := redistest.Start(t)
	s := open(t, redis, withTables(t, 1))
	table := ensure(t, s, create(t, s, "t"))
	h := s.TableHint()
	if n, err := h.Load(t.Context(), table.Location); n != 0 || err != nil {
		t.Errorf("before: %d, %v", n, err)
	}
	if err := h.Store(t.Context(), table.Location, 7); err != nil {
		t.Fatal(err)
	}
	if n, err := h.Load(t.Context(), table.Location); n != 7 || err != nil {
		t.Errorf("after: %d, %v, want 7", n, err)
	}
	if err := errors.Join(s.DropTable(t.Context(), table), s.ForgetTable(t.Context(), table)); err != nil {
		t.Fatal(err)
	}
	if n, err := h.Load(t.Context(), table.Location); n != 0 || err != nil {
		t.Errorf("once it is forgotten: %d, %v", n, err)
	}
}

func TestATableIsReservedInAFullRedis(t *testing.T) {
	redis := redistest.Start(t)
	s := open(t, redis, withTables(t, 1))
	topic := create(t, s, "t")
	c := redis.Client()
	if err := c.Do(t.Context(), c.B().ConfigSet().ParameterValue().ParameterValue("maxmemory", "1").Build()).Error(); err != nil {
		t.Fatal(err)
	}
	table := ensure(t, s, topic)
	if err := errors.Join(s.DropTable(t.Context(), table), s.ForgetTable(t.Context(), table)); err != nil {
		t.Error(err)
	}
}

func TestRemoteStorageIsTurnedOnAgainOnceTheOldTableIsDropped(t *testing.T) {
	redis := redistest.Start(t)
	opt := withTables(t, 1)
	schema, _ := topicconfig.New(topicconfig.Options{RemoteStorage: true})
	opt.Schema = schema
	s := open(t, redis, opt)
	on := map[string]string{"remote.storage.enable": "true"}
	topic, err := s.Create(t.Context(), "t", 1, on)
	if err != nil {
		t.Fatal(err)
	}
	table := ensure(t, s, topic)
	off, err := s.Alter(t.Context(), topic, 1, map[string]string{"remote.log.delete.on.disable": "true"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Alter(t.Context(), off, 1, on); !errors.Is(err, ErrTableLeaving) {
		t.Errorf("turned on while the old table is there: %v", err)
	}
	opt.BrokerID = 2
	if err := open(t, redis, opt).DropTable(t.Context(), table); err != nil { // by another process
		t.Fatal(err)
	}
	again, err := s.Alter(t.Context(), off, 1, on)
	if err != nil || !again.Config.RemoteStorage {
		t.Fatalf("turned on again: %v", err)
	}
	if next := ensure(t, s, again); next.Location == table.Location {
		t.Error("it has its old table")
	}
	kept, err := s.Alter(t.Context(), again, 1, nil) // which the API refuses
	if err == nil {
		_, err = s.Alter(t.Context(), kept, 1, on)
	}
	if err != nil {
		t.Errorf("turned off without the deletion, and on: %v", err)
	}
}

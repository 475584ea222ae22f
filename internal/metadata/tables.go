package metadata

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/redis/rueidis"
)

// Table says which table of the remote tier holds a life of a topic. The table's own properties say so, too.
type Table struct {
	Name     string    `json:"name"` // in the catalog: lower case, below the namespace korvet.namespace
	Topic    string    `json:"topic"`
	TopicID  uuid.UUID `json:"id"`
	Location string    `json:"location"` // with a scheme, without a slash at its end; never another table's
	// DroppedMs is when it was parted from its topic: its objects are being deleted. 0: it is the topic's.
	DroppedMs int64 `json:"dropped,omitempty"`
	// Copied is one more than the number of partitions, from the first on, that may have records in it, or whose copies were begun. 0: any may.
	Copied int32 `json:"copied,omitempty"`
}

// ErrNoTables is the wish for a table where no place for tables is known (Options.Tables).
var ErrNoTables = errors.New("korvet.storage.remote.path is not set")

// ErrTableLeaving is the wish for the remote tier of a topic that was turned off, while its old table is still the topic's.
var ErrTableLeaving = errors.New("the remote data of the time before remote.storage.enable was turned off is about to be deleted, which the storage worker does at its next tick: try again then")

// checkTable refuses to turn the remote tier of a topic on while the table is its own that goes with its turning off.
func (s *Store) checkTable(ctx context.Context, t *Topic, configs map[string]string) error {
	if t.Config.RemoteStorage || !t.Config.RemoteDeleteOnDisable || !s.opt.Schema.Effective(t.Name, configs).RemoteStorage {
		return nil
	}
	if _, has := s.TableOf(t.ID); !has {
		return nil
	}
	_, has, err := s.FindTable(ctx, t.ID)
	if err == nil && has {
		err = ErrTableLeaving
	}
	return err
}

// maxFolderName bounds a table's name in its location: with what follows it is a file name everywhere.
const maxFolderName = 200

// TableName is the name of a topic's table, unless another topic's table has it: the topic's in lower case, other characters
// as _.
func TableName(topic string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '_':
			return r
		}
		return '_'
	}, topic)
}

// TableOf finds the table of a life of a topic, from memory; false where it has none.
func (s *Store) TableOf(topicID uuid.UUID) (Table, bool) {
	t, ok := s.tables.Load().byTopic[topicID]
	return t, ok
}

// FindTable asks Redis for the table of a life of a topic; false where it has none. ErrUnavailable.
func (s *Store) FindTable(ctx context.Context, topicID uuid.UUID) (Table, bool, error) {
	if err := s.refreshTables(ctx); err != nil {
		return Table{}, false, err
	}
	t, ok := s.TableOf(topicID)
	return t, ok, nil
}

// Tables lists the tables that topics have, by name, from memory. It must not be changed.
func (s *Store) Tables() []Table { return s.tables.Load().all }

// DroppedTables lists those that no topic has any more and whose objects are being deleted. It must not be changed.
func (s *Store) DroppedTables() []Table { return s.tables.Load().dropped }

// EnsureTable returns the table of a life of a topic, and reserves a name and a location when it has none. When it returns the
// others find it after their next heartbeat at the latest. ErrNoTables, ErrSuperseded, ErrUnavailable (then it may be reserved).
func (s *Store) EnsureTable(ctx context.Context, topic *Topic) (Table, error) {
	if t, ok := s.TableOf(topic.ID); ok {
		return t, nil
	}
	if s.opt.Tables == "" {
		return Table{}, fmt.Errorf("reserve table of topic %s: %w", topic.Name, ErrNoTables)
	}
	err := s.ready()
	var t Table
	for number := 1; err == nil; number++ {
		var taken bool
		if t, taken, err = s.reserve(ctx, topic, number); err == nil && !taken {
			return t, nil
		}
	}
	return Table{}, fmt.Errorf("reserve table of topic %s: %w", topic.Name, err)
}

// reserve tries the topic's name, or the one with a number at its end.
func (s *Store) reserve(ctx context.Context, topic *Topic, number int) (t Table, taken bool, err error) {
	name := TableName(topic.Name)
	if number > 1 {
		name += "_" + strconv.Itoa(number)
	}
	if s.tables.Load().has(name) {
		return t, true, nil
	}
	var random [4]byte
	if _, err := io.ReadFull(s.opt.Random, random[:]); err != nil {
		return t, false, fmt.Errorf("make location: %w", err)
	}
	t = Table{Name: name, Topic: topic.Name, TopicID: topic.ID, Copied: 1}
	t.Location = s.opt.Tables + "/" + name[:min(len(name), maxFolderName)] + "-" + hex.EncodeToString(topic.ID[:4]) + "-" + hex.EncodeToString(random[:])
	encoded, revision, err := s.encodeTable(t)
	if err != nil {
		return t, false, err
	}
	answer, err := s.run(ctx, s.scripts.tableReserve, s.tablesKey(), name, topic.ID.String(), encoded, revision)
	if err != nil {
		return t, false, err
	}
	switch text(answer, 0) {
	case "OK":
		s.putTable(t, text(answer, 1), revision)
		return t, false, nil
	case "HAVE":
		if t, err = decodeTable(text(answer, 1)); err == nil {
			s.putTable(t, "", "")
		}
		return t, false, err
	}
	return t, true, nil
}

// DropTable parts a table from its topic, for good: what is left to be done is to delete its objects and to forget it. Its name
// is free. It may be repeated. ErrSuperseded, ErrUnavailable (then it may be done).
func (s *Store) DropTable(ctx context.Context, t Table) error {
	t.DroppedMs = max(1, s.opt.Now().UnixMilli())
	encoded, revision, err := s.encodeTable(t)
	if err == nil {
		err = s.changeTable(ctx, s.scripts.tableDrop, t.Name, t.TopicID.String(), t.Location, t.folder(), encoded, revision)
	}
	if err != nil {
		return fmt.Errorf("drop table %s: %w", t.Name, err)
	}
	s.wakeDeletions()
	return nil
}

// ForgetTable takes a table of which no object is left off the dropped ones. It may be repeated. ErrSuperseded, ErrUnavailable
// (then it may be done).
func (s *Store) ForgetTable(ctx context.Context, t Table) error {
	_, err := s.do(ctx, s.redis.B().Del().Key(s.tableHintKey(t.Location)).Build())
	var revision string
	if err == nil {
		revision, err = s.newRevision()
	}
	if err == nil {
		err = s.changeTable(ctx, s.scripts.tableForget, t.folder(), revision)
	}
	if err != nil {
		return fmt.Errorf("forget table %s: %w", t.Name, err)
	}
	return nil
}

// TopicGone asks Redis whether the topic of a table is gone, and its deletion done. Where an entry cannot be read it is not:
// a newer version may have written it. ErrUnavailable.
func (s *Store) TopicGone(ctx context.Context, t Table) (bool, error) {
	if have := s.snap.Load().byName[t.Topic]; have != nil && have.ID == t.TopicID {
		return false, nil
	}
	r, err := s.do(ctx, s.redis.B().Hmget().Key(s.topicsKey()).Field(t.Topic, ":rev").Build())
	if err != nil {
		return false, fmt.Errorf("look for topic of table %s: %w", t.Name, err)
	}
	fields, err := r.ToArray()
	if err != nil || len(fields) != 2 || fields[1].IsNil() { // a hash without :rev was lost, and with it all topics
		return false, err
	}
	if encoded, err := fields[0].ToString(); err == nil {
		have, err := s.decode(t.Topic, encoded)
		if err != nil || have.ID == t.TopicID {
			return false, nil
		}
	}
	deleting, err := s.do(ctx, s.redis.B().Hexists().Key(s.deletingKey()).Field(t.TopicID.String()).Build())
	if err != nil {
		return false, fmt.Errorf("look for topic of table %s: %w", t.Name, err)
	}
	listed, err := deleting.AsBool()
	return !listed, err
}

// folder is the last one of the location: no other table's.
func (t *Table) folder() string { return t.Location[strings.LastIndexByte(t.Location, '/')+1:] }

// changeTable runs a script that changes one table, and reads all again: that happens rarely.
func (s *Store) changeTable(ctx context.Context, script *rueidis.Lua, args ...string) error {
	if err := s.ready(); err != nil {
		return err
	}
	if _, err := s.run(ctx, script, s.tablesKey(), args...); err != nil {
		return err
	}
	return s.reloadTables(ctx)
}

func (s *Store) encodeTable(t Table) (encoded, revision string, err error) {
	b, err := json.Marshal(t)
	if err != nil {
		return "", "", fmt.Errorf("encode table: %w", err)
	}
	revision, err = s.newRevision()
	return string(b), revision, err
}

func decodeTable(encoded string) (Table, error) {
	var t Table
	if err := json.Unmarshal([]byte(encoded), &t); err != nil {
		return t, fmt.Errorf("decode table: %w", err)
	}
	if t.Name == "" || t.TopicID == uuid.Nil || t.Location == "" || strings.HasSuffix(t.Location, "/") {
		return t, fmt.Errorf("decode table: name %q, topic %s, location %q", t.Name, t.TopicID, t.Location)
	}
	return t, nil
}

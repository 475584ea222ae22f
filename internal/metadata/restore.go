package metadata

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/redis/rueidis"
)

// Restorer puts topics and tables back into a Redis that lost them. It registers no broker, and none may run meanwhile: brokers
// do not start between Begin and End. Each step may be repeated.
type Restorer struct {
	Redis     rueidis.Client
	Namespace string
	CreatedBy string        // as in Options
	Stale     time.Duration // as in Options
}

// ErrOther is something else in the place of what was to be restored. Nothing was changed.
var ErrOther = errors.New("redis has another one there")

// Remains is what a Redis still has of a cluster.
type Remains struct {
	ClusterID string // "": nothing was claimed
	Topics    map[string]*Topic
	Deleting  map[uuid.UUID]bool
	Tables    []Table
	Dropped   map[string]bool // locations of tables whose objects are being deleted
	Live      []Node          // brokers that run
}

// Look reads what is there. It writes nothing.
func (r *Restorer) Look(ctx context.Context) (*Remains, error) {
	b := r.Redis.B
	key := func(rest string) string { return r.Namespace + ":" + rest }
	replies := r.Redis.DoMulti(ctx,
		b().Hget().Key(metaKey(r.Namespace)).Field("cluster_id").Build(), b().Hgetall().Key(key("topics")).Build(),
		b().Hkeys().Key(key("topics:deleting")).Build(), b().Hgetall().Key(key("storage:tables")).Build(),
		b().Hvals().Key(key("broker:nodes")).Build(), b().Time().Build())
	for _, reply := range replies {
		if err := reply.Error(); err != nil && !rueidis.IsRedisNil(err) {
			return nil, fmt.Errorf("look at metadata: %w: %w", ErrUnavailable, err)
		}
	}
	found := &Remains{Topics: map[string]*Topic{}, Deleting: map[uuid.UUID]bool{}, Dropped: map[string]bool{}}
	found.ClusterID, _ = replies[0].ToString() // the nil reply is ""
	topics, errTopics := replies[1].AsStrMap()
	deleting, errDeleting := replies[2].AsStrSlice()
	tables, errTables := replies[3].AsStrMap()
	nodes, errNodes := replies[4].AsStrSlice()
	clock, errClock := replies[5].AsIntSlice()
	err := errors.Join(errTopics, errDeleting, errTables, errNodes, errClock)
	if err == nil && len(clock) == 0 {
		err = errors.New("no time")
	}
	if err == nil {
		err = errors.Join(found.topics(topics), found.tables(tables), found.nodes(nodes, clock[0]*1000-r.Stale.Milliseconds()))
	}
	if err != nil {
		return nil, fmt.Errorf("look at metadata: %w", err)
	}
	for _, text := range deleting {
		if id, err := uuid.Parse(text); err == nil {
			found.Deleting[id] = true
		}
	}
	return found, nil
}

func (f *Remains) topics(entries map[string]string) error {
	for name, encoded := range entries {
		if strings.HasPrefix(name, ":") {
			continue
		}
		t := &Topic{}
		if err := json.Unmarshal([]byte(encoded), t); err != nil {
			return fmt.Errorf("decode topic %q: %w", name, err)
		}
		f.Topics[name] = t
	}
	return nil
}

func (f *Remains) tables(entries map[string]string) error {
	for name, encoded := range entries {
		isDropped := strings.HasPrefix(name, ":dropped:")
		if !isDropped && strings.HasPrefix(name, ":") {
			continue
		}
		t, err := decodeTable(encoded)
		if err != nil {
			return err
		}
		if isDropped {
			f.Dropped[t.Location] = true
			continue
		}
		f.Tables = append(f.Tables, t)
	}
	return nil
}

// nodes takes the brokers that were seen since.
func (f *Remains) nodes(entries []string, since int64) error {
	for _, encoded := range entries {
		var n Node
		if err := json.Unmarshal([]byte(encoded), &n); err != nil {
			return fmt.Errorf("decode broker: %w", err)
		}
		if n.SeenMs > since {
			f.Live = append(f.Live, n)
		}
	}
	return nil
}

// Begin claims the namespace, unless it is claimed, and keeps brokers from starting. It returns the cluster's id.
func (r *Restorer) Begin(ctx context.Context) (string, error) {
	fresh, err := newClusterID(rand.Reader)
	if err != nil {
		return "", err
	}
	id, _, err := claim(ctx, r.Redis, r.Namespace, fresh, r.CreatedBy, "1")
	return id, err
}

// End lets brokers start again.
func (r *Restorer) End(ctx context.Context) error {
	if err := r.Redis.Do(ctx, r.Redis.B().Hdel().Key(metaKey(r.Namespace)).Field("recovering").Build()).Error(); err != nil {
		return fmt.Errorf("end recovery: %w: %w", ErrUnavailable, err)
	}
	return nil
}

// Topic puts a topic back. restored is false where it is there already. ErrOther: another life of the name is.
func (r *Restorer) Topic(ctx context.Context, t *Topic) (restored bool, err error) {
	encoded, err := encode(t)
	if err != nil {
		return false, err
	}
	revision := uuid.NewString()
	answer, err := newScripts().topicRestore.Exec(ctx, r.Redis, []string{r.Namespace + ":topics"}, []string{t.Name, t.ID.String(), encoded, revision}).ToArray()
	if err != nil {
		return false, fmt.Errorf("restore topic %s: %w: %w", t.Name, ErrUnavailable, err)
	}
	if text(answer, 0) == "OK" {
		return true, nil
	}
	var have Topic
	if err := json.Unmarshal([]byte(text(answer, 1)), &have); err != nil || have.ID != t.ID {
		return false, fmt.Errorf("restore topic %s: %w: id %s", t.Name, ErrOther, have.ID)
	}
	return false, nil
}

// Table puts the table of a life of a topic back, under another name where another one has its. restored is false where the
// topic's table is there already. ErrOther: the topic has another table.
func (r *Restorer) Table(ctx context.Context, t Table) (restored bool, err error) {
	for name, number := t.Name, 2; ; number++ {
		encoded, err := json.Marshal(t)
		if err != nil {
			return false, fmt.Errorf("encode table: %w", err)
		}
		args := []string{t.Name, t.TopicID.String(), string(encoded), uuid.NewString()}
		answer, err := newScripts().tableReserve.Exec(ctx, r.Redis, []string{r.Namespace + ":storage:tables"}, args).ToArray()
		if err != nil {
			return false, fmt.Errorf("restore table %s: %w: %w", t.Name, ErrUnavailable, err)
		}
		switch text(answer, 0) {
		case "OK":
			return true, nil
		case "HAVE":
			have, err := decodeTable(text(answer, 1))
			if err != nil || have.Location != t.Location {
				return false, fmt.Errorf("restore table %s: %w: %s", t.Name, ErrOther, have.Location)
			}
			return false, nil
		}
		t.Name = name + "_" + strconv.Itoa(number)
	}
}

// CreatedMs is when a topic was created, by its id.
func CreatedMs(id uuid.UUID) int64 { return timeOf(id) }

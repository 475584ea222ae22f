// Package inspect looks at the tables of the remote tier and at the logs that they are of, beside each other: what is where, and
// whether all of it is there. It changes nothing.
package inspect

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/korvet-io/korvet/internal/iceberg/store"
	"github.com/korvet-io/korvet/internal/iceberg/tables"
	"github.com/korvet-io/korvet/internal/metadata"
	"github.com/korvet-io/korvet/internal/redisstream"
	"github.com/korvet-io/korvet/internal/remote"
)

// Source is where tables and logs are.
type Source struct {
	remote.Settings
	Store store.Store
	// Metadata and Messages are Redis. Nil: tables are looked at by what the store alone tells.
	Metadata *metadata.Restorer
	Messages *redisstream.Shard
	// MaxValueBytes bounds a value as it was produced, as brokers bound it.
	MaxValueBytes int
}

// Table is a table and the logs of its topic.
type Table struct {
	Name          string    `json:"table"`
	Topic         string    `json:"topic"`
	TopicID       uuid.UUID `json:"topic_id"`
	Location      string    `json:"location"`
	State         string    `json:"state"` // one of the words below
	Problem       string    `json:"problem,omitempty"`
	Version       int64     `json:"version"` // number of the metadata file
	MetadataBytes int       `json:"metadata_bytes"`
	UpdatedMs     int64     `json:"updated"`
	Snapshots     int       `json:"snapshots"`
	Snapshot      int64     `json:"snapshot"` // id of the current one
	Fence         int64     `json:"fence"`
	Files         int       `json:"files"`
	DeleteFiles   int       `json:"delete_files"`
	Rows          int64     `json:"rows"` // of data files; those that deletes name are among them
	Bytes         int64     `json:"bytes"`
	Partitions    []Part    `json:"partitions"`

	found *remote.Found
	files *tables.Files
	topic *metadata.Topic
}

// States of tables.
const (
	StateLive     = "live"     // a topic's
	StateReserved = "reserved" // a topic is to get it: nothing was written yet
	StateNone     = "none"     // a topic's that is tiered and has nothing copied yet: there is no table
	StateDeleting = "deleting" // it is no topic's any more, and being deleted
	StateUnknown  = "unknown"  // Redis knows nothing of it
	StateDamaged  = "damaged"  // it cannot be read
)

// Part is one partition of a table.
type Part struct {
	Partition int32 `json:"partition"`
	Files     int   `json:"files"`
	Rows      int64 `json:"rows"`
	Bytes     int64 `json:"bytes"`
	First     int64 `json:"first"` // offsets in data files; -1 where there is none
	Last      int64 `json:"last"`
	End       int64 `json:"end"` // up to which records were ever copied
	Log       *Log  `json:"log,omitempty"`
}

// Redis is what was looked at of the topics there.
type redis struct {
	remains *metadata.Remains
	byPlace map[string]metadata.Table
}

// Tables looks at all tables, or at those of which wanted says so by table's and topic's name, in the order of their locations.
func (s *Source) Tables(ctx context.Context, wanted func(table, topic string) bool) ([]*Table, error) {
	known, err := s.known(ctx)
	if err != nil {
		return nil, err
	}
	var list []*Table
	err = remote.Discover(ctx, s.Settings, s.Store, func(f *remote.Found) error {
		entry, registered := known.byPlace[f.Location]
		delete(known.byPlace, f.Location)
		if registered {
			f.Name = entry.Name
		}
		if wanted(f.Name, f.Topic) {
			list = append(list, s.table(ctx, f, known, registered))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, entry := range known.byPlace { // the store has nothing of these
		if wanted(entry.Name, entry.Topic) {
			t := &Table{Name: entry.Name, Topic: entry.Topic, TopicID: entry.TopicID, Location: entry.Location, State: StateReserved, Partitions: []Part{}}
			t.of(known.remains.Topics[entry.Topic])
			list = append(list, t)
		}
	}
	list = append(list, waiting(known.remains, list, wanted)...)
	slices.SortFunc(list, func(a, b *Table) int {
		return cmp.Or(strings.Compare(a.Location, b.Location), strings.Compare(a.Topic, b.Topic))
	})
	return list, s.logs(ctx, list)
}

func (s *Source) known(ctx context.Context) (*redis, error) {
	known := &redis{remains: &metadata.Remains{}, byPlace: map[string]metadata.Table{}}
	if s.Metadata == nil {
		return known, nil
	}
	var err error
	if known.remains, err = s.Metadata.Look(ctx); err != nil {
		return nil, err
	}
	for _, t := range known.remains.Tables {
		known.byPlace[t.Location] = t
	}
	return known, nil
}

// table is what the store tells of a table.
func (s *Source) table(ctx context.Context, f *remote.Found, known *redis, registered bool) *Table {
	t := &Table{Name: f.Name, Topic: f.Topic, TopicID: f.TopicID, Location: f.Location, Partitions: []Part{}, found: f}
	t.State = StateLive
	switch {
	case f.About.Deleting || known.remains.Dropped[f.Location]:
		t.State = StateDeleting
	case s.Metadata != nil && !registered:
		t.State = StateUnknown
	}
	if f.Err != nil {
		t.damaged(f.Err)
		return t
	}
	if topic := known.remains.Topics[t.Topic]; topic != nil && topic.ID == t.TopicID {
		t.topic = topic
	}
	t.Version, t.MetadataBytes, t.UpdatedMs = f.About.Version, f.About.Bytes, f.About.UpdatedMs
	t.Snapshots, t.Snapshot, t.Fence = f.About.Snapshots, f.State.Snapshot(), f.State.Fence
	var err error
	if t.files, err = f.Open.Files(ctx, f.State); err != nil {
		t.damaged(err)
		return t
	}
	t.DeleteFiles = len(t.files.Deletes)
	count := f.About.Partitions
	if t.topic != nil {
		count = max(count, t.topic.Partitions)
	}
	for partition := range count {
		t.Partitions = append(t.Partitions, partOf(partition, f.State.Ends[partition], t.files.Data[partition]))
	}
	for _, p := range t.Partitions {
		t.Files, t.Rows, t.Bytes = t.Files+p.Files, t.Rows+p.Rows, t.Bytes+p.Bytes
	}
	return t
}

// of gives a table that has nothing yet its topic's partitions.
func (t *Table) of(topic *metadata.Topic) {
	if topic == nil || topic.ID != t.TopicID {
		return
	}
	t.topic = topic
	for p := range topic.Partitions {
		t.Partitions = append(t.Partitions, partOf(p, 0, nil))
	}
}

// waiting are the topics that are to have a table and do not have one yet.
func waiting(there *metadata.Remains, list []*Table, wanted func(table, topic string) bool) (none []*Table) {
	has := map[uuid.UUID]bool{}
	for _, t := range there.Tables {
		has[t.TopicID] = true
	}
	for _, t := range list {
		has[t.TopicID] = has[t.TopicID] || t.State != StateDeleting
	}
	for _, topic := range there.Topics {
		if tiered(topic) && !has[topic.ID] && !there.Deleting[topic.ID] && wanted("", topic.Name) {
			t := &Table{Topic: topic.Name, TopicID: topic.ID, State: StateNone, Partitions: []Part{}}
			t.of(topic)
			none = append(none, t)
		}
	}
	return none
}

// tiered tells whether a topic asks for a table, and may have one. The setting is always the topic's own.
func tiered(t *metadata.Topic) bool {
	return t.Configs["remote.storage.enable"] == "true" && !strings.Contains(t.Configs["cleanup.policy"], "compact")
}

func (t *Table) damaged(err error) {
	if t.State != StateDeleting { // whose files go one by one
		t.State = StateDamaged
	}
	t.Problem = err.Error()
}

func partOf(partition int32, end int64, files []tables.File) Part {
	p := Part{Partition: partition, End: end, First: -1, Last: -1, Files: len(files)}
	for i, f := range files {
		p.Rows, p.Bytes = p.Rows+f.Rows, p.Bytes+f.Bytes
		if i == 0 || f.First < p.First {
			p.First = f.First
		}
		p.Last = max(p.Last, f.Last)
	}
	return p
}

// Find looks at the tables of a topic, or at the one of a table's name.
func (s *Source) Find(ctx context.Context, name string) ([]*Table, error) {
	list, err := s.Tables(ctx, func(table, topic string) bool { return table == name || topic == name })
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("no table and no topic with a table is called %s below %s", name, s.NamespaceFolder())
	}
	return list, err
}

// File is a data file, or one of deletes, as the manifests have it.
type File struct {
	Location  string `json:"location"`
	Partition int32  `json:"partition"`
	Deletes   bool   `json:"deletes,omitempty"`
	Rows      int64  `json:"rows,omitempty"`
	Bytes     int64  `json:"bytes"`
	First     int64  `json:"first"`
	Last      int64  `json:"last"`
	From      int64  `json:"from,omitempty"` // timestamps of the records, ms
	To        int64  `json:"to,omitempty"`
}

// DataFiles lists the table's files by partition and offset, then those of deletes.
func (t *Table) DataFiles() []File {
	list := []File{}
	if t.files == nil {
		return list
	}
	for _, p := range t.Partitions {
		for _, f := range t.files.Data[p.Partition] {
			one := File{Location: f.Location, Partition: f.Partition, Rows: f.Rows, Bytes: f.Bytes, First: f.First, Last: f.Last}
			if f.Timed {
				one.From, one.To = f.MinTimestamp, f.MaxTimestamp
			}
			list = append(list, one)
		}
	}
	for _, d := range t.files.Deletes {
		list = append(list, File{Location: d.Location, Partition: d.Partition, Deletes: true, Bytes: d.Bytes, First: -1, Last: -1})
	}
	return list
}

// History lists the table's snapshots, oldest first.
func (t *Table) History() []tables.Snapshot {
	if t.found == nil || t.found.State == nil {
		return []tables.Snapshot{}
	}
	return t.found.State.Snapshots()
}

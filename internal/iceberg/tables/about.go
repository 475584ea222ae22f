package tables

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
)

// Properties that tell what the topic was, for a Redis that has lost it.
const (
	// PartitionsProperty is the topic's number of partitions.
	PartitionsProperty = "korvet.partitions"
	// ConfigsProperty is a JSON object of the topic's settings: those that were set.
	ConfigsProperty = "korvet.topic-configs"
	// DeletingProperty is "true" from before the first of the table's objects is deleted: what is left of it is nobody's log.
	DeletingProperty = "korvet.deleting"
)

// About is what a table tells of itself and of the topic whose records it has.
type About struct {
	Topic      string
	TopicID    uuid.UUID
	Partitions int32             // at least one more than any partition that the table has records of
	Configs    map[string]string // of the topic; only what was set
	Deleting   bool              // it is being deleted: records may be missing
	UpdatedMs  int64             // when the table was changed last, by the clock of who did
	Version    int64             // number of its metadata file
	Bytes      int               // of the metadata file
	Snapshots  int
}

// About reads the state's properties.
func (s *State) About() (About, error) {
	m, p := s.version.Metadata, s.version.Metadata.Properties()
	a := About{
		Topic: p[topicProperty], Deleting: p[DeletingProperty] == "true", UpdatedMs: m.LastUpdatedMillis(),
		Version: s.version.Number, Bytes: len(s.version.Raw), Snapshots: len(m.Snapshots()), Configs: map[string]string{},
	}
	fail := func(name string, err error) (About, error) {
		return About{}, fmt.Errorf("read %s: property %s: %w", s.version.Location, name, err)
	}
	var err error
	if a.TopicID, err = uuid.Parse(p[topicIDProperty]); err != nil {
		return fail(topicIDProperty, err)
	}
	if text, ok := p[PartitionsProperty]; ok {
		n, err := strconv.ParseInt(text, 10, 32)
		if err != nil {
			return fail(PartitionsProperty, err)
		}
		a.Partitions = int32(n)
	}
	for partition := range s.Ends {
		a.Partitions = max(a.Partitions, partition+1)
	}
	if text, ok := p[ConfigsProperty]; ok {
		if err := json.Unmarshal([]byte(text), &a.Configs); err != nil {
			return fail(ConfigsProperty, err)
		}
	}
	if a.Topic == "" {
		return fail(topicProperty, fmt.Errorf("it is missing"))
	}
	return a, nil
}

// Snapshot is one of the table's, as its metadata tells.
type Snapshot struct {
	ID, Parent, Sequence int64 // Parent 0: none
	AtMs                 int64
	Operation            string            // append, replace, overwrite or delete
	Summary              map[string]string // what the writer noted
	Current              bool
	Own                  bool // the storage worker's; else an engine's
}

// Snapshots lists the state's, oldest first.
func (s *State) Snapshots() []Snapshot {
	current := s.Snapshot()
	var list []Snapshot
	for _, one := range s.version.Metadata.Snapshots() {
		n := Snapshot{ID: one.SnapshotID, Sequence: one.SequenceNumber, AtMs: one.TimestampMs, Current: one.SnapshotID == current}
		if one.ParentSnapshotID != nil {
			n.Parent = *one.ParentSnapshotID
		}
		if one.Summary != nil {
			n.Operation, n.Summary = string(one.Summary.Operation), one.Summary.Properties
			_, n.Own = n.Summary[fenceProperty]
		}
		list = append(list, n)
	}
	return list
}

// MetadataLocation is where the state's metadata file is.
func (s *State) MetadataLocation() string { return s.version.Location }

// Location is the table's folder.
func (s *State) Location() string { return strings.TrimRight(s.version.Metadata.Location(), "/") }

// Property is a property of the table; "": there is none.
func (s *State) Property(name string) string { return s.version.Metadata.Properties()[name] }

// Deleting tells that the table is being deleted.
func (s *State) Deleting() bool { return s.Property(DeletingProperty) == "true" }

// Ranges are the offsets that a snapshot which copied records tells of in its summary, as <partition>:<first>-<last>; the summary has
// the end in the place of the last.
func Ranges(summary map[string]string) []string {
	var partitions []int
	for name := range summary {
		if text, ok := strings.CutPrefix(name, rangeProperty); ok {
			if p, err := strconv.Atoi(text); err == nil {
				partitions = append(partitions, p)
			}
		}
	}
	slices.Sort(partitions)
	list := make([]string, len(partitions))
	for i, p := range partitions {
		first, text, _ := strings.Cut(summary[rangeProperty+strconv.Itoa(p)], "-")
		end, _ := strconv.ParseInt(text, 10, 64)
		list[i] = fmt.Sprintf("%d:%s-%d", p, first, end-1)
	}
	return list
}

// Version is the number of the state's metadata file.
func (s *State) Version() int64 { return s.version.Number }

// At reads the state of an earlier version, which may be gone: store.ErrNotFound.
func (t *Table) At(ctx context.Context, version int64) (*State, error) {
	location, err := t.chain.Numbered(ctx, version)
	if err != nil {
		return nil, err
	}
	v, err := t.chain.At(ctx, location)
	if err != nil {
		return nil, err
	}
	return parseState(v)
}

// Describing are the properties by which a table tells what its topic is: enough to restore it in a Redis that has lost it.
func Describing(partitions int32, configs map[string]string) (map[string]string, error) {
	if configs == nil {
		configs = map[string]string{}
	}
	text, err := json.Marshal(configs) // its names are sorted
	if err != nil {
		return nil, fmt.Errorf("encode topic's settings: %w", err)
	}
	return map[string]string{PartitionsProperty: strconv.Itoa(int(partitions)), ConfigsProperty: string(text)}, nil
}

// Describe has the table tell what its topic is now, where it does not, on a state. It returns the state after it.
func (t *Table) Describe(ctx context.Context, base *State, partitions int32, configs map[string]string) (*State, error) {
	wanted, err := Describing(partitions, configs)
	if err != nil {
		return nil, err
	}
	for name, value := range wanted {
		if base.Property(name) == value {
			delete(wanted, name)
		}
	}
	if len(wanted) == 0 {
		return base, nil
	}
	return t.SetProperties(ctx, base, wanted)
}

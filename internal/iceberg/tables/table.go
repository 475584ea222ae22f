package tables

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/korvet-io/korvet/internal/epoch"
	"github.com/korvet-io/korvet/internal/iceberg/chain"
	"github.com/korvet-io/korvet/internal/iceberg/store"
)

// Properties of the table by which korvet knows what it is and how far it has come. They change in the same metadata file as
// what they tell of, and stay when engines rewrite the table.
const (
	topicIDProperty = "korvet.topic-id"
	topicProperty   = "korvet.topic"
	fenceProperty   = "korvet.fence"
	endProperty     = "korvet.end." // + partition: the offset after the last that was ever added
	// epochsProperty + partition: the leader epochs that what is below the end was written under, as epoch.History writes them.
	epochsProperty = "korvet.epochs."
	// rangeProperty + partition is of a snapshot: the first offset that it added and the one after the last.
	rangeProperty = "korvet.range."
)

// Errors of tables. After one of another kind a change may have happened: look again and plan anew.
var (
	ErrFenced  = errors.New("a later storage worker has changed the table")
	ErrForeign = errors.New("the table is another topic's")
	ErrOverlap = errors.New("the table has these offsets")
)

// Table is a topic's table. It is safe for concurrent use; of several that change it at once one succeeds.
type Table struct {
	chain    *chain.Chain
	store    store.Store
	name     table.Identifier
	files    fileCache
	compared compared
}

// Open makes the table of a name (namespace, table) below a chain. It reads nothing.
func Open(c *chain.Chain, name ...string) *Table { return &Table{chain: c, store: c.Store, name: name} }

// Drop has another catalog that holds the table forget it; its files stay. Without one it does nothing.
func (t *Table) Drop(ctx context.Context) error { return t.chain.Drop(ctx) }

// Life says which life of which topic a table holds.
type Life struct{ Topic, ID string }

// Create writes an empty table. It is no error when it is there and the same topic's.
func (t *Table) Create(ctx context.Context, life Life, properties iceberg.Properties) error {
	order, err := newSortOrder()
	if err != nil {
		return fmt.Errorf("create table: %w", err)
	}
	spec, all := newSpec(), usualProperties()
	maps.Copy(all, properties)
	all[topicProperty], all[topicIDProperty] = life.Topic, life.ID
	m, err := table.NewMetadata(newSchema(), &spec, order, t.chain.Location, all)
	if err != nil {
		return fmt.Errorf("create table: %w", err)
	}
	_, err = t.chain.Create(ctx, m)
	if !errors.Is(err, chain.ErrConflict) {
		return err
	}
	v, err := t.chain.Current(ctx)
	if err != nil {
		return err
	}
	if v.Metadata.Properties()[topicIDProperty] != life.ID {
		return fmt.Errorf("create table %s: %w: %s", t.chain.Location, ErrForeign, v.Metadata.Properties()[topicProperty])
	}
	return nil
}

// usualProperties are settings that engines follow when they write.
func usualProperties() iceberg.Properties {
	return iceberg.Properties{
		"format-version":                             "2",
		"write.parquet.compression-codec":            "zstd",
		"write.metadata.metrics.default":             "none",
		"write.metadata.metrics.column.partition":    "full",
		"write.metadata.metrics.column.offset":       "full",
		"write.metadata.metrics.column.timestamp":    "full",
		"write.metadata.metrics.column.append_time":  "full",
		"write.metadata.delete-after-commit.enabled": "false", // a number that was freed could be written again
		"commit.manifest-merge.enabled":              "true",
		"commit.manifest.min-count-to-merge":         "20",
	}
}

// State is what the table is at one moment.
type State struct {
	version *chain.Version
	Fence   int64
	Ends    map[int32]int64 // partition -> the offset after the last that was ever added
	// Epochs are the leader epochs of what is below the ends; none where the table does not tell.
	Epochs map[int32]epoch.History
}

// Snapshot is the id of the state's snapshot; 0: the table is empty.
func (s *State) Snapshot() int64 {
	if c := s.version.Metadata.CurrentSnapshot(); c != nil {
		return c.SnapshotID
	}
	return 0
}

// Raw is what is in the state's metadata file. It must not be changed.
func (s *State) Raw() []byte { return s.version.Raw }

// State reads the newest state.
func (t *Table) State(ctx context.Context) (*State, error) {
	v, err := t.chain.Current(ctx)
	if err != nil {
		return nil, err
	}
	return parseState(v)
}

// Recent is the newest state as far as this process and the tables' hint in Redis know, mostly without a request: it may be an older
// one for an hour at most. A change on it looks first, and finds chain.ErrConflict then.
func (t *Table) Recent(ctx context.Context) (*State, error) {
	v, err := t.chain.Recent(ctx)
	if err != nil {
		return nil, err
	}
	return parseState(v)
}

func parseState(v *chain.Version) (*State, error) {
	s := &State{version: v, Ends: map[int32]int64{}, Epochs: map[int32]epoch.History{}}
	for name, text := range v.Metadata.Properties() {
		if err := s.property(name, text); err != nil {
			return nil, fmt.Errorf("read %s: property %s: %w", v.Location, name, err)
		}
	}
	return s, nil
}

// property takes what one property tells of how far the table has come.
func (s *State) property(name, text string) (err error) {
	if name == fenceProperty {
		s.Fence, err = strconv.ParseInt(text, 10, 64)
		return err
	}
	if of, ok := strings.CutPrefix(name, endProperty); ok {
		p, err := strconv.ParseInt(of, 10, 32)
		if err != nil {
			return err
		}
		s.Ends[int32(p)], err = strconv.ParseInt(text, 10, 64)
		return err
	}
	if of, ok := strings.CutPrefix(name, epochsProperty); ok {
		p, err := strconv.ParseInt(of, 10, 32)
		if err != nil {
			return err
		}
		s.Epochs[int32(p)], err = epoch.Parse(text)
		return err
	}
	return nil
}

// change commits updates that need no new manifests.
func (t *Table) change(ctx context.Context, base *State, updates []table.Update) (*State, error) {
	m, err := table.UpdateTableMetadata(base.version.Metadata, updates, base.version.Location)
	if err != nil {
		return nil, fmt.Errorf("change table's metadata: %w", err)
	}
	v, err := t.chain.CommitUpdates(ctx, base.version, updates, m)
	if err != nil {
		return nil, err
	}
	return parseState(v)
}

// SetProperties sets properties of the table on a state, in one commit and no snapshot. Those that say how far the table has
// come are not to be set by it.
func (t *Table) SetProperties(ctx context.Context, base *State, properties map[string]string) (*State, error) {
	s, err := t.change(ctx, base, []table.Update{table.NewSetPropertiesUpdate(properties)})
	if err != nil {
		return nil, fmt.Errorf("set table's properties: %w", err)
	}
	return s, nil
}

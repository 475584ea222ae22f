package remotelog

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/korvet-io/korvet/internal/iceberg/store"
	"github.com/korvet-io/korvet/internal/iceberg/tables"
	"github.com/korvet-io/korvet/internal/metadata"
	"github.com/korvet-io/korvet/internal/redisstream"
	"github.com/korvet-io/korvet/internal/worker/lifecycle"
)

// mark is up to which version of which table something was told.
type mark struct {
	version      int64 // or forgotten
	topic, table string
}

// forgotten in the place of a version: the table was told to be no topic's any more.
const forgotten = -1

func (m mark) String() string {
	return strconv.FormatInt(m.version, 10) + " " + m.topic + " " + m.table
}

func parseMark(text string) (mark, bool) {
	number, rest, _ := strings.Cut(text, " ")
	topic, table, ok := strings.Cut(rest, " ")
	version, err := strconv.ParseInt(number, 10, 64)
	return mark{version, topic, table}, ok && err == nil
}

// round tells of one table.
type round struct {
	a     *Announcer
	topic *metadata.Topic
	entry metadata.Table
	table Table
	marks map[string]string
	begun []*Event // copies to it that are over
	state *tables.State
	files map[int64]*tables.Files // by version
}

func (s *round) run(ctx context.Context) error {
	look := s.table.Recent // a table that nothing was committed to for long costs no request
	if len(s.begun) > 0 {
		look = s.table.State
	}
	var err error
	if s.state, err = look(ctx); err != nil {
		return err
	}
	about, err := s.state.About()
	if err != nil {
		return err
	}
	for partition := range about.Partitions {
		if err := s.partition(ctx, partition); err != nil && !errors.Is(err, redisstream.ErrMoved) {
			return err
		}
	}
	if len(s.begun) == 0 {
		return nil
	}
	files, err := s.filesAt(ctx, s.state.Version())
	if err != nil {
		return err
	}
	return s.a.ended(ctx, s.topic, s.begun, files)
}

// partition queues what changed since its mark.
func (s *round) partition(ctx context.Context, partition int32) error {
	of := Key(s.entry.TopicID, partition)
	before, known := parseMark(s.marks[of])
	after := mark{version: s.state.Version(), topic: s.entry.Topic, table: s.entry.Location}
	if before == after {
		return nil
	}
	events, err := s.changes(ctx, partition, before, known && before.table == after.table && before.version < after.version)
	if err != nil {
		return err
	}
	if len(events) == 0 && known && after.version-before.version < behind {
		return nil
	}
	for _, e := range events {
		e.Topic, e.TopicID, e.Partition, e.Table, e.Version = s.entry.Topic, s.entry.TopicID, partition, s.entry.Location, after.version
	}
	return s.a.queue(ctx, s.topic, of, redisstream.Told{Of: of, Before: s.marks[of], After: after.String()}, events)
}

// changes are the differences between two versions; where the earlier one is not known any more, all that there is.
func (s *round) changes(ctx context.Context, partition int32, before mark, known bool) ([]*Event, error) {
	now, err := s.filesAt(ctx, s.state.Version())
	if err != nil {
		return nil, err
	}
	var was *tables.Files
	if known {
		if was, err = s.filesAt(ctx, before.version); errors.Is(err, store.ErrNotFound) {
			known, err = false, nil
		}
		if err != nil {
			return nil, err
		}
	}
	var events []*Event
	if !known {
		if len(now.Data[partition]) == 0 && before == (mark{}) && !s.entry.MayHave(partition) {
			return nil, nil
		}
		events, was = append(events, &Event{State: ListStarted}), &tables.Files{}
	}
	there := map[string]bool{}
	for i := range now.Data[partition] {
		there[now.Data[partition][i].Location] = true
	}
	old := map[string]bool{}
	for i := range was.Data[partition] {
		f := &was.Data[partition][i]
		if old[f.Location] = true; !there[f.Location] {
			events = append(events, fileEvent(lifecycle.DeleteSegmentStarted, f))
		}
	}
	for i := range now.Data[partition] {
		if f := &now.Data[partition][i]; !old[f.Location] {
			events = append(events, fileEvent(lifecycle.CopySegmentFinished, f))
		}
	}
	return events, nil
}

// filesAt reads which files a version has. The newest comes last, so that the table's cache of manifests is its.
func (s *round) filesAt(ctx context.Context, version int64) (*tables.Files, error) {
	if files := s.files[version]; files != nil {
		return files, nil
	}
	state := s.state
	if version != state.Version() {
		var err error
		if state, err = s.table.At(ctx, version); err != nil {
			return nil, err
		}
	}
	files, err := s.table.Files(ctx, state)
	if err == nil {
		s.files[version] = files
	}
	return files, err
}

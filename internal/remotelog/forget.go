package remotelog

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/korvet-io/korvet/internal/metadata"
	"github.com/korvet-io/korvet/internal/redisstream"
)

// forget tells of partitions whose table is no topic's any more, once: also where it was lost what was told of them.
func (a *Announcer) forget(ctx context.Context, topic *metadata.Topic, all []metadata.Table, marks map[string]string) error {
	dropped := a.Topics.DroppedTables()
	live, going := locations(all), locations(dropped)
	for of, text := range marks {
		m, ok := parseMark(text)
		if !ok || live[m.table] || m.version == forgotten && going[m.table] {
			continue
		}
		told := redisstream.Told{Of: of, Before: text}
		if m.version == forgotten { // the table is forgotten, too
			if err := a.queue(ctx, topic, of, told, nil); err != nil && !errors.Is(err, redisstream.ErrMoved) {
				return err
			}
			continue
		}
		if going[m.table] {
			told.After = mark{forgotten, m.topic, m.table}.String()
		}
		if err := a.tellForgotten(ctx, topic, told, m); err != nil {
			return err
		}
	}
	return a.forgetDropped(ctx, topic, all, dropped, marks)
}

func locations(list []metadata.Table) map[string]bool {
	all := map[string]bool{}
	for _, t := range list {
		all[t.Location] = true
	}
	return all
}

// forgetDropped tells of dropped tables of which there is no mark.
func (a *Announcer) forgetDropped(ctx context.Context, topic *metadata.Topic, all, dropped []metadata.Table, marks map[string]string) error {
	has := map[uuid.UUID]bool{}
	for _, t := range all {
		has[t.TopicID] = true
	}
	for _, t := range dropped {
		if has[t.TopicID] { // the list of the topic's new table says it
			continue
		}
		for p := range max(t.Copied-1, 0) {
			of := Key(t.TopicID, p)
			if _, ok := marks[of]; ok {
				continue
			}
			m := mark{forgotten, t.Topic, t.Location}
			if err := a.tellForgotten(ctx, topic, redisstream.Told{Of: of, After: m.String()}, m); err != nil {
				return err
			}
		}
	}
	return nil
}

// tellForgotten tells of one partition.
func (a *Announcer) tellForgotten(ctx context.Context, topic *metadata.Topic, told redisstream.Told, m mark) error {
	id, number, _ := strings.Cut(told.Of, ":")
	topicID, err := uuid.Parse(id)
	partition, errNumber := strconv.ParseInt(number, 10, 32)
	if err != nil || errNumber != nil {
		return nil // not ours
	}
	e := &Event{State: DeletePartition, Topic: m.topic, TopicID: topicID, Partition: int32(partition), Table: m.table}
	if err := a.queue(ctx, topic, told.Of, told, []*Event{e}); err != nil && !errors.Is(err, redisstream.ErrMoved) {
		return err
	}
	return nil
}

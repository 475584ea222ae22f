package metadata

import (
	"context"
	"fmt"
	"strconv"

	"github.com/google/uuid"
)

// TableMayHave tells, from memory, whether the table of a life of a topic may have records of a partition: it is noted before the
// first ones are put there. A partition of which there are none is new, also when its log is nowhere.
func (s *Store) TableMayHave(topicID uuid.UUID, partition int32) bool {
	t, ok := s.TableOf(topicID)
	return ok && t.MayHave(partition)
}

// MayHave tells whether there may be records of a partition in it, or files of records that it was to have.
func (t *Table) MayHave(partition int32) bool { return t.Copied == 0 || partition < t.Copied-1 }

// CoverTable notes that a table may have records of a partition. ErrSuperseded, ErrUnavailable (then it may be noted).
func (s *Store) CoverTable(ctx context.Context, t Table, partition int32) error {
	if now, ok := s.TableOf(t.TopicID); ok && now.Location == t.Location {
		t = now
	}
	if t.MayHave(partition) {
		return nil
	}
	t.Copied = partition + 2
	encoded, revision, err := s.encodeTable(t)
	if err == nil {
		err = s.changeTable(ctx, s.scripts.tableCover, t.Name, t.Location, strconv.Itoa(int(t.Copied)), encoded, revision)
	}
	if err != nil {
		return fmt.Errorf("note partitions of table %s: %w", t.Name, err)
	}
	return nil
}

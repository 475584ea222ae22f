// Package migrate copies a topic to a new one with another number of partitions or other settings, and takes consumer
// groups along. It works through the Kafka port only.
//
// A round at a time: it reads from all partitions of the source, notes in the journal which records it is about to append
// where (Round), and then sends at most one batch to each partition of the target. As it is the target's only writer it
// knows the offsets beforehand, and it uses them as the producer's sequence numbers: a batch is appended at its place, or
// not at all, and only once, whoever sends it and however late. So after a crash the journal and the target's log ends
// tell exactly what is there, and the journal maps every offset of the source to one of the target.
package migrate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

// Options say what is migrated.
type Options struct {
	From, To    *Cluster // may be the same
	Source      string
	Target      string
	Partitions  int32              // of the target; 0: as many as the source has
	Configs     map[string]*string // settings of the target that differ from the source's own
	AppendTime  bool               // allow a target that replaces timestamps by the time of the append
	Follow      time.Duration      // how long a look for new records waits
	ReportEvery time.Duration      // between two reports of progress
	OnProgress  func(Progress)     // nil: nobody wants to know
}

// Progress is how far a run has come.
type Progress struct {
	Records int64 `json:"records"` // copied by this run
	Bytes   int64 `json:"bytes"`
	Behind  int64 `json:"behind"` // offsets of the source that are still to be copied
}

// Migration is a migration that this process performs.
type Migration struct {
	o       Options
	source  *topic
	target  *topic
	journal *journal
	state   *state
	place   *placer
	limit   int     // the target's max.message.bytes
	ends    []int64 // of the target
	queues  []*queue
	done    Progress
	told    Progress
	toldAt  time.Time
}

// ErrCutOver is the answer to what cannot be done any more after a cutover.
var ErrCutOver = errors.New("it has been cut over")

// Open takes a migration over: it begins it, or goes on where another run ended, which cannot write any more from then
// on. Batches that the journal announces and that are not in the target are sent first.
func Open(ctx context.Context, o Options) (*Migration, error) {
	m := &Migration{o: o, toldAt: time.Now()}
	var err error
	if m.source, err = o.From.lookUp(ctx, o.Source); err != nil {
		return nil, err
	}
	if m.journal, err = openJournal(ctx, o.To, o.Target); errors.Is(err, kerr.UnknownTopicOrPartition) {
		if err = m.checkFresh(ctx); err == nil {
			m.journal, err = createJournal(ctx, o.To, o.Target)
		}
	}
	if err != nil {
		return nil, err
	}
	m.state = newState(func(landed) error { return nil })
	run := Run{Nonce: uuid.NewString(), At: time.Now().UTC()}
	if err := m.journal.takeOver(ctx, run, m.state.apply); err != nil {
		return nil, err
	}
	if err := m.prepare(ctx); err != nil {
		return nil, err
	}
	return m, nil
}

// undo removes the journal of a migration that has no target, unless another run has taken it over: the next one begins
// anew, with other settings perhaps.
func (m *Migration) undo(ctx context.Context) error {
	if m.state.targetID != "" || ctx.Err() != nil {
		return nil
	}
	if taken, err := m.journal.taken(ctx); taken || err != nil {
		return nil // whoever goes on with it undoes it, or uses it
	}
	return m.journal.remove(ctx)
}

// prepare makes journal and target agree.
func (m *Migration) prepare(ctx context.Context) error {
	if m.state.begin == nil {
		if err := m.begin(ctx); err != nil {
			return err
		}
	}
	if err := m.checkSource(); err != nil {
		return err
	}
	if err := m.openTarget(ctx); err != nil {
		return errors.Join(err, m.undo(ctx))
	}
	for p, pos := range m.state.pos {
		m.queues = append(m.queues, &queue{partition: int32(p), from: pos, next: pos})
	}
	if m.state.cutover != nil {
		return nil
	}
	if err := m.checkTimestamps(ctx); err != nil {
		return err
	}
	return m.resume(ctx)
}

// begin notes what is migrated.
func (m *Migration) begin(ctx context.Context) error {
	starts, err := m.o.From.offsets(ctx, m.source, logStart)
	if err != nil {
		return err
	}
	return m.note(ctx, Entry{Begin: &Begin{
		Format: formatVersion, Source: m.source.name, SourceID: m.source.idText(), Target: m.o.Target, Partitions: m.wanted(), Starts: starts,
	}})
}

// note stores an entry and takes it into the state.
func (m *Migration) note(ctx context.Context, e Entry) error {
	at := m.journal.next
	if err := m.journal.append(ctx, e); err != nil {
		return err
	}
	return m.state.apply(at, e)
}

// checkSource tells whether the journal is about this source.
func (m *Migration) checkSource() error {
	b := m.state.begin
	switch {
	case b.Source != m.source.name:
		return fmt.Errorf("%s is the target of a migration from %s, not from %s", b.Target, b.Source, m.source.name)
	case b.SourceID != m.source.idText():
		return fmt.Errorf("topic %s was deleted and created again since the migration began: its id is %s, not %s", b.Source, m.source.idText(), b.SourceID)
	case len(m.source.leaders) != len(b.Starts):
		return fmt.Errorf("topic %s has %d partitions now, and had %d when the migration began: delete %s and %s, and begin again", b.Source, len(m.source.leaders), len(b.Starts), b.Target, JournalName(b.Target))
	case m.o.Partitions != 0 && m.o.Partitions != b.Partitions:
		return fmt.Errorf("the migration has begun with %d partitions, not %d", b.Partitions, m.o.Partitions)
	}
	return nil
}

// checkFresh tells, where there is no journal, whether a migration can begin: without a target, or with an empty one.
func (m *Migration) checkFresh(ctx context.Context) error {
	t, err := m.o.To.lookUp(ctx, m.o.Target)
	if errors.Is(err, kerr.UnknownTopicOrPartition) {
		return m.checkCreation(ctx)
	}
	if err != nil {
		return err
	}
	return m.checkEmpty(ctx, t, m.wanted())
}

// wanted is how many partitions the target is to have.
func (m *Migration) wanted() int32 {
	if m.o.Partitions > 0 {
		return m.o.Partitions
	}
	return int32(len(m.source.leaders))
}

// checkCreation asks whether the target could be created.
func (m *Migration) checkCreation(ctx context.Context) error {
	configs, _, err := m.targetConfigs(ctx)
	if err != nil {
		return err
	}
	return m.create(ctx, m.o.To.Admin.ValidateCreateTopics, m.wanted(), configs)
}

// checkEmpty tells whether a topic that is there already can be the target.
func (m *Migration) checkEmpty(ctx context.Context, t *topic, partitions int32) error {
	if int32(len(t.leaders)) != partitions {
		return fmt.Errorf("topic %s exists with %d partitions, not %d: delete it, or say --partitions %d", t.name, len(t.leaders), partitions, len(t.leaders))
	}
	ends, err := m.o.To.offsets(ctx, t, logEnd)
	if err != nil {
		return err
	}
	if slices.Max(ends) > 0 {
		return fmt.Errorf("topic %s holds records, or has held some, and no migration has written them: delete it or take another name", t.name)
	}
	return nil
}

// openTarget makes the target, or finds the one that the journal names.
func (m *Migration) openTarget(ctx context.Context) error {
	t, err := m.o.To.lookUp(ctx, m.o.Target)
	missing := errors.Is(err, kerr.UnknownTopicOrPartition)
	known := m.state.targetID
	switch {
	case err != nil && !missing:
		return err
	case missing && known != "":
		return fmt.Errorf("topic %s was deleted: delete %s, too, and begin again", m.o.Target, JournalName(m.o.Target))
	case known != "" && known != t.idText():
		return fmt.Errorf("topic %s was deleted and created again: delete it and %s, and begin again", m.o.Target, JournalName(m.o.Target))
	case known == "":
		if t, err = m.makeTarget(ctx, t); err != nil {
			return err
		}
	}
	m.target = t
	m.place = newPlacer(len(m.source.leaders), len(t.leaders))
	configs, err := effective(ctx, m.o.To, m.o.Target)
	if err != nil {
		return err
	}
	if m.limit, err = strconv.Atoi(configs["max.message.bytes"]); err != nil {
		return fmt.Errorf("read max.message.bytes of %s: %w", m.o.Target, err)
	}
	return nil
}

// creator is kadm's CreateTopics or ValidateCreateTopics.
type creator func(context.Context, int32, int16, map[string]*string, ...string) (kadm.CreateTopicResponses, error)

// create creates the target, or asks whether it could be created. An error says what the broker said.
func (m *Migration) create(ctx context.Context, by creator, partitions int32, configs map[string]*string) error {
	created, err := by(ctx, partitions, -1, configs, m.o.Target)
	if err != nil {
		return fmt.Errorf("create topic %s: %w", m.o.Target, err)
	}
	one, err := created.On(m.o.Target, nil)
	switch {
	case err == nil && one.Err == nil:
		return nil
	case err == nil && one.ErrMessage != "":
		return fmt.Errorf("create topic %s: %s: %w", m.o.Target, one.ErrMessage, one.Err)
	case err == nil:
		err = one.Err
	}
	return fmt.Errorf("create topic %s: %w", m.o.Target, err)
}

// makeTarget creates the target unless an empty one is there, and notes its id.
func (m *Migration) makeTarget(ctx context.Context, t *topic) (*topic, error) {
	if t == nil {
		configs, _, err := m.targetConfigs(ctx)
		if err != nil {
			return nil, err
		}
		// That it exists by now is the late work of a run that has died.
		if err := m.create(ctx, m.o.To.Admin.CreateTopics, m.state.begin.Partitions, configs); err != nil && !errors.Is(err, kerr.TopicAlreadyExists) {
			return nil, err
		}
		if t, err = m.o.To.lookUp(ctx, m.o.Target); err != nil {
			return nil, err
		}
	}
	if err := m.checkEmpty(ctx, t, m.state.begin.Partitions); err != nil {
		return nil, err
	}
	return t, m.note(ctx, Entry{Target: &Created{ID: t.idText()}})
}

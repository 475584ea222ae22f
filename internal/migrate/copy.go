package migrate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// emptyAnswers is after how many answers in a row without a record, though the log goes on, nothing is left up to its end.
// Only what was deleted by hand leaves a hole there; and verification would find records in it.
const emptyAnswers = 10

// Copy copies what the source has when it is called, and with follow goes on until ctx ends or another run takes over,
// which is ErrTakenOver.
func (m *Migration) Copy(ctx context.Context, follow bool) error {
	if m.state.cutover != nil {
		return fmt.Errorf("copy topic %s: %w on %s", m.o.Source, ErrCutOver, m.state.cutover.At.Format(time.RFC3339))
	}
	goal, err := m.o.From.offsets(ctx, m.source, logEnd)
	if err != nil {
		return err
	}
	for turn := 0; follow || len(m.moving(goal)) > 0; turn++ {
		idle, err := m.read(ctx)
		if err != nil {
			return err
		}
		if err := m.sendRound(ctx, turn); err != nil {
			return err
		}
		m.report(false)
		if !idle {
			continue
		}
		taken, err := m.journal.taken(ctx)
		if err != nil {
			return err
		}
		if taken {
			return ErrTakenOver
		}
	}
	m.report(true)
	return nil
}

// read tops up the queues that are half empty; where all are empty it waits a moment for records. It tells whether there
// are none.
func (m *Migration) read(ctx context.Context) (idle bool, err error) {
	from := map[int32]int64{}
	patience := m.o.Follow
	for _, q := range m.queues {
		if 2*len(q.records) <= q.got {
			from[q.partition] = q.next
		}
		if len(q.records) > 0 {
			patience = 0
		}
	}
	got, err := m.o.From.fetch(ctx, m.source, from, patience)
	if err != nil {
		return false, err
	}
	idle = patience > 0
	for p, f := range got {
		q := m.queues[p]
		moved := f.next > q.next
		idle = idle && !moved
		q.records, q.next, q.end, q.got = append(q.records, f.records...), f.next, f.end, len(f.records)
		if q.empty++; moved || patience == 0 || q.next >= q.end {
			q.empty = 0
		}
		if q.empty >= emptyAnswers {
			q.next = q.end
		}
	}
	return idle, nil
}

// sendRound notes a round of what is in the queues, if there is anything, and appends it. Each turn begins with another
// partition.
func (m *Migration) sendRound(ctx context.Context, turn int) error {
	b := newRoundBuilder(m.place, m.limit, m.ends)
	for i := range m.queues {
		b.takeFrom(m.queues[(turn+i)%len(m.queues)])
	}
	if len(b.round.Slices) == 0 {
		return nil
	}
	round, batches, err := b.finish(m.journal.producer)
	if err != nil {
		return err
	}
	if err := m.note(ctx, Entry{Round: round}); err != nil {
		return err
	}
	m.done.Records += int64(b.records)
	m.done.Bytes += int64(b.bytes)
	return m.deliver(ctx, round.Parts, batches)
}

// deliver appends batches at the places that their parts name.
func (m *Migration) deliver(ctx context.Context, parts []Part, batches map[int32][]byte) error {
	if len(batches) == 0 {
		return nil
	}
	bases, err := m.o.To.produce(ctx, m.target, batches)
	if err != nil {
		return err
	}
	for _, p := range parts {
		if bases[p.Target] != p.Base {
			return fmt.Errorf("partition %d of %s: records are at offset %d, not at %d: somebody else writes to it; delete it and %s, and begin again", p.Target, m.target.name, bases[p.Target], p.Base, JournalName(m.o.Target))
		}
		m.ends[p.Target] = p.Base + p.Count
	}
	return nil
}

// resume brings the target to what the journal says: what was announced and is not there is appended now. A process that
// announced it and still runs can do so as well; the second of the two changes nothing.
func (m *Migration) resume(ctx context.Context) error {
	ends, err := m.o.To.offsets(ctx, m.target, logEnd)
	if err != nil {
		return err
	}
	m.ends = ends
	missing := map[*Round][]landed{}
	for t, end := range ends {
		if one, ok := m.state.resolver.pending(int32(t), end); ok {
			missing[one.round] = append(missing[one.round], one)
			continue
		}
		if err := m.state.resolver.explains(int32(t), end); err != nil {
			return fmt.Errorf("topic %s: %w; delete it and %s, and begin again", m.target.name, err, JournalName(m.o.Target))
		}
	}
	for round, parts := range missing {
		if err := m.sendAgain(ctx, round, parts); err != nil {
			return err
		}
	}
	return nil
}

// sendAgain appends parts of a round that are not in the target. Where the source has dropped records of them meanwhile,
// what is left is announced anew: such a batch is shorter than the one it replaces, so that at most one of them can be
// appended at its place.
func (m *Migration) sendAgain(ctx context.Context, round *Round, parts []landed) error {
	wanted := map[int32]bool{}
	announced := int64(0)
	for _, one := range parts {
		wanted[one.part.Target] = true
		announced += one.part.Count
	}
	again := newRoundBuilder(m.place, m.limit, m.ends)
	again.round.Replaces = true
	for _, s := range round.Slices {
		if err := m.takeAgain(ctx, again, s, wanted); err != nil {
			return err
		}
	}
	left, batches, err := again.finish(m.journal.producer)
	if err != nil || len(left.Parts) == 0 {
		return err
	}
	if int64(again.records) < announced {
		if err := m.note(ctx, Entry{Round: left}); err != nil {
			return err
		}
	}
	return m.deliver(ctx, left.Parts, batches)
}

// takeAgain reads a slice once more and takes the records that it had for some partitions of the target.
func (m *Migration) takeAgain(ctx context.Context, b *roundBuilder, s Slice, wanted map[int32]bool) error {
	records, err := readRange(ctx, m.o.From, m.source, s.Partition, s.From, s.To)
	if err != nil {
		return err
	}
	at := byOffset(records)
	placed := map[int32]*Runs{}
	for _, p := range s.Records {
		if !wanted[p.Target] {
			continue
		}
		for i := range p.Offsets.Count() {
			r := at[p.Offsets.At(i)]
			if r != nil && !b.add(p.Target, r, placed) {
				return errors.New("a batch does not fit any more: max.message.bytes of the target was lowered")
			}
		}
	}
	if len(placed) > 0 {
		b.round.Slices = append(b.round.Slices, Slice{Partition: s.Partition, From: s.From, To: s.To, Records: inOrder(placed)})
	}
	return nil
}

// readRange reads the records of a partition in [from, to), those that are left of them.
func readRange(ctx context.Context, c *Cluster, t *topic, partition int32, from, to int64) ([]*kgo.Record, error) {
	const patience = 100 * time.Millisecond
	var records []*kgo.Record
	for empty := 0; from < to && empty < emptyAnswers; {
		got, err := c.fetch(ctx, t, map[int32]int64{partition: from}, patience)
		if err != nil {
			return nil, err
		}
		f := got[partition]
		for _, r := range f.records {
			if r.Offset < to {
				records = append(records, r)
			}
		}
		if empty++; f.next > from {
			empty = 0
		}
		from = f.next
	}
	return records, nil
}

// Progress is how far this run has come.
func (m *Migration) Progress() Progress {
	m.done.Behind = 0
	for _, q := range m.queues {
		m.done.Behind += max(0, q.end-q.from)
	}
	return m.done
}

// report tells of progress, where there is any: now or when it is time.
func (m *Migration) report(now bool) {
	if m.o.OnProgress == nil || !now && time.Since(m.toldAt) < m.o.ReportEvery {
		return
	}
	if m.Progress() != m.told {
		m.o.OnProgress(m.done)
	}
	m.told, m.toldAt = m.done, time.Now()
}

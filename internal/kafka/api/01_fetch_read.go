package api

import (
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/korvet-io/korvet/internal/batch"
	"github.com/korvet-io/korvet/internal/metadata"
	"github.com/korvet-io/korvet/internal/partition"
)

// takeDue returns whether partition i is to be read now.
func (f *fetch) takeDue(p *fetchPartition) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	due := p.due
	p.due = false
	return due
}

// readDue reads the partitions that are due, in order, within the limits of the request.
func (f *fetch) readDue() {
	f.passBegan = time.Now()
	f.prepare()
	for i := range f.partitions {
		p := &f.partitions[i]
		if !f.takeDue(p) {
			continue
		}
		if p.cancel != nil {
			p.cancel()
			p.cancel = nil
		}
		before := p.bytes
		p.err = f.read(p)
		f.bytes += p.bytes - before
		f.limited = f.limited || p.next < p.bounds.HighWatermark
		if p.err != nil || p.diverged != nil {
			f.bytes -= p.bytes
			p.chunks, p.bytes = nil, 0
			f.fail(p.err)
		}
	}
}

// prepare has those partitions begin to read that have to wait for the remote tier, so that they do so at the same time.
func (f *fetch) prepare() {
	if !f.api.settings.RemoteTier || len(f.partitions) < 2 {
		return
	}
	for i := range f.partitions {
		p := &f.partitions[i]
		f.mu.Lock()
		due := p.due
		f.mu.Unlock()
		if due && f.locate(p) == nil && p.view.RemoteStorage {
			f.api.logs.Prepare(p.view.ref(p.partition), p.next, f.partitionLimit(p))
		}
	}
}

// fail ends the wait, unless a partition was unknown from the start: its consumer would ask again at once, and again, so
// the error waits for the other partitions, as in Kafka.
func (f *fetch) fail(err error) {
	if begun := f.timer != nil; !begun && isUnknown(err) {
		f.unknown++
		return
	}
	f.failed = true
}

func isUnknown(err error) bool {
	return errors.Is(err, metadata.ErrUnknownTopic) || errors.Is(err, metadata.ErrUnknownTopicID) || errors.Is(err, partition.ErrUnknownPartition)
}

// read appends what one partition has from p.next on.
func (f *fetch) read(p *fetchPartition) error {
	if err := f.locate(p); err != nil {
		return err
	}
	buffer, from := f.room()
	room := min(f.plan.maxBytes-f.bytes, f.partitionLimit(p)-p.bytes)
	res, err := f.api.logs.Read(f.call.ctx, p.view.ref(p.partition), partition.ReadRequest{
		Offset:     p.next,
		MaxBytes:   max(room, 0),
		AtLeastOne: f.bytes == 0,
		Codec:      p.view.codec,
		Level:      p.view.level,
		NoZstd:     f.call.version() < zstdFetch,
		Values:     p.view.values,

		LogAppendTime:    p.view.LogAppendTime,
		AppendTimeHeader: p.view.AppendTimestampHeader,
		Began:            f.passBegan,
	}, f.data[buffer])
	if err != nil {
		return f.readError(p, err)
	}
	f.data[buffer] = res.Batches[:from] // also when nothing of it is answered: the log may have kept the buffer it was given
	p.bounds = res.Bounds
	if err := checkLeaderEpoch(p.ask.leaderEpoch, res.LeaderEpoch); err != nil {
		return err
	}
	if p.bytes == 0 {
		if p.diverged, err = f.divergence(p); err != nil || p.diverged != nil {
			return err
		}
	}
	f.data[buffer] = res.Batches
	return p.took(res.Batches, buffer, from)
}

// room is the buffer to read to, and where in it what is read begins.
func (f *fetch) room() (buffer, from int) {
	last := len(f.data) - 1
	if last < 0 || len(f.data[last]) > shortFetchBuffer {
		f.data = append(f.data, takeFetchBuffer())
		last++
	}
	return last, len(f.data[last])
}

// readError prefers what is wrong with the client's leader epoch to what came of reading under it.
func (f *fetch) readError(p *fetchPartition, err error) error {
	if p.ask.leaderEpoch < 0 || !errors.Is(err, partition.ErrOffsetOutOfRange) {
		return err
	}
	bounds, berr := f.api.logs.Bounds(f.call.ctx, p.view.ref(p.partition))
	if berr != nil {
		return berr
	}
	if eerr := checkLeaderEpoch(p.ask.leaderEpoch, bounds.LeaderEpoch); eerr != nil {
		return eerr
	}
	return err
}

// took adds the records read, which data, the fetch's buffer of that number, has from from on.
func (p *fetchPartition) took(data []byte, buffer, from int) error {
	last := batch.Header{}
	for at := from; at < len(data); {
		h, ok := batch.Peek(data[at:])
		if !ok {
			return fmt.Errorf("the log returned %d bytes that are not whole batches", len(data)-at)
		}
		last, at = h, at+h.Size
	}
	if from == len(data) {
		return nil
	}
	p.chunks = append(p.chunks, chunk{buffer, from, len(data)})
	p.bytes += len(data) - from
	p.next = last.LastOffset + 1
	return nil
}

// partitionLimit is how many bytes of one partition are answered.
func (f *fetch) partitionLimit(p *fetchPartition) int {
	limit := int(p.ask.maxBytes)
	if ours := f.api.settings.FetchPartitionMaxBytes; ours > 0 {
		limit = min(limit, ours)
	}
	return limit
}

// locate finds the partition.
func (f *fetch) locate(p *fetchPartition) (err error) {
	if f.replica >= 0 {
		return refuse(kerr.NotLeaderForPartition, "replica %d fetches, but there is no replication between brokers", f.replica)
	}
	if f.call.version() >= 13 {
		p.view, err = f.api.topicByID(f.call.ctx, p.id)
	} else {
		p.view, err = f.api.topicByName(f.call.ctx, p.topic)
	}
	if err != nil {
		return err
	}
	if !p.view.has(p.partition) {
		return fmt.Errorf("partition %d of %d: %w", p.partition, p.view.Partitions, partition.ErrUnknownPartition)
	}
	return nil
}

// checkLeaderEpoch compares the leader epoch that the client knows, -1 for none, with the partition's (KIP-320).
func checkLeaderEpoch(client, ours int32) error {
	switch {
	case client < 0 || client == ours:
		return nil
	case client < ours:
		return fmt.Errorf("leader epoch %d, ours is %d: %w", client, ours, partition.ErrFencedLeaderEpoch)
	}
	return fmt.Errorf("leader epoch %d, ours is %d: %w", client, ours, partition.ErrUnknownLeaderEpoch)
}

// divergence tells where the client's log leaves ours, if the epoch of its last record says so.
func (f *fetch) divergence(p *fetchPartition) (*divergence, error) {
	last := p.ask.lastFetchedEpoch
	if last < 0 || last == p.bounds.LeaderEpoch {
		return nil, nil
	}
	epoch, end, err := f.api.logs.EndOfEpoch(f.call.ctx, p.view.ref(p.partition), last)
	switch {
	case err != nil:
		return nil, fmt.Errorf("find end of epoch %d: %w", last, err)
	case epoch < 0 || last > p.bounds.LeaderEpoch:
		return nil, fmt.Errorf("last fetched epoch %d is unknown: %w", last, partition.ErrOffsetOutOfRange)
	case epoch < last || end < p.ask.offset:
		return &divergence{epoch: epoch, endOffset: end}, nil
	}
	return nil, nil
}

package partition

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/korvet-io/korvet/internal/record"
	"github.com/korvet-io/korvet/internal/redisstream"
)

// Remote reads a partition's records from the remote tier. It is safe for concurrent use. Records that are not there any more
// (an engine deleted them) are passed over. Errors are of the kinds ErrRemote and ErrRemoteAway; also when ctx ends.
type Remote interface {
	// Read gives sink the records with offsets in [from, end), in order, until it wants no more. next is where to go on: the
	// offset of the one that it did not want, or end. After an error the sink may have got some.
	Read(ctx context.Context, p Ref, q RemoteRead, sink RemoteSink) (next int64, err error)
	// SeekTime finds the first record in [From, End), in offset order, with a timestamp at or after ms. Offset -1: there is none.
	SeekTime(ctx context.Context, p Ref, ms int64, q RemoteRead) (TimeOffset, error)
	// Largest finds the first record of the largest timestamp in [From, End). Offset -1: there is no record.
	Largest(ctx context.Context, p Ref, q RemoteRead) (TimeOffset, error)
	// Holds tells what the remote tier has of a partition, as it is now; nil: there is no table of it.
	Holds(ctx context.Context, p Ref) (*redisstream.Remote, error)
	// Prepare begins to read what is at an offset, for a Read that follows. It does not wait.
	Prepare(p Ref, q RemoteRead)
}

// RemoteRead asks for records of the remote tier.
type RemoteRead struct {
	From, End int64 // offsets
	Bytes     int   // about how many bytes of records are wanted
	Ahead     bool  // whoever asks has read on before: what follows is to be read in advance
	// Epochs are the log's leader epochs: records that the remote tier has from another history of it are not wanted.
	Epochs []redisstream.Epoch
}

// RemoteSink takes records in offset order and reports whether it wants more: when not, it did not take the record. What the
// record refers to is valid until it returns.
type RemoteSink func(r *record.Record, appendMs int64) bool

// see takes what the registry says of the tiers.
func (s *logEnds) see(v *redisstream.View) {
	s.local, s.tiered = max(s.local, v.LocalStart), v.TieredEnd
}

// localStart is the first offset that Redis has, as far as is known.
func (s *logEnds) localStart() int64 { return max(s.local, s.logStart) }

// The tiers that a read is answered from, as Observer.ReadDone tells.
const (
	cacheTier  = "cache"
	localTier  = "local"
	RemoteTier = "remote"
)

// tieredError says that Redis has no more what is due, as a newer view of the registry tells: it is in the remote tier only, or
// below the log start by now.
type tieredError struct{ view *redisstream.View }

func (e *tieredError) Error() string {
	return fmt.Sprintf("redis has offsets from %d on only", e.view.LocalStart)
}

// newer takes the view of a scan that ended because Redis has no more what was due.
func (s *logEnds) newer(err error) bool {
	tiered, ok := errors.AsType[*tieredError](err)
	if ok {
		s.view = tiered.view
		s.logStart = max(s.logStart, min(tiered.view.LogStart, s.high))
		s.see(tiered.view)
	}
	return ok
}

// readTiers reads from the tier that has the offset. Segments may go from Redis meanwhile: then the remote tier has them, or the log
// begins behind them.
func (p *Partition) readTiers(ctx context.Context, s logEnds, req ReadRequest, dst []byte) (out []byte, tier string, err error) {
	for {
		if local := min(s.localStart(), s.high); req.Offset < local {
			out, next, err := p.readRemote(ctx, s, req, local, dst)
			if errors.Is(err, ErrRemote) {
				err = p.stillThere(ctx, req.Offset, err)
			}
			if err != nil || len(out) > len(dst) || next < local {
				return out, RemoteTier, err
			}
			if req.Offset = next; next >= s.high { // all that was left was deleted
				return out, RemoteTier, nil
			}
		}
		out, err = p.readLocal(ctx, s, req, dst)
		if !s.newer(err) {
			return out, localTier, err
		}
		if req.Offset < s.logStart {
			return dst, localTier, fmt.Errorf("%w: %d is below the log start, %d by now", ErrOffsetOutOfRange, req.Offset, s.logStart)
		}
	}
}

// stillThere gives the failure of a read of the remote tier, unless the offset is below the log start by now: then its data file, or
// the whole table, may rightly be gone.
func (p *Partition) stillThere(ctx context.Context, offset int64, err error) error {
	if s, _, failed := p.look(ctx); failed == nil && offset < s.logStart {
		return fmt.Errorf("%w: %d is below the log start, %d by now", ErrOffsetOutOfRange, offset, s.logStart)
	}
	return err
}

// remotePause is how long after a failure the remote tier is asked again.
const remotePause = 50 * time.Millisecond

// readRemote rebuilds batches from records of the remote tier below end. next is the offset to go on with: end where there is
// nothing more. When the remote tier does not answer in time nothing is read, and that is no error: the consumer asks again,
// and what it waited for is being read.
func (p *Partition) readRemote(ctx context.Context, s logEnds, req ReadRequest, end int64, dst []byte) (out []byte, next int64, err error) {
	if p.env.remote == nil {
		return dst, req.Offset, fmt.Errorf("%w: offset %d is there, and this broker has none", ErrRemote, req.Offset)
	}
	began := req.Began
	if began.IsZero() {
		began = time.Now()
	}
	waiting, cancel := context.WithDeadline(ctx, began.Add(time.Duration(p.env.remoteWait.Load())))
	defer cancel()
	r := readers.Get().(*reader)
	defer readers.Put(r)
	for {
		r.begin(s.epochs, req, dst, p.env.MaxValueBytes)
		next, err = p.env.remote.Read(waiting, p.ref, RemoteRead{From: req.Offset, End: end, Bytes: req.MaxBytes, Ahead: req.readsOn, Epochs: s.epochs}, r.takeRemote)
		out = r.finish()
		if gone := p.over(); gone != nil {
			return dst, req.Offset, gone
		}
		if err == nil || len(out) > len(dst) || !errors.Is(err, ErrRemoteAway) {
			break
		}
		select {
		case <-waiting.Done():
			return dst, req.Offset, nil
		case <-time.After(remotePause):
		}
	}
	if len(out) > len(dst) { // what was read is whole
		err = nil
	}
	return out, next, err
}

// Prepare begins to read what is at an offset when that takes a while: it is in the remote tier. It does not wait.
func (p *Partition) Prepare(offset int64, bytes int) {
	if p.env.remote == nil {
		return
	}
	p.mu.Lock()
	known, local, epochs := p.ends.known, p.ends.localStart(), p.ends.epochs
	p.mu.Unlock()
	if known && offset < local {
		p.env.remote.Prepare(p.ref, RemoteRead{From: offset, End: local, Bytes: bytes, Epochs: epochs})
	}
}

// seekRemote finds the first record by time in the remote tier's part [from, end).
func (p *Partition) seekRemote(ctx context.Context, s *logEnds, ms, from, end int64) (TimeOffset, error) {
	if p.env.remote == nil {
		return nothing, fmt.Errorf("%w: offset %d is there, and this broker has none", ErrRemote, from)
	}
	ctx, cancel := p.boundSearch(ctx)
	defer cancel()
	found, err := p.env.remote.SeekTime(ctx, p.ref, ms, RemoteRead{From: from, End: end, Epochs: s.epochs})
	return s.answer(found, p.searched(ctx, err))
}

// largestRemote finds the first record of the largest timestamp in the remote tier's part below end.
func (p *Partition) largestRemote(ctx context.Context, s *logEnds, end int64) (TimeOffset, error) {
	if p.env.remote == nil {
		return nothing, fmt.Errorf("%w: offset %d is there, and this broker has none", ErrRemote, s.logStart)
	}
	ctx, cancel := p.boundSearch(ctx)
	defer cancel()
	found, err := p.env.remote.Largest(ctx, p.ref, RemoteRead{From: s.logStart, End: end, Epochs: s.epochs})
	return s.answer(found, p.searched(ctx, err))
}

// boundSearch bounds a search of the remote tier unless whoever asks has.
func (p *Partition) boundSearch(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, time.Duration(p.env.remoteSearch.Load()))
}

// searched is how a search of the remote tier ended.
func (p *Partition) searched(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("%w: %w", ErrTimeout, err)
	}
	return errors.Join(err, p.over())
}

// answer adds the leader epoch to what was found.
func (s *logEnds) answer(found TimeOffset, err error) (TimeOffset, error) {
	if err != nil || found.Offset < 0 {
		return nothing, err
	}
	found.LeaderEpoch, _ = epochOf(s.epochs, found.Offset)
	return found, nil
}

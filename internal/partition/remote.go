package partition

import (
	"context"

	"github.com/korvet-io/korvet/internal/record"
	"github.com/korvet-io/korvet/internal/redisstream"
)

// Remote reads a partition's records from the remote tier. It is safe for concurrent use. Records that are not there any more
// (an engine deleted them) are passed over. Errors are of the kinds ErrRemote and ErrRemoteAway; also when ctx ends.
type Remote interface {
	// Read gives sink the records with offsets in [from, end), in order, until it wants no more. next is where to go on: the
	// offset of the one that it did not want, or end. After an error the sink may have got some.
	Read(ctx context.Context, p Ref, q RemoteRead, sink RemoteSink) (next int64, err error)
	// SeekTime finds the first record in [from, end), in offset order, with a timestamp at or after ms. Offset -1: there is none.
	SeekTime(ctx context.Context, p Ref, ms, from, end int64) (TimeOffset, error)
	// Largest finds the first record of the largest timestamp in [from, end). Offset -1: there is no record.
	Largest(ctx context.Context, p Ref, from, end int64) (TimeOffset, error)
	// Prepare begins to read what is at an offset, for a Read that follows. It does not wait.
	Prepare(p Ref, q RemoteRead)
}

// RemoteRead asks for records of the remote tier.
type RemoteRead struct {
	From, End int64 // offsets
	Bytes     int   // about how many bytes of records are wanted
}

// RemoteSink takes records in offset order and reports whether it wants more: when not, it did not take the record. What the
// record refers to is valid until it returns.
type RemoteSink func(r *record.Record, appendMs int64) bool

// see takes what the registry says of the tiers. It never goes back.
func (s *logEnds) see(v *redisstream.View) {
	s.local, s.tiered = max(s.local, v.LocalStart), max(s.tiered, v.TieredEnd)
}

// localStart is the first offset that Redis has, as far as is known.
func (s *logEnds) localStart() int64 { return max(s.local, s.logStart) }

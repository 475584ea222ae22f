package redisstream

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/korvet-io/korvet/internal/redisstream/resp"
)

// ErrLeaseLost means that the worker's lease is somebody else's by now.
var ErrLeaseLost = errors.New("the worker's lease was lost")

// LeaseRequest asks for the storage worker's lease.
type LeaseRequest struct {
	Key      string // the lease's hash
	Owner    string // unique to this start of the process
	LengthMs int64  // 0 gives it back
	Held     int64  // fence number of the lease that is to be renewed; 0: take it
	// Gone tells whether another owner's process is provably dead, so that its lease need not be waited for. It may be nil.
	Gone func(owner string) bool
}

// Lease takes, renews or gives back the storage worker's lease, also with Redis full, and returns its fence number, above
// any earlier one. *HeldError: another one has it. ErrLeaseLost: what was to be renewed is another's.
func (s *Shard) Lease(ctx context.Context, q LeaseRequest) (fence int64, err error) {
	fence, err = s.lease(ctx, q, "")
	if held, ok := errors.AsType[*HeldError](err); ok && q.Gone != nil && q.Gone(held.Owner) {
		return s.lease(ctx, q, held.Owner)
	}
	return fence, err
}

func (s *Shard) lease(ctx context.Context, q LeaseRequest, gone string) (int64, error) {
	held := ""
	if q.Held != 0 {
		held = strconv.FormatInt(q.Held, 10)
	}
	args := []string{q.Owner, strconv.FormatInt(q.LengthMs, 10), held, gone}
	v, err := s.script(ctx, leaseScript, []string{q.Key, q.Key + ":never"}, args)
	if err != nil {
		return 0, scriptError("lease", err)
	}
	return parseLease(v)
}

func parseLease(v resp.Value) (int64, error) {
	var p numbers
	if len(v.Elems) > 1 {
		e := v.Elems
		switch {
		case e[0].Str == "LOST":
			return 0, fmt.Errorf("%w to %q", ErrLeaseLost, e[1].Str)
		case e[0].Str == "HELD" && len(e) == 4:
			held := &HeldError{Owner: e[1].Str, Expiry: p.uint(e[2]), Now: p.uint(e[3])}
			if p.err != nil {
				return 0, p.err
			}
			return 0, held
		case e[0].Str == "OK":
			fence := p.uint(e[1])
			return int64(fence), p.err
		}
	}
	return 0, scriptError("lease", nil)
}

package redisstream

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/korvet-io/korvet/internal/epoch"
	"github.com/korvet-io/korvet/internal/redisstream/resp"
)

// FenceRequest is what a broker knows of a partition when it fences it.
type FenceRequest struct {
	Owner    string // broker id / boot id
	Token    string // new, random, never used before
	TopicID  string // 32 hex digits
	LeaseMs  int64
	Stamped  uint64 // largest ms this process ever stamped on an entry of this partition
	EndAtMin uint64 // last sequence that the log has at least, whatever Redis says; BeforeFirst when nothing is known
	NewEpoch bool   // Redis's identity changed since this broker fenced last
	// Unknown is this owner's append of unknown outcome, nil when there is none.
	Unknown *Append
	Force   func(owner string) bool
	NowMs   uint64 // 0: Redis's own time
	// Led is the highest leader epoch that this process has had of the partition: a new one is above it.
	Led int32
	// Remote is what the remote tier has of the partition; nil: nothing, or it is not known.
	Remote *Remote
	// Tiered tells that the remote tier may have records of the partition, and Asked that Remote is what it has.
	Tiered, Asked bool
	// Least is where the log ended at least when the caller knew it last.
	Least int64
}

// lost tells whether the fence must wait until it is known what the remote tier has: Redis knows nothing of the partition, or less
// than the caller, and nobody has led it since.
func (q *FenceRequest) lost(log epoch.History, end int64, nothing bool) bool {
	return q.Tiered && !q.Asked && (nothing || end < q.Least && log.Newest() <= q.Led)
}

// Remote is what the remote tier has of a partition: every record below an offset that was not below the log start.
type Remote struct {
	End    int64
	Epochs epoch.History // that these were written under; none where it is not known
}

// Extends tells whether a log is the beginning of what the remote tier has: it lost its end, and nobody has led it since.
func (r *Remote) Extends(log epoch.History, end int64) bool {
	if r == nil || end >= r.End {
		return false
	}
	return epoch.Fork(log, end, r.Epochs, r.End) == end && (len(r.Epochs) == 0 || log.Newest() <= r.Epochs.Newest())
}

// Fenced is a partition's state as the fence left it.
type Fenced struct {
	Replaced string // the token before
	WasMine  bool
	Floor    uint64 // every id this owner writes has a ms above it
	LastSeq  uint64
	Expiry   uint64 // of the lease; no id at or beyond it may be stamped
	Now      uint64 // Redis's time
	Epoch    int32
	Found    string // the stream's last id before the floor was raised; empty when there was no stream
	Alarm    bool   // the stream did not end where its owner claimed: strangers wrote, or the key was lost
	Restored bool   // Redis had lost the end of the log, which goes on behind what the remote tier has
	Landed   bool   // the append of unknown outcome is in the log; else nothing of it is, for good
}

// ErrSuperseded means that a later start of the same broker has had the partition: this one may never write again.
var ErrSuperseded = errors.New("a later start of this broker leads")

// HeldError means that another owner's lease runs until Expiry.
type HeldError struct {
	Owner  string
	Expiry uint64
	Now    uint64
}

func (e *HeldError) Error() string {
	return fmt.Sprintf("lease held by %s for %d ms", e.Owner, int64(e.Expiry-e.Now))
}

// The fence's other refusals.
var (
	ErrDeleted    = errors.New("this life of the topic is over")
	ErrUnfinished = errors.New("an earlier life of the topic is not deleted yet")
	// ErrLost means that Redis lost the log, or its end, and that the remote tier, which may have it, has to be asked first.
	ErrLost = errors.New("redis lost the log or its end")
)

// Fence fences the partition of keys on c: whatever was sent before, on any connection, cannot land afterwards. done is
// called exactly once. A *RefusedError means that Redis refused the script and nothing changed.
func Fence(c Conn, keys Keys, q FenceRequest, done func(Fenced, error)) {
	fenceWith(c, keys, q, 3, done)
}

func fenceWith(c Conn, keys Keys, q FenceRequest, tries int, done func(Fenced, error)) {
	request := resp.AppendCommand(nil, "HMGET", keys.Leader, "token", "owner")
	request = resp.AppendCommand(request, "HMGET", keys.Segments, "open", "start", "sealed")
	request = askEnds(request, keys.Stream) // behind the token: who fenced meanwhile has changed that
	request = resp.AppendCommand(request, "HGETALL", keys.Epochs)
	askEach(c, request, 4, func(v []resp.Value, err error) {
		var end ends
		for i := range v {
			if err == nil && i < 2 {
				err = v[i].Err()
			}
		}
		if err == nil {
			end, err = parseEnds(v[2])
		}
		var log View
		if err == nil {
			err = log.epochs(v[3])
		}
		if err != nil || len(v[0].Elems) != 2 || len(v[1].Elems) != 3 {
			done(Fenced{}, scriptError("read token", err))
			return
		}
		seen, owner, open, start := v[0].Elems[0].Str, v[0].Elems[1].Str, v[1].Elems[0].Str, v[1].Elems[1].Str
		asked := q // what the registry says now may be of a life that is over when the fence is tried again
		asked.EndAtMin = laterEnd(q.EndAtMin, start, v[1].Elems[2].Str)
		last := EndOffset(asked.EndAtMin)
		if end.last != (ID{}) { // 0-0: nothing was ever written
			last = max(last, EndOffset(end.last.Seq))
		}
		nothing := seen+open+start+v[1].Elems[2].Str == "" && end.last == (ID{}) && len(log.Epochs) == 0
		if q.lost(log.Epochs, last, nothing) {
			done(Fenced{}, fmt.Errorf("fence: %w: it ends at %d, and ended at %d at least", ErrLost, last, q.Least))
			return
		}
		if !q.Remote.Extends(log.Epochs, last) {
			asked.Remote = nil
		}
		k := []string{
			keys.Stream, keys.Leader, keys.State(seen), keys.State(q.Token), keys.Epochs, keys.Segments, keys.sealedBefore(open),
		}
		fenceScript.run(c, k, append(asked.args(seen, owner, open, start, end.end()), asked.remoteArgs(log.Epochs)...), func(v resp.Value, err error) {
			if err == nil {
				err = v.Err()
			}
			if err != nil {
				done(Fenced{}, scriptError("fence", err))
				return
			}
			f, err := parseFenced(v)
			if errors.Is(err, errStale) && tries > 1 {
				fenceWith(c, keys, q, tries-1, done)
				return
			}
			f.Replaced = seen
			done(f, err)
		})
	})
}

func (q FenceRequest) args(seen, owner, open, start, end string) []string {
	now, first, last := "", "", ""
	if q.NowMs != 0 {
		now = strconv.FormatUint(q.NowMs, 10)
	}
	if q.Unknown != nil {
		first, last = q.Unknown.First().String(), q.Unknown.Last().String()
	}
	force := q.Force != nil && owner != "" && q.Force(owner)
	return []string{
		q.Owner, seen, q.Token, q.TopicID, strconv.FormatInt(q.LeaseMs, 10), strconv.FormatUint(q.Stamped, 10),
		strconv.FormatUint(q.EndAtMin, 10), flag(q.NewEpoch), flag(force), now, open, first, last, start, end,
	}
}

// remoteArgs say where the remote tier ends that has more than the log, and which leader epochs are missing here.
func (q FenceRequest) remoteArgs(log epoch.History) []string {
	if q.Remote == nil {
		return []string{"", "", strconv.Itoa(int(q.Led) + 1)}
	}
	least := max(q.Remote.Epochs.Newest(), q.Led) + 1
	args := []string{decimal(q.Remote.End), decimal(q.Remote.End - 1), strconv.Itoa(int(least))}
	for _, e := range q.Remote.Epochs {
		if e.Epoch > log.Newest() {
			args = append(args, strconv.Itoa(int(e.Epoch)), strconv.FormatUint(SeqBefore(e.Start), 10))
		}
	}
	return args
}

// laterEnd is the highest of what is known of the log's last sequence without looking at the open segment: what the caller
// knows, the log start, the end of the segment sealed last.
func laterEnd(known uint64, start, sealed string) uint64 {
	end := EndOffset(known)
	if n, err := strconv.ParseUint(start, 10, 64); err == nil {
		end = max(end, int64(n))
	}
	if n, err := strconv.ParseUint(sealed, 10, 64); err == nil {
		end = max(end, EndOffset(n))
	}
	return SeqBefore(end)
}

// sealedBefore is the stream of the segment before the open one.
func (k Keys) sealedBefore(open string) string {
	n, _ := strconv.ParseInt(open, 10, 64)
	return k.Segment(n - 1)
}

func flag(b bool) string {
	if b {
		return "1"
	}
	return "0"
}

var errStale = errors.New("token changed meanwhile")

func parseFenced(v resp.Value) (Fenced, error) {
	if len(v.Elems) == 0 {
		return Fenced{}, fmt.Errorf("fence: %w: empty answer", resp.ErrProtocol)
	}
	e := v.Elems
	p := numbers{}
	switch e[0].Str {
	case "OK":
		if len(e) != 11 {
			break
		}
		f := Fenced{
			Floor: p.uint(e[1]), LastSeq: p.uint(e[2]), Expiry: p.uint(e[3]), WasMine: e[4].Int == 1, Now: p.uint(e[5]),
			Epoch: int32(p.uint(e[6])), Found: e[7].Str, Alarm: e[8].Int == 1, Landed: e[9].Int == 1, Restored: e[10].Int == 1,
		}
		return f, p.err
	case "HELD":
		if len(e) != 4 {
			break
		}
		held := &HeldError{Owner: e[1].Str, Expiry: p.uint(e[2]), Now: p.uint(e[3])}
		if p.err != nil {
			return Fenced{}, p.err
		}
		return Fenced{}, held
	case "SUPERSEDED":
		if len(e) != 2 {
			break
		}
		return Fenced{}, fmt.Errorf("fence: %w: %s", ErrSuperseded, e[1].Str)
	case "STALE":
		return Fenced{}, errStale
	case "DELETED":
		return Fenced{}, ErrDeleted
	case "UNFINISHED":
		return Fenced{}, ErrUnfinished
	}
	return Fenced{}, fmt.Errorf("fence: %w: answer %q", resp.ErrProtocol, e[0].Str)
}

// numbers parses decimal strings and remembers the first error.
type numbers struct{ err error }

func (p *numbers) uint(v resp.Value) uint64 {
	n, err := strconv.ParseUint(v.Text(), 10, 64)
	if err != nil && p.err == nil {
		p.err = fmt.Errorf("parse number: %w", err)
	}
	return n
}

// scriptError tells a refusal, which changed nothing, from an unknown outcome.
func scriptError(what string, err error) error {
	if err == nil {
		return fmt.Errorf("%s: %w: unexpected answer", what, resp.ErrProtocol)
	}
	if e, ok := errors.AsType[resp.Error](err); ok {
		return fmt.Errorf("%s: %w", what, refusal(e))
	}
	return fmt.Errorf("%s: %w", what, err)
}

// refusal finds Redis's code in an error reply; one raised inside a script may carry it behind "ERR Error running script".
func refusal(e resp.Error) *RefusedError {
	for _, code := range []string{"OOM", "MISCONF", "READONLY", "LOADING", "NOREPLICAS", "MASTERDOWN", "BUSY", "CLUSTERDOWN", "MOVED", "WRONGTYPE"} {
		if e.Code() == code || strings.Contains(string(e), "-"+code+" ") || strings.Contains(string(e), ": "+code+" ") {
			return &RefusedError{code, string(e)}
		}
	}
	return &RefusedError{e.Code(), string(e)}
}

// Release ends the lease of token early. done tells whether it was still the partition's token.
func Release(c Conn, keys Keys, token string, stamped uint64, done func(bool, error)) {
	args := []string{token, strconv.FormatUint(stamped, 10)}
	releaseScript.run(c, []string{keys.Leader, keys.State(token)}, args, func(v resp.Value, err error) {
		if err == nil {
			err = v.Err()
		}
		done(v.Int == 1, err)
	})
}

// Await turns an operation that calls back into one that waits. The operation goes on when ctx ends first.
func Await[T any](ctx context.Context, start func(done func(T, error))) (T, error) {
	type outcome struct {
		v   T
		err error
	}
	ch := make(chan outcome, 1)
	start(func(v T, err error) { ch <- outcome{v, err} })
	select {
	case o := <-ch:
		return o.v, o.err
	case <-ctx.Done():
		var zero T
		return zero, context.Cause(ctx)
	}
}

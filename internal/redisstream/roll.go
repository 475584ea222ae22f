package redisstream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/korvet-io/korvet/internal/redisstream/resp"
)

// RollRequest is what whoever seals an open segment knows of it.
type RollRequest struct {
	TopicID string
	Open    int64  // its number
	Token   string // of the partition's fence
	// Bytes is what the stream was measured to use, MaxTimestamp the largest timestamp of its records; -1: unknown.
	Bytes, MaxTimestamp int64
	// Closing is the largest timestamp of the records after the time index's last entry, so that the index ends with the
	// segment; nil leaves them to the entry that comes next.
	Closing *int64

	fence   string // the worker's fence number; empty: the owner rolls
	claimed string // id of the last entry that the owner claimed, as the worker saw it
	seen    ends   // of the open segment's stream
}

// ErrNotOpen means that the segment is not the open one of this life any more, or that another fence or an append came in
// between: nothing was done.
var ErrNotOpen = errors.New("not the open segment as it was seen")

// Roll seals the open segment for its owner. done is called exactly once; rolled is false when there is nothing to seal.
// ErrNotOpen and a *RefusedError change nothing; after any other error the registry tells what happened.
func Roll(c Conn, keys Keys, q RollRequest, done func(sealed Segment, rolled bool, err error)) {
	send(c, askEnds(nil, keys.Stream), func(v resp.Value, err error) {
		if err == nil {
			q.seen, err = parseEnds(v)
		}
		if err != nil {
			done(Segment{}, false, scriptError("roll", err))
			return
		}
		rollScript.run(c, q.keys(keys), q.args(), func(v resp.Value, err error) {
			if err == nil {
				err = v.Err()
			}
			if err != nil {
				done(Segment{}, false, scriptError("roll", err))
				return
			}
			done(parseRoll(v, q.Open))
		})
	})
}

func (q *RollRequest) keys(k Keys) []string {
	return []string{k.Stream, k.Leader, k.Segments, k.Segment(q.Open), k.State(q.Token), k.Times(q.Open)}
}

func (q *RollRequest) args() []string {
	closing := ""
	if q.Closing != nil {
		closing = strconv.FormatInt(*q.Closing, 10)
	}
	first, tail := q.seen.bounds()
	return []string{
		q.TopicID, strconv.FormatInt(q.Open, 10), q.Token, strconv.FormatInt(q.Bytes, 10), strconv.FormatInt(q.MaxTimestamp, 10),
		closing, q.fence, q.claimed, q.seen.end(), first, tail,
	}
}

func parseRoll(v resp.Value, open int64) (sealed Segment, rolled bool, err error) {
	if len(v.Elems) == 0 {
		return Segment{}, false, scriptError("roll", nil)
	}
	switch v.Elems[0].Str {
	case "OK":
		if len(v.Elems) == 2 {
			sealed, err = ParseSegment(strconv.FormatInt(open, 10), v.Elems[1].Str)
			return sealed, err == nil, err
		}
	case "EMPTY":
		return Segment{}, false, nil
	case "OTHER":
		return Segment{}, false, fmt.Errorf("roll segment %d: %w", open, ErrNotOpen)
	case "FENCED":
		return Segment{}, false, fmt.Errorf("roll segment %d: %w", open, ErrFenced)
	}
	return Segment{}, false, fmt.Errorf("roll: %w: answer %q", resp.ErrProtocol, v.Elems[0].Str)
}

// Weight is what Redis says of an open segment, and of the log it ends.
type Weight struct {
	Bytes    int64
	First    ID // of its first entry; zero when it has none
	Open     int64
	LogStart int64
}

// Weigh measures the open segment.
func Weigh(c Conn, keys Keys, done func(Weight, error)) {
	request := resp.AppendCommand(nil, "HMGET", keys.Segments, "open", "start") // first: of one that is rolled meanwhile Redis knows
	request = resp.AppendCommand(request, "MEMORY", "USAGE", keys.Stream, "SAMPLES", strconv.Itoa(weighNodes))
	request = resp.AppendCommand(request, "XRANGE", keys.Stream, "-", "+", "COUNT", "1")
	askAll(c, request, 3, func(v []resp.Value, err error) {
		if err != nil || len(v[0].Elems) != 2 {
			done(Weight{}, scriptError("weigh open segment", err))
			return
		}
		w := Weight{Bytes: v[1].Int}
		if page := v[2].Elems; len(page) > 0 && len(page[0].Elems) > 0 {
			w.First, err = ParseID(page[0].Elems[0].Str)
		}
		var p numbers
		for i, into := range []*int64{&w.Open, &w.LogStart} {
			if !v[0].Elems[i].Null { // else never rolled, never trimmed
				*into = int64(p.uint(v[0].Elems[i]))
			}
		}
		done(w, cmp.Or(err, p.err))
	})
}

// timesStep is how many entries of the time index are moved at once.
const timesStep = 200

// MoveTimes moves entries of the time index, by their offsets, from the token's state to a sealed segment. Nothing depends on
// the answers: entries that stay behind are found there.
func MoveTimes(c Conn, keys Keys, topicID, token string, segment int64, offsets []int64) {
	for step := range slices.Chunk(offsets, timesStep) {
		k, args := moveTimes(keys, topicID, token, segment, step)
		timesScript.run(c, k, args, func(resp.Value, error) {})
	}
}

func moveTimes(keys Keys, topicID, token string, segment int64, offsets []int64) (k, args []string) {
	args = []string{topicID, token, strconv.FormatInt(segment, 10)}
	for _, o := range offsets {
		args = append(args, strconv.FormatInt(o, 10))
	}
	return []string{keys.Leader, keys.Segments, keys.State(token), keys.Times(segment)}, args
}

// Roll seals the open segment for the storage worker, beside the owner if there is one. rolled is false when there is
// nothing to seal. ErrNotOpen, ErrFenced and a *RefusedError change nothing; after any other error the registry tells what
// happened.
func (s *Shard) Roll(ctx context.Context, keys Keys, c Claim, open int64) (sealed Segment, rolled bool, err error) {
	leader, err := s.reads.value(ctx, resp.AppendCommand(nil, "HGET", keys.Leader, "token"))
	if err != nil {
		return Segment{}, false, scriptError("read token", err)
	}
	q := RollRequest{TopicID: c.TopicID, Open: open, Token: leader.Str, fence: strconv.FormatInt(c.Fence, 10)}
	index, err := s.openIndex(ctx, keys, &q)
	if err != nil {
		return Segment{}, false, err
	}
	weights, err := s.Weigh(ctx, []string{keys.Stream}, 0)
	if err != nil {
		return Segment{}, false, err
	}
	q.Bytes = weights[0]
	v, err := s.script(ctx, rollScript, q.keys(keys), q.args())
	if err != nil {
		return Segment{}, false, scriptError("roll", err)
	}
	if sealed, rolled, err = parseRoll(v, open); !rolled {
		return Segment{}, false, err
	}
	index = slices.DeleteFunc(index, func(o int64) bool { return o > sealed.Last })
	for step := range slices.Chunk(index, timesStep) {
		k, args := moveTimes(keys, c.TopicID, q.Token, open, step)
		if _, err := s.script(ctx, timesScript, k, args); err != nil {
			break // they stay where they are found, too
		}
	}
	return sealed, true, nil
}

// openIndex reads the time index's entries of the open segment, the last entry that the owner claimed, the ends of the
// stream and the largest timestamp, if all are known.
func (s *Shard) openIndex(ctx context.Context, keys Keys, q *RollRequest) (offsets []int64, err error) {
	var notes [3]resp.Value
	request := resp.AppendCommand(nil, "HMGET", keys.State(q.Token), "last", "tail")
	request = resp.AppendCommand(request, "HGET", keys.Segments, "sealed")
	if err := s.readAll(ctx, askEnds(request, keys.Stream), notes[:]); err != nil {
		return nil, err
	}
	if q.seen, err = parseEnds(notes[2]); err != nil {
		return nil, scriptError("look at stream", err)
	}
	for _, v := range notes[:2] {
		if err := v.Err(); err != nil {
			return nil, scriptError("read state", err)
		}
	}
	sealed, err := strconv.ParseInt(notes[1].Str, 10, 64)
	if err != nil {
		sealed = -1
	}
	q.MaxTimestamp, q.claimed = -1, notes[0].Elems[0].Str
	if tail := strings.Fields(notes[0].Elems[1].Str); len(tail) == 3 { // first offset, count, largest timestamp
		if ms, err := strconv.ParseInt(tail[2], 10, 64); err == nil && tail[1] != "0" {
			q.MaxTimestamp = ms
		}
	}
	for cursor := ""; cursor != "0"; {
		if cursor == "" {
			cursor = "0"
		}
		v, err := s.reads.value(ctx, resp.AppendCommand(nil, "HSCAN", keys.State(q.Token), cursor, "MATCH", "t:*", "COUNT", "1000"))
		if err == nil && len(v.Elems) != 2 {
			err = resp.ErrProtocol
		}
		if err != nil {
			return nil, scriptError("read time index", err)
		}
		cursor = v.Elems[0].Str
		v.Elems[1].Pairs(func(name string, value resp.Value) {
			offset, err := strconv.ParseInt(strings.TrimPrefix(name, "t:"), 10, 64)
			if err != nil || offset <= sealed {
				return
			}
			offsets = append(offsets, offset)
			if ms, err := strconv.ParseInt(value.Str, 10, 64); err == nil {
				q.MaxTimestamp = max(q.MaxTimestamp, ms)
			}
		})
	}
	q.MaxTimestamp = KnownTimestamp(q.MaxTimestamp)
	return offsets, nil
}

// UnreadTimestamp is what a time index has of records that nobody has looked at: a search has to.
const UnreadTimestamp = 1<<63 - 1

// KnownTimestamp is a largest timestamp as the registry has it: -1 when it is not known.
func KnownTimestamp(ms int64) int64 {
	if ms == UnreadTimestamp {
		return -1
	}
	return max(ms, -1)
}

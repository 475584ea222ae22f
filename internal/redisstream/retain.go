package redisstream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/korvet-io/korvet/internal/redisstream/resp"
)

// ErrFenced means that a later worker has worked on the partition: this one must stop.
var ErrFenced = errors.New("a later worker was here")

// Claim is what every change of the storage worker carries: the life of the topic that it is meant for, and the fence
// number of the worker's lease.
type Claim struct {
	TopicID string
	Fence   int64
}

// act runs one of the worker's scripts and returns its answer after "OK". ok is false where the answer is another word
// than that, which is word. ErrDeleted: another life of the topic, or none, is there. ErrFenced.
func (s *Shard) act(ctx context.Context, sc script, keys Keys, c Claim, more, args []string) (word string, rest []resp.Value, err error) {
	k := append([]string{keys.Leader, keys.Segments, keys.Times(-1)}, more...)
	a := append([]string{c.TopicID, strconv.FormatInt(c.Fence, 10)}, args...)
	v, err := s.script(ctx, sc, k, a)
	if err != nil {
		return "", nil, scriptError("change partition", err)
	}
	if len(v.Elems) == 0 {
		return "", nil, scriptError("change partition", nil)
	}
	switch word = v.Elems[0].Str; word {
	case "OTHER":
		return word, nil, ErrDeleted
	case "FENCED":
		return word, nil, ErrFenced
	}
	return word, v.Elems[1:], nil
}

// RaiseStart raises the log start, and drops the leader epochs that ended below it. No record is removed. It returns the
// log start, which only rises.
func (s *Shard) RaiseStart(ctx context.Context, keys Keys, c Claim, start int64) (int64, error) {
	got, err := s.raise(ctx, startScript, keys, c, []string{keys.Epochs}, []string{decimal(start)})
	if err != nil {
		return 0, fmt.Errorf("raise log start: %w", err)
	}
	return got, nil
}

// raise runs a script that answers with the offset that it raised.
func (s *Shard) raise(ctx context.Context, sc script, keys Keys, c Claim, more, args []string) (int64, error) {
	word, rest, err := s.act(ctx, sc, keys, c, more, args)
	if err != nil {
		return 0, err
	}
	if word == "AHEAD" {
		return 0, ErrAhead
	}
	if len(rest) != 1 {
		return 0, scriptError("change partition", nil)
	}
	var p numbers
	got := p.uint(rest[0])
	return int64(got), p.err
}

// DropSegment removes a sealed segment that lies below the log start, or of which the remote tier has every record (SetTiered):
// its registry field first and all in one script. The oldest goes first. It reports whether it was there; another one, or one
// that is not the segment that was seen, is kept.
func (s *Shard) DropSegment(ctx context.Context, keys Keys, c Claim, seg Segment) (dropped bool, err error) {
	n := seg.Number
	word, _, err := s.act(ctx, dropScript, keys, c, []string{keys.Segment(n), keys.Times(n)}, []string{decimal(n), decimal(seg.Last), decimal(seg.Last + 1)})
	if err != nil {
		return false, fmt.Errorf("drop segment %d: %w", n, err)
	}
	return word == "OK", nil
}

// DropCopy removes what an unfinished rewrite of compaction left.
func (s *Shard) DropCopy(ctx context.Context, keys Keys, c Claim) error {
	if _, _, err := s.act(ctx, uncopyScript, keys, c, []string{keys.Copy}, nil); err != nil {
		return fmt.Errorf("drop copy: %w", err)
	}
	return nil
}

// Head says what of a stream's head is to go.
type Head struct {
	Segment int64 // number of the sealed segment; -1: the open one
	Start   int64 // log start that Keep was found for: nothing is removed while the log starts below
	Keep    ID    // of the first entry to keep
	Step    int   // most entries to remove; 0: all, for the rest of a node
}

// weighNodes bounds the nodes of a stream that one command looks at when it is measured: 128 MiB of small records, as a
// segment has by default, are some 33,000 nodes, which take Redis 1 to 2 ms. The nodes of a longer stream are taken to be
// like its first ones.
const weighNodes = 40_000

// TrimHead removes one step of a stream's head. It returns how many entries went and the id of the first that is there
// now, zero when none is.
func (s *Shard) TrimHead(ctx context.Context, keys Keys, c Claim, h Head) (removed int64, first ID, err error) {
	stream, step := keys.Stream, ""
	if h.Segment >= 0 {
		stream = keys.Segment(h.Segment)
	}
	if h.Step > 0 {
		step = strconv.Itoa(h.Step)
	}
	word, rest, err := s.act(ctx, headScript, keys, c, []string{stream}, []string{decimal(h.Start), h.Keep.String(), step})
	if err != nil {
		return 0, ID{}, fmt.Errorf("trim stream: %w", err)
	}
	if word != "OK" {
		return 0, ID{}, nil
	}
	if len(rest) != 1 {
		return 0, ID{}, scriptError("trim stream", nil)
	}
	removed = rest[0].Int
	first, found, err := s.entry(ctx, "XRANGE", stream, "-", "+")
	if err == nil && found && removed > 0 && h.Segment >= 0 {
		args := []string{decimal(h.Segment), strconv.FormatUint(first.Seq, 10), strconv.FormatUint(first.Ms, 10), strconv.Itoa(weighNodes)}
		_, _, err = s.act(ctx, shrunkScript, keys, c, []string{stream}, args)
	}
	if err != nil {
		return removed, ID{}, fmt.Errorf("trim stream: %w", err)
	}
	return removed, first, nil
}

// FirstAt finds the first entry of a stream that was appended at a time, in ms, or later.
func (s *Shard) FirstAt(ctx context.Context, stream string, ms uint64) (id ID, found bool, err error) {
	return s.entry(ctx, "XRANGE", stream, ID{Ms: ms}.String(), "+")
}

// entry finds the first entry between two ids in a command's direction. Its values come along; from a script they would not,
// but that takes Redis many times as long.
func (s *Shard) entry(ctx context.Context, command, stream, from, to string) (id ID, found bool, err error) {
	v, err := s.reads.value(ctx, resp.AppendCommand(nil, command, stream, from, to, "COUNT", "1"))
	if err != nil {
		return ID{}, false, scriptError("find entry", err)
	}
	if len(v.Elems) == 0 || len(v.Elems[0].Elems) == 0 {
		return ID{}, false, nil
	}
	id, err = ParseID(v.Elems[0].Elems[0].Str)
	return id, err == nil, err
}

// Weigh tells the bytes that each stream uses in Redis, from at most so many of its nodes, which are 4 KiB or 100 entries
// unless Redis is set otherwise; 0 looks at as many as one command may. Streams that are not there weigh nothing. It does
// not count as an access of the keys.
func (s *Shard) Weigh(ctx context.Context, streams []string, nodes int) ([]int64, error) {
	if nodes == 0 || nodes > weighNodes {
		nodes = weighNodes
	}
	weights := make([]int64, 0, len(streams))
	for page := range slices.Chunk(streams, glancePage) {
		var request []byte
		for _, stream := range page {
			request = resp.AppendCommand(request, "MEMORY", "USAGE", stream, "SAMPLES", strconv.Itoa(nodes))
		}
		replies := make([]resp.Value, len(page))
		if err := s.readAll(ctx, request, replies); err != nil {
			return nil, err
		}
		for _, v := range replies {
			if e, ok := errors.AsType[resp.Error](v.Err()); ok {
				return nil, scriptError("measure stream", e)
			}
			weights = append(weights, v.Int)
		}
	}
	return weights, nil
}

// Memory tells the bytes that Redis uses and may use; 0: no limit.
func (s *Shard) Memory(ctx context.Context) (used, limit int64, err error) {
	v, err := s.reads.value(ctx, resp.AppendCommand(nil, "INFO", "memory"))
	if err != nil {
		return 0, 0, fmt.Errorf("read memory: %w", err)
	}
	used, _ = strconv.ParseInt(infoField(v.Str, "used_memory"), 10, 64) // where it is hidden, nothing is known
	limit, _ = strconv.ParseInt(infoField(v.Str, "maxmemory"), 10, 64)
	return used, limit, nil
}

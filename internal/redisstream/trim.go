package redisstream

import (
	"context"
	"fmt"
	"math"
	"strconv"

	"github.com/korvet-io/korvet/internal/redisstream/resp"
)

// Bounds of one step of a trim: entries, and bytes of entries of the mean size. A large entry has a node of its own, and
// Redis gives the memory of each back to the system: 100 of 1 MB took it 10 ms.
const (
	trimEntries = 2000
	trimBytes   = 2 << 20
)

// TrimStep is how many entries one step of a trim removes where they are of that mean size in bytes.
func TrimStep(mean int64) int { return int(min(max(trimBytes/max(mean, 1), 1), trimEntries)) }

// Widen chooses the step after one in which no node could go whole: 0, which is the rest of a node, when no more than that is
// left, else a larger one.
func (h *Head) Widen(first ID) {
	if h.Step > math.MaxInt16 || h.Keep.Seq-first.Seq <= uint64(h.Step) {
		h.Step = 0
		return
	}
	h.Step *= 2
}

// Trim raises the log start of one life of a partition and trims the open segment below it.
func (s *Shard) Trim(ctx context.Context, keys Keys, topicID string, logStart int64) (start int64, err error) {
	step := func(keep, most string) (removed int64, err error) {
		args := []string{topicID, decimal(logStart), keep, most}
		v, err := s.script(ctx, trimScript, []string{keys.Stream, keys.Leader, keys.Segments, keys.Times(-1)}, args)
		if err != nil {
			return 0, scriptError("trim", err)
		}
		if len(v.Elems) != 3 {
			return 0, ErrDeleted
		}
		if start, err = strconv.ParseInt(v.Elems[1].Text(), 10, 64); err != nil {
			return 0, fmt.Errorf("trim: %w", err)
		}
		return v.Elems[2].Int, nil
	}
	if _, err := step("", ""); err != nil {
		return 0, err
	}
	h, first, err := s.head(ctx, keys.Stream, start)
	for err == nil && h.Keep.After(first) {
		most := ""
		if h.Step > 0 {
			most = strconv.Itoa(h.Step)
		}
		var removed int64
		var found bool
		if removed, err = step(h.Keep.String(), most); err != nil || most == "" {
			break
		}
		if first, found, err = s.entry(ctx, "XRANGE", keys.Stream, "-", "+"); !found {
			break
		}
		if removed == 0 {
			h.Widen(first)
		}
	}
	return start, err
}

// head says what of a stream lies below an offset, and where the stream begins; both are zero where nothing does.
func (s *Shard) head(ctx context.Context, stream string, start int64) (h Head, first ID, err error) {
	var info [1]resp.Value
	if err := s.readAll(ctx, askEnds(nil, stream), info[:]); err != nil {
		return Head{}, ID{}, err
	}
	end, err := parseEnds(info[0])
	if err != nil || end.length == 0 || int64(end.first.Seq) >= start {
		return Head{}, ID{}, err
	}
	keep, found, err := s.Seek(ctx, stream, start)
	if !found { // all of it is below
		keep = ID{Ms: end.tail.Ms, Seq: end.tail.Seq + 1}
	}
	if err != nil {
		return Head{}, ID{}, err
	}
	weights, err := s.Weigh(ctx, []string{stream}, trimSamples)
	if err != nil {
		return Head{}, ID{}, err
	}
	return Head{Segment: -1, Start: start, Keep: keep, Step: TrimStep(weights[0] / end.length)}, end.first, nil
}

// trimSamples is how many nodes of a stream are looked at to know how large its entries are.
const trimSamples = 64

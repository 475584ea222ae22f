package redisstream

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/korvet-io/korvet/internal/epoch"
	"github.com/korvet-io/korvet/internal/redisstream/resp"
)

// Segment is one sealed segment as the registry has it.
type Segment struct {
	Number  int64
	State   string // sealed
	Base    int64  // first and last offset
	Last    int64
	FirstMs uint64 // append time of the first and last record
	LastMs  uint64
	// MaxTimestamp is the largest timestamp, Bytes what the stream used in Redis when it was measured last; -1: not known.
	MaxTimestamp int64
	Bytes        int64
}

// Fields of the registry about the remote tier.
const (
	tieredField = "tiered"
	localField  = "local"
)

// Epoch is one leader epoch and the offset it starts at.
type Epoch = epoch.Epoch

// View is what Redis says of a partition, to whoever asks: no ownership is needed.
type View struct {
	Exists   bool // the stream is there
	TopicID  string
	Owner    string
	Epoch    int32
	LogStart int64
	// LocalStart is the first offset that Redis still has: the log start, unless the records from there on are in the remote tier
	// alone. TieredEnd is the offset below which the remote tier has every record that is not below the log start; 0: none.
	LocalStart int64
	TieredEnd  int64
	LastSeq    uint64    // BeforeFirst of an empty log
	Open       int64     // number of the open segment
	Segments   []Segment // by rising number, and so by rising offsets
	Epochs     []Epoch
	Clean      Clean // how far compaction has come

	end ID // the open stream's last generated id
}

// Look reads a partition's view in two round trips. The log ends at the last entry that its leaders noted: those above are
// strangers'.
func (s *Shard) Look(ctx context.Context, keys Keys) (View, error) {
	v := View{LastSeq: BeforeFirst}
	var leader [1]resp.Value
	err := s.readAll(ctx, resp.AppendCommand(nil, "HMGET", keys.Leader, "topic", "owner", "epoch", "token"), leader[:])
	if err != nil {
		return View{}, err
	}
	token, err := v.leader(leader[0])
	if err != nil {
		return View{}, err
	}
	var request []byte
	request = resp.AppendCommand(request, "HGET", keys.State(token), "last")
	request = askEnds(request, keys.Stream) // after the leader's note: it is not older than that
	request = resp.AppendCommand(request, "HGETALL", keys.Segments)
	request = resp.AppendCommand(request, "HGETALL", keys.Epochs)
	var replies [4]resp.Value
	if err := s.readAll(ctx, request, replies[:]); err != nil {
		return View{}, err
	}
	return parseView(v, replies)
}

// Starts are where the log begins, where the part of it does that Redis has and the one that compaction has not looked at, and
// where the one ends that the remote tier has.
type Starts struct {
	Log, Clean int64
	Local      int64 // not below Log
	Tiered     int64
	Largest    Stamp // of the records below Clean
}

// LogStart reads the log start of one life of a partition; zero where another life is there.
func (s *Shard) LogStart(ctx context.Context, keys Keys, topicID string) (Starts, error) {
	v, err := s.reads.value(ctx, logStart(keys))
	if err != nil {
		return Starts{}, fmt.Errorf("read log start: %w", err)
	}
	return parseLogStart(v, topicID)
}

// LogStart reads the log start on a connection of the caller's. done is called exactly once.
func LogStart(c Conn, keys Keys, topicID string, done func(Starts, error)) {
	ask(c, logStart(keys), func(v resp.Value, err error) {
		if err != nil {
			done(Starts{}, fmt.Errorf("read log start: %w", err))
			return
		}
		done(parseLogStart(v, topicID))
	})
}

func logStart(keys Keys) []byte {
	return resp.AppendCommand(nil, "HMGET", keys.Segments, "topic", "start", cleanField, tieredField, localField)
}

func parseLogStart(v resp.Value, topicID string) (Starts, error) {
	if len(v.Elems) != 5 {
		return Starts{}, fmt.Errorf("read log start: %w", resp.ErrProtocol)
	}
	if v.Elems[0].Str != topicID {
		return Starts{}, nil
	}
	var p numbers
	var c Clean
	c.field(cleanField, v.Elems[2])
	s := Starts{Clean: c.To, Largest: c.Largest}
	for i, to := range map[int]*int64{1: &s.Log, 3: &s.Tiered, 4: &s.Local} {
		if !v.Elems[i].Null {
			*to = int64(p.uint(v.Elems[i]))
		}
	}
	s.Local = max(s.Local, s.Log)
	return s, p.err
}

// readAll sends commands on a read connection and takes their answers.
func (s *Shard) readAll(ctx context.Context, request []byte, replies []resp.Value) error {
	err := s.reads.do(ctx, request, func(r *resp.Reader) error {
		for i := range replies {
			v, err := r.Value()
			if err != nil {
				return err
			}
			replies[i] = v
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("look at partition: %w", err)
	}
	return nil
}

// parseView reads the answers after the leader's.
func parseView(v View, replies [4]resp.Value) (View, error) {
	for _, reply := range []resp.Value{replies[0], replies[2], replies[3]} {
		if e, ok := reply.Err().(resp.Error); ok {
			return v, fmt.Errorf("look at partition: %w", refusal(e))
		}
	}
	end, err := parseEnds(replies[1])
	if err != nil {
		return v, fmt.Errorf("look at partition: %w", err)
	}
	v.stream(&end, replies[0])
	if err := v.registry(replies[2]); err != nil {
		return v, err
	}
	return v, v.epochs(replies[3])
}

// stream finds the end of the log: the entry that its leaders noted as the last, or, if that is lost or there is none, the
// stream's own.
func (v *View) stream(end *ends, noted resp.Value) {
	last := end.last
	if v.Exists, v.end = end.exists, last; last == (ID{}) { // 0-0: nothing was ever written
		return
	}
	if id, err := ParseID(noted.Str); err == nil && !id.After(last) {
		last = id
	}
	v.LastSeq = last.Seq
}

// leader reads who leads, and returns the token.
func (v *View) leader(f resp.Value) (token string, err error) {
	if e, ok := f.Err().(resp.Error); ok {
		return "", fmt.Errorf("look at leader: %w", refusal(e))
	}
	if len(f.Elems) != 4 {
		return "", fmt.Errorf("look at leader: %w", resp.ErrProtocol)
	}
	v.TopicID, v.Owner = f.Elems[0].Str, f.Elems[1].Str
	if !f.Elems[2].Null {
		epoch, err := strconv.ParseInt(f.Elems[2].Str, 10, 32)
		if err != nil {
			return "", fmt.Errorf("look at leader: %w", err)
		}
		v.Epoch = int32(epoch)
	}
	return f.Elems[3].Str, nil
}

func (v *View) registry(f resp.Value) error {
	var p numbers
	f.Pairs(func(field string, value resp.Value) {
		switch {
		case field == "start":
			v.LogStart = int64(p.uint(value))
		case field == localField:
			v.LocalStart = int64(p.uint(value))
		case field == tieredField:
			v.TieredEnd = int64(p.uint(value))
		case field == "open":
			v.Open = int64(p.uint(value))
		case strings.HasPrefix(field, "s:"):
			if seg, err := ParseSegment(field[2:], value.Str); err != nil {
				p.err = err
			} else {
				v.Segments = append(v.Segments, seg)
			}
		default:
			v.Clean.field(field, value)
		}
	})
	slices.SortFunc(v.Segments, func(a, b Segment) int { return cmp.Compare(a.Number, b.Number) })
	if p.err != nil {
		return fmt.Errorf("read registry: %w", p.err)
	}
	if n := len(v.Segments); n > 0 && v.Segments[n-1].Last >= EndOffset(v.LastSeq) {
		v.LastSeq = uint64(v.Segments[n-1].Last)
	}
	if v.LocalStart = max(v.LocalStart, v.LogStart); v.LocalStart > EndOffset(v.LastSeq) {
		v.LastSeq = SeqBefore(v.LocalStart)
	}
	return nil
}

// ParseSegment reads a segment's text; earlier versions wrote the first five words only.
func ParseSegment(number, text string) (Segment, error) {
	seg := Segment{MaxTimestamp: -1, Bytes: -1}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return seg, fmt.Errorf("segment number %q: %w", number, err)
	}
	seg.Number = n
	words := []any{&seg.State, &seg.Base, &seg.Last, &seg.FirstMs, &seg.LastMs, &seg.MaxTimestamp, &seg.Bytes}
	if n, err := fmt.Sscan(text, words...); err != nil && (n < 5 || n < len(strings.Fields(text))) {
		return seg, fmt.Errorf("segment %s %q: %w", number, text, err)
	}
	return seg, nil
}

func (v *View) epochs(f resp.Value) error {
	var p numbers
	f.Pairs(func(field string, value resp.Value) {
		epoch, err := strconv.ParseInt(field, 10, 32)
		if err != nil {
			p.err = err
		}
		v.Epochs = append(v.Epochs, Epoch{Epoch: int32(epoch), Start: EndOffset(p.uint(value))})
	})
	slices.SortFunc(v.Epochs, func(a, b Epoch) int { return cmp.Compare(a.Epoch, b.Epoch) })
	if p.err != nil {
		return fmt.Errorf("read epochs: %w", p.err)
	}
	return nil
}

// SegmentOf finds the sealed segment that holds the offset or, in a hole, the first after it. The open one is not among
// them: -1.
func (v *View) SegmentOf(offset int64) int {
	i, _ := slices.BinarySearchFunc(v.Segments, offset, func(s Segment, o int64) int { return cmp.Compare(s.Last, o) })
	if i == len(v.Segments) {
		return -1
	}
	return i
}

// From are the sealed segments that hold an offset or one after it.
func (v *View) From(offset int64) []Segment {
	i := v.SegmentOf(offset)
	if i < 0 {
		return nil
	}
	return v.Segments[i:]
}

// StreamOf names the stream that holds the offset.
func (v *View) StreamOf(keys Keys, offset int64) string {
	if i := v.SegmentOf(offset); i >= 0 {
		return keys.Segment(v.Segments[i].Number)
	}
	return keys.Stream
}

// Streams names the partition's streams, oldest first.
func (v *View) Streams(keys Keys) []string {
	streams := make([]string, 0, len(v.Segments)+1)
	for _, s := range v.Segments {
		streams = append(streams, keys.Segment(s.Number))
	}
	return append(streams, keys.Stream)
}

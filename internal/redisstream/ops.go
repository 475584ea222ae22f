package redisstream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/korvet-io/korvet/internal/redisstream/resp"
)

// Seek finds the first entry of a stream with an offset at or above the one asked for.
func (s *Shard) Seek(ctx context.Context, stream string, offset int64) (id ID, found bool, err error) {
	id, found, _, err = s.seek(ctx, stream, offset, seekBytes)
	return id, found, err
}

// seekBytes bounds a step of a search: about a millisecond of Redis's time, or a few entries.
const seekBytes = 128 << 10

// seek is Seek in steps of so many bytes, and tells how often it looked.
func (s *Shard) seek(ctx context.Context, stream string, offset int64, bytes int) (id ID, found bool, probes int64, err error) {
	begin := []string{strconv.FormatInt(offset, 10), strconv.Itoa(bytes)}
	for args := begin; ; {
		v, err := s.script(ctx, seekScript, []string{stream}, args)
		if err != nil {
			return ID{}, false, probes, fmt.Errorf("seek offset %d: %w", offset, err)
		}
		if len(v.Elems) < 2 {
			return ID{}, false, probes, nil
		}
		probes += v.Elems[1].Int
		if v.Elems[0].Str != "" {
			id, err = ParseID(v.Elems[0].Str)
			return id, err == nil, probes, err
		}
		args = slices.Clip(begin)
		for _, e := range v.Elems[2:] {
			args = append(args, e.Str)
		}
	}
}

// script runs a script on a read connection.
func (s *Shard) script(ctx context.Context, sc script, keys, args []string) (resp.Value, error) {
	v, err := s.reads.value(ctx, sc.command("EVALSHA", sc.sha, keys, args))
	if e, ok := errors.AsType[resp.Error](err); ok && e.Code() == "NOSCRIPT" {
		v, err = s.reads.value(ctx, sc.command("EVAL", sc.text, keys, args))
	}
	return v, err
}

// Delete ends one life of a partition: all its keys go but the tombstone. Doing it again, or when another life is there,
// does nothing.
func (s *Shard) Delete(ctx context.Context, keys Keys, topicID string) error {
	for tries := 0; tries < 10; {
		v, err := s.reads.value(ctx, resp.AppendCommand(nil, "HGET", keys.Leader, "token"))
		if err != nil {
			return fmt.Errorf("read token: %w", err)
		}
		token := v.Str
		view, err := s.Look(ctx, keys)
		if err != nil {
			return err
		}
		if v, err = s.deleteSeen(ctx, keys, topicID, token, &view); err != nil {
			return scriptError("delete partition", err)
		}
		switch {
		case len(v.Elems) > 0 && v.Elems[0].Str == "MORE":
			continue
		case len(v.Elems) > 0 && v.Elems[0].Str != "STALE":
			return nil
		}
		tries++
	}
	return errors.New("delete partition: its owner or its open segment changed ten times meanwhile")
}

// deleteStep is how many sealed segments are deleted at once: about a millisecond of Redis's time.
const deleteStep = 256

// deleteSeen runs the deletion of what was seen of a partition, or a step of it where that is much.
func (s *Shard) deleteSeen(ctx context.Context, keys Keys, topicID, token string, view *View) (resp.Value, error) {
	k := []string{keys.Stream, keys.Leader, keys.State(token), keys.Epochs, keys.Segments, keys.Copy, keys.Dictionaries}
	end := ""
	if view.Exists {
		end = view.end.String()
	}
	args := []string{token, topicID, decimal(view.Open), end}
	some := view.Segments[:min(len(view.Segments), deleteStep)]
	for _, seg := range some {
		k = append(k, keys.Segment(seg.Number), keys.Times(seg.Number))
		if len(some) < len(view.Segments) {
			args = append(args, decimal(seg.Number))
		}
	}
	return s.script(ctx, deleteScript, k, args)
}

// Size tells the bytes that streams use in Redis; of very long ones it is an estimate, since measuring looks at each node.
// Streams that are not there count nothing.
func (s *Shard) Size(ctx context.Context, streams []string) (total int64, err error) {
	weights, err := s.Weigh(ctx, streams, 0)
	for _, bytes := range weights {
		total += bytes
	}
	return total, err
}

// Registry reads the registry and the leader epochs; the rest of the view is not filled in.
func Registry(c Conn, keys Keys, done func(View, error)) {
	request := resp.AppendCommand(nil, "HGETALL", keys.Segments)
	request = resp.AppendCommand(request, "HGETALL", keys.Epochs)
	askAll(c, request, 2, func(replies []resp.Value, err error) {
		v := View{Exists: true, LastSeq: BeforeFirst}
		if err == nil {
			err = v.registry(replies[0])
		}
		if err == nil {
			err = v.epochs(replies[1])
		}
		if err != nil {
			err = fmt.Errorf("read registry: %w", err)
		}
		done(v, err)
	})
}

// ErrRolled means that a segment was rolled while something was read: read again.
var ErrRolled = errors.New("a segment was rolled meanwhile")

// State walks the fields of a token's state hash and those of the sealed segments' time indexes (as t:<offset>, like the
// open segment's), a thousand at a time, and calls done once at the end: with ErrRolled when fields may have moved since
// the view was read. Redis may give a field twice.
func State(c Conn, keys Keys, token string, view View, field func(name, value string), done func(error)) {
	hashes := []string{keys.State(token)}
	for _, s := range view.Segments {
		hashes = append(hashes, keys.Times(s.Number))
	}
	var page func(k int, cursor string)
	page = func(k int, cursor string) {
		if k == len(hashes) {
			unrolled(c, keys, view.Open, done)
			return
		}
		ask(c, resp.AppendCommand(nil, "HSCAN", hashes[k], cursor, "COUNT", "1000"), func(v resp.Value, err error) {
			if err == nil && len(v.Elems) != 2 {
				err = resp.ErrProtocol
			}
			if err != nil {
				done(fmt.Errorf("read state: %w", err))
				return
			}
			v.Elems[1].Pairs(func(name string, value resp.Value) {
				if k > 0 {
					name = "t:" + name
				}
				field(name, value.Str)
			})
			if next := v.Elems[0].Str; next != "0" {
				page(k, next)
				return
			}
			page(k+1, "0")
		})
	}
	page(0, "0")
}

// unrolled tells whether a segment is still the open one.
func unrolled(c Conn, keys Keys, open int64, done func(error)) {
	ask(c, resp.AppendCommand(nil, "HGET", keys.Segments, "open"), func(v resp.Value, err error) {
		if err == nil && cmp.Or(v.Str, "0") != strconv.FormatInt(open, 10) {
			err = ErrRolled
		}
		done(err)
	})
}

// RemoveStates drops the state hashes of dead tokens. Nothing depends on the answer.
func RemoveStates(c Conn, keys Keys, tokens []string) {
	command := []string{"UNLINK"}
	for _, t := range tokens {
		command = append(command, keys.State(t))
	}
	ask(c, resp.AppendCommand(nil, command...), func(resp.Value, error) {})
}

// RemoveEpochs drops leader epochs of which no record is left. Nothing depends on the answer.
func RemoveEpochs(c Conn, keys Keys, epochs []int32) {
	command := []string{"HDEL", keys.Epochs}
	for _, e := range epochs {
		command = append(command, strconv.Itoa(int(e)))
	}
	ask(c, resp.AppendCommand(nil, command...), func(resp.Value, error) {})
}

// RemoveFields drops fields of a token's state hash. Late, it lands in a dead key. Nothing depends on the answer.
func RemoveFields(c Conn, keys Keys, token string, names []string) {
	ask(c, resp.AppendCommand(nil, append([]string{"HDEL", keys.State(token)}, names...)...), func(resp.Value, error) {})
}

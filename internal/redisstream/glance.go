package redisstream

import (
	"context"
	"errors"
	"fmt"

	"github.com/korvet-io/korvet/internal/redisstream/resp"
)

// Glance is what one pipelined look of the worker's tick sees of a partition. No read touches a sealed segment's key, and
// leader epochs are not read.
type Glance struct {
	View
	First, Last ID     // of the open stream's first and last entry; zero when it has none
	Length      int64  // entries of the open stream
	Now         uint64 // Redis's time in ms
	Copied      bool   // there is a copy of one of the streams that a rewrite makes, or left
	Err         error  // why this partition could not be looked at; nothing else holds then
}

// glancePage bounds how many partitions one request looks at: some 5 ms of Redis's time, in which it serves others, too.
const glancePage = 256

// Glances looks at partitions, two round trips for each page of them. An error is one of the connection; what is wrong
// with a single partition is in its Glance.
func (s *Shard) Glances(ctx context.Context, keys []Keys) ([]Glance, error) {
	all := make([]Glance, 0, len(keys))
	for len(keys) > 0 {
		page := keys[:min(glancePage, len(keys))]
		keys = keys[len(page):]
		tokens, err := s.tokens(ctx, page)
		if err != nil {
			return nil, err
		}
		var request []byte
		for i, k := range page {
			verb, body := "EVALSHA", glanceScript.sha
			if i == 0 { // the text makes Redis remember the script for those that follow
				verb, body = "EVAL", glanceScript.text
			}
			request = append(request, glanceScript.command(verb, body, []string{k.Stream, k.Leader, k.Segments, k.State(tokens[i]), k.Copy}, nil)...)
		}
		replies := make([]resp.Value, len(page))
		if err := s.readAll(ctx, request, replies); err != nil {
			return nil, err
		}
		for _, v := range replies {
			all = append(all, parseGlance(v))
		}
	}
	return all, nil
}

// tokens reads the token of each partition. One that cannot be read is empty: the look itself tells why.
func (s *Shard) tokens(ctx context.Context, keys []Keys) ([]string, error) {
	var request []byte
	for _, k := range keys {
		request = resp.AppendCommand(request, "HGET", k.Leader, "token")
	}
	replies := make([]resp.Value, len(keys))
	if err := s.readAll(ctx, request, replies); err != nil {
		return nil, err
	}
	tokens := make([]string, len(keys))
	for i, v := range replies {
		if v.Err() == nil {
			tokens[i] = v.Str
		}
	}
	return tokens, nil
}

func parseGlance(v resp.Value) Glance {
	g := Glance{View: View{LastSeq: BeforeFirst}}
	if e, ok := errors.AsType[resp.Error](v.Err()); ok {
		return Glance{Err: fmt.Errorf("look at partition: %w", refusal(e))}
	}
	if len(v.Elems) != 8 {
		return Glance{Err: fmt.Errorf("look at partition: %w", resp.ErrProtocol)}
	}
	if g.Err = g.parse(v.Elems); g.Err != nil {
		return Glance{Err: fmt.Errorf("look at partition: %w", g.Err)}
	}
	return g
}

func (g *Glance) parse(e []resp.Value) error {
	var p numbers
	if _, err := g.leader(resp.Value{Elems: []resp.Value{e[0], e[1], e[2], {}}}); err != nil {
		return err
	}
	stream := e[4].Elems
	if len(stream) == 4 {
		g.Exists = true
		info := resp.Value{Elems: []resp.Value{{Str: "last-generated-id"}, stream[0]}}
		if err := g.stream(info, e[3]); err != nil {
			return err
		}
		g.Length = stream[1].Int
		if g.Length > 0 {
			var err error
			if g.First, err = ParseID(stream[2].Str); err != nil {
				return err
			}
			if g.Last, err = ParseID(stream[3].Str); err != nil {
				return err
			}
		}
	}
	g.Now, g.Copied = p.uint(e[6]), e[7].Int == 1
	if p.err != nil {
		return p.err
	}
	return g.registry(e[5])
}

package redisstream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/korvet-io/korvet/internal/redisstream/resp"
)

// Glance is what one pipelined look of the worker's tick sees of a partition: of one open segment, and of about one moment.
// No read touches a sealed segment's key.
type Glance struct {
	View
	First, Last ID     // of the open stream's first and last entry; zero when it has none
	Length      int64  // entries of the open stream
	Now         uint64 // Redis's time in ms
	Copied      bool   // there is a copy of one of the streams that a rewrite makes, or left
	// Dictionaries is how many zstd dictionaries the partition holds.
	Dictionaries int64
	Err          error // why this partition could not be looked at; nothing else holds then
}

// glancePage bounds how many streams one request measures, or tokens it reads: Redis serves others in between.
const glancePage = 256

// looksPage bounds how many partitions one request looks at: the first and the last entry of each are in the answer, which
// Redis holds until it is taken.
const looksPage = 32

// looksCommands are those of a look at one partition.
const looksCommands = 9

// Glances looks at partitions, a few in a round trip. An error is one of the connection; what is wrong
// with a single partition is in its Glance.
func (s *Shard) Glances(ctx context.Context, keys []Keys) ([]Glance, error) {
	all := make([]Glance, 0, len(keys))
	for page := range slices.Chunk(keys, glancePage) {
		tokens, err := s.tokens(ctx, page)
		if err != nil {
			return nil, err
		}
		for i := 0; i < len(page); i += looksPage {
			n := min(len(page), i+looksPage)
			if all, err = s.looks(ctx, page[i:n], tokens[i:n], all); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// looks looks at a few partitions.
func (s *Shard) looks(ctx context.Context, page []Keys, tokens []string, all []Glance) ([]Glance, error) {
	var request []byte
	for i, k := range page {
		request = resp.AppendCommand(request, "HGET", k.Segments, "open")
		request = resp.AppendCommand(request, "HMGET", k.Leader, "topic", "owner", "epoch")
		request = resp.AppendCommand(request, "HGET", k.State(tokens[i]), "last")
		request = askEnds(request, k.Stream) // after the leader's note: it is not older than that
		request = resp.AppendCommand(request, "HGETALL", k.Segments)
		request = resp.AppendCommand(request, "TIME")
		request = resp.AppendCommand(request, "EXISTS", k.Copy)
		request = resp.AppendCommand(request, "HLEN", k.Dictionaries)
		request = resp.AppendCommand(request, "HGETALL", k.Epochs) // after the stream: they are not older than its end
	}
	replies := make([]resp.Value, looksCommands*len(page))
	if err := s.readAll(ctx, request, replies); err != nil {
		return nil, err
	}
	for i := range page {
		g := parseGlance(replies[looksCommands*i:][:looksCommands])
		if errors.Is(g.Err, ErrRolled) { // between two of these commands
			return s.looks(ctx, page[i:], tokens[i:], all)
		}
		all = append(all, g)
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

// parseGlance reads a look's answers: number of the open segment, leader, last entry noted, stream, registry, time, whether
// the copy of a rewrite is there, dictionaries held, leader epochs.
func parseGlance(v []resp.Value) Glance {
	g := Glance{View: View{LastSeq: BeforeFirst}}
	if g.Err = g.parse(v); g.Err != nil {
		return Glance{Err: fmt.Errorf("look at partition: %w", g.Err)}
	}
	return g
}

func (g *Glance) parse(v []resp.Value) error {
	if len(v) != looksCommands {
		return resp.ErrProtocol
	}
	for i := range v {
		if refused, ok := v[i].Err().(resp.Error); ok && i != 3 {
			return refusal(refused)
		}
	}
	leader := resp.Value{Elems: append(v[1].Elems, resp.Value{})} // the token was read before
	if _, err := g.leader(leader); err != nil {
		return err
	}
	end, err := parseEnds(v[3])
	if err != nil {
		return err
	}
	g.stream(&end, v[2])
	if g.Length = end.length; g.Length > 0 {
		g.First, g.Last = end.first, end.tail
	}
	var p numbers
	if len(v[5].Elems) != 2 {
		return resp.ErrProtocol
	}
	g.Now = p.uint(v[5].Elems[0])*1000 + p.uint(v[5].Elems[1])/1000
	g.Copied, g.Dictionaries = v[6].Int == 1, v[7].Int
	if p.err != nil {
		return p.err
	}
	if err := g.registry(v[4]); err != nil {
		return err
	}
	if err := g.epochs(v[8]); err != nil {
		return err
	}
	if cmp.Or(v[0].Str, "0") != decimal(g.Open) {
		return ErrRolled
	}
	return nil
}

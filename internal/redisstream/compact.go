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

// What the steps of a compaction end with beside ErrDeleted, ErrFenced and errors of Redis. None has changed anything then.
var (
	ErrPending = errors.New("native readers have entries of the stream pending")
	ErrChanged = errors.New("entries went from the stream meanwhile")
)

// Compaction are the writes of one compaction pass over a partition. Each is one of the worker's scripts, which also
// compares the number of the open segment: after a roll nothing the pass knows holds, which is ErrRolled.
type Compaction struct {
	Shard *Shard
	Keys  Keys
	Claim
	Open int64 // number of the open segment
}

// Stream names a stream of the partition by its number.
func (c *Compaction) Stream(number int64) string {
	if number == c.Open {
		return c.Keys.Stream
	}
	return c.Keys.Segment(number)
}

// run runs a script and returns its answer with the first word.
func (c *Compaction) run(ctx context.Context, what string, sc script, more []string, args ...string) (word string, rest []resp.Value, err error) {
	word, rest, err = c.Shard.act(ctx, sc, c.Keys, c.Claim, more, args)
	switch {
	case err != nil:
	case word == "ROLLED":
		err = ErrRolled
	case word == "PENDING":
		err = ErrPending
	case word == "CHANGED":
		err = ErrChanged
	case len(rest) == 0 && sc != compactNoteScript:
		err = resp.ErrProtocol
	}
	if err != nil {
		return word, nil, fmt.Errorf("%s: %w", what, err)
	}
	return word, rest, nil
}

// decimal is how scripts take numbers.
func decimal(n int64) string { return strconv.FormatInt(n, 10) }

// MaxRemoved is how many entries one Remove takes: about a millisecond of Redis's time.
const MaxRemoved = 256

// Remove takes up to MaxRemoved entries out of a stream, whose density was now before. It returns how many were there.
func (c *Compaction) Remove(ctx context.Context, number int64, now Density, ids []ID) (int64, error) {
	args := []string{decimal(c.Open), decimal(number), decimal(now.Entries), decimal(now.Nodes)}
	for _, id := range ids {
		args = append(args, id.String())
	}
	_, v, err := c.run(ctx, "remove entries", compactRemoveScript, []string{c.Stream(number)}, args...)
	if err != nil {
		return 0, err
	}
	return v[0].Int, nil
}

// Note stores in the registry what a pass has done. Streams named by holes are to be written anew; what is known of streams
// that are not there any more goes.
func (c *Compaction) Note(ctx context.Context, v *View, clean *Clean) error {
	args := []string{decimal(c.Open), cleanField, clean.text(), tombstonesField, clean.tombstonesText()}
	for number, fill := range clean.Holes {
		args = append(args, holesPrefix+decimal(number), fill)
	}
	for number := range v.Clean.Dense {
		sealed := slices.ContainsFunc(v.Segments, func(s Segment) bool { return s.Number == number })
		if n := decimal(number); number != c.Open && !sealed {
			args = append(args, densePrefix+n, "", holesPrefix+n, "")
		}
	}
	_, _, err := c.run(ctx, "note compaction", compactNoteScript, nil, args...)
	return err
}

// Settle tells the registry how large a sealed segment is after a compaction, and drops one without records. It returns
// how many entries are left.
func (c *Compaction) Settle(ctx context.Context, number, bytes int64) (left int64, err error) {
	more := []string{c.Stream(number), c.Keys.Times(number)}
	_, v, err := c.run(ctx, "settle segment", compactSettleScript, more, decimal(number), decimal(bytes))
	if err != nil {
		return 0, err
	}
	return v[0].Int, nil
}

// Bounds of one step of a rewrite: about two milliseconds of Redis's time.
const (
	rewriteEntries = 256
	rewriteBytes   = 128 << 10
)

// Rewrite writes a stream anew, so that the holes that removed entries left give their memory back. The copy takes the
// stream's place in one script, in which nothing of the stream changes but its memory. It returns the entries copied.
func (c *Compaction) Rewrite(ctx context.Context, number int64) (int64, error) {
	more := []string{c.Stream(number), c.Keys.Copy}
	var copied int64
	for last := ""; ; {
		token, end, err := c.end(ctx, number)
		if err != nil {
			return 0, err
		}
		word, v, err := c.run(ctx, "rewrite stream", compactCopyScript, more, decimal(c.Open), decimal(number), last,
			strconv.Itoa(rewriteEntries), strconv.Itoa(rewriteBytes), decimal(copied), token, end)
		if err != nil {
			return 0, err
		}
		if word == "DONE" {
			return v[0].Int, nil
		}
		if len(v) != 2 {
			return 0, scriptError("rewrite stream", nil)
		}
		last, copied = v[0].Str, v[1].Int
	}
}

// end reads the token of the partition's fence, and after it the last generated id of a stream.
func (c *Compaction) end(ctx context.Context, number int64) (token, end string, err error) {
	var answers [2]resp.Value
	request := resp.AppendCommand(nil, "HGET", c.Keys.Leader, "token")
	if err := c.Shard.readAll(ctx, askEnds(request, c.Stream(number)), answers[:]); err != nil {
		return "", "", err
	}
	if e, ok := errors.AsType[resp.Error](answers[0].Err()); ok {
		return "", "", scriptError("read token", e)
	}
	seen, err := parseEnds(answers[1])
	return answers[0].Str, cmp.Or(seen.end(), "0-0"), err
}

// Measure tells how many entries a stream of the partition has in how many nodes; none where it is not there.
func (c *Compaction) Measure(ctx context.Context, number int64) (Density, error) {
	v, err := c.Shard.reads.value(ctx, resp.AppendCommand(nil, "XINFO", "STREAM", c.Stream(number)))
	if e, ok := errors.AsType[resp.Error](err); ok && strings.Contains(string(e), "no such key") {
		return Density{}, nil
	}
	if err != nil {
		return Density{}, fmt.Errorf("measure stream: %w", err)
	}
	var d Density
	v.Pairs(func(field string, value resp.Value) {
		switch field {
		case "length":
			d.Entries = value.Int
		case "radix-tree-keys":
			d.Nodes = value.Int
		}
	})
	return d, nil
}

package migrate

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Checked is what the verification of one partition of the target found. The checksums are SHA-256 over the records that
// both topics have, in the target's order: key, value, headers and timestamp.
type Checked struct {
	Partition    int32  `json:"partition"`
	Records      int64  `json:"records"`       // compared
	SourceGone   int64  `json:"source_gone"`   // copied, and dropped by the source since
	TargetGone   int64  `json:"target_gone"`   // dropped by the target's own retention or compaction
	Wrong        int64  `json:"wrong"`         // missing, or not as in the source
	FirstProblem string `json:"first_problem"` // empty: none
	Source       string `json:"source_sha256"`
	Target       string `json:"target_sha256"`
}

// verifier compares both topics batch by batch as the journal tells what went where. It reads everything anew.
type verifier struct {
	from, to       *Cluster
	source, target *topic
	reader         *journal
	state          *state
	place          *placer
	configs        map[string]string // of the target
	parts          []*checking
	cached         *Round // the round whose slices are in memory
	slices         map[int32][]*kgo.Record
}

// checking is the verification of one partition.
type checking struct {
	Checked
	source, target hash.Hash
}

func newVerifier(ctx context.Context, from, to *Cluster, source, target *topic, j *topic) (*verifier, error) {
	configs, err := effective(ctx, to, target.name)
	if err != nil {
		return nil, err
	}
	v := &verifier{from: from, to: to, source: source, target: target, configs: configs, place: newPlacer(len(source.leaders), len(target.leaders))}
	v.reader = &journal{cluster: to, topic: j}
	for p := range target.leaders {
		v.parts = append(v.parts, &checking{Checked: Checked{Partition: int32(p)}, source: sha256.New(), target: sha256.New()})
	}
	return v, nil
}

// advance verifies what the journal tells of, from where the last call ended.
func (v *verifier) advance(ctx context.Context) error {
	if v.state == nil {
		v.state = newState(nil)
	}
	v.state.moved = func(one landed) error { return v.check(ctx, one) }
	return v.reader.read(ctx, v.state.apply)
}

// result gives the checksums, and an error when anything is wrong.
func (v *verifier) result() ([]Checked, error) {
	var all []Checked
	var wrong []string
	for _, c := range v.parts {
		c.Source, c.Target = hex.EncodeToString(c.source.Sum(nil)), hex.EncodeToString(c.target.Sum(nil))
		all = append(all, c.Checked)
		if c.Wrong > 0 || c.Source != c.Target {
			wrong = append(wrong, fmt.Sprintf("partition %d: %d records, first %s", c.Partition, c.Wrong, c.FirstProblem))
		}
	}
	if len(wrong) > 0 {
		return all, fmt.Errorf("topics %s and %s differ: %s", v.source.name, v.target.name, strings.Join(wrong, "; "))
	}
	return all, nil
}

// check compares one batch with the records of the source that it was made of.
func (v *verifier) check(ctx context.Context, one landed) error {
	if err := v.load(ctx, one.round); err != nil {
		return err
	}
	records, err := readRange(ctx, v.to, v.target, one.part.Target, one.part.Base, one.part.Base+one.part.Count)
	if err != nil {
		return err
	}
	copied := byOffset(records)
	absent := int64(-1) // the highest offset that the target lacks
	for _, p := range one.pieces {
		original := byOffset(v.slices[p.Source])
		for i := range p.Offsets.Count() {
			if at := p.Base + i; !v.compare(original[p.Offsets.At(i)], copied[at], p, at) {
				absent = at
			}
		}
	}
	if absent >= 0 {
		return v.excuse(ctx, one.part.Target, absent)
	}
	return nil
}

func byOffset(records []*kgo.Record) map[int64]*kgo.Record {
	all := make(map[int64]*kgo.Record, len(records))
	for _, r := range records {
		all[r.Offset] = r
	}
	return all
}

// load reads the slices of a round, and finds records that no batch has.
func (v *verifier) load(ctx context.Context, round *Round) error {
	if v.cached == round {
		return nil
	}
	v.cached, v.slices = round, map[int32][]*kgo.Record{}
	for _, s := range round.Slices {
		records, err := readRange(ctx, v.from, v.source, s.Partition, s.From, s.To)
		if err != nil {
			return err
		}
		v.slices[s.Partition] = records
		for _, r := range records {
			if !round.Replaces && !s.has(r.Offset) {
				v.parts[v.place.place(r)].problem(fmt.Sprintf("%s-%d offset %d, which was not copied", v.source.name, r.Partition, r.Offset))
			}
		}
	}
	return nil
}

func (s *Slice) has(offset int64) bool {
	for _, p := range s.Records {
		if _, ok := p.Offsets.Rank(offset); ok {
			return true
		}
	}
	return false
}

func (c *checking) problem(what string) {
	if c.Wrong++; c.Wrong == 1 {
		c.FirstProblem = what
	}
}

// compare takes a record and its copy into the checksums, where both are there. It tells whether the target has it, or
// may lack it because the source does, too.
func (v *verifier) compare(original, copied *kgo.Record, p Piece, at int64) bool {
	c := v.parts[p.Target]
	switch {
	case original == nil:
		c.SourceGone++
		return true
	case copied == nil:
		c.TargetGone++
		return false
	}
	c.Records++
	timeless := v.configs["message.timestamp.type"] == logAppendTime
	a, b := content(original, timeless), content(copied, timeless)
	c.source.Write(a)
	c.target.Write(b)
	if !bytes.Equal(a, b) || v.place.place(original) != p.Target {
		c.problem(fmt.Sprintf("%s-%d offset %d, which is not %s-%d offset %d", v.target.name, p.Target, at, v.source.name, p.Source, original.Offset))
	}
	return true
}

// content is what must be the same in both topics.
func content(r *kgo.Record, timeless bool) []byte {
	ms := r.Timestamp.UnixMilli()
	if timeless {
		ms = 0
	}
	return appendRecord(nil, r, 0, ms)
}

// excuse tells whether the target may lack a record: below its log's start, or anywhere when it is compacted.
func (v *verifier) excuse(ctx context.Context, target int32, absent int64) error {
	starts, err := v.to.offsets(ctx, v.target, logStart)
	if err != nil {
		return err
	}
	if absent >= starts[target] && !strings.Contains(v.configs["cleanup.policy"], "compact") {
		v.parts[target].problem(fmt.Sprintf("%s-%d offset %d, which is missing", v.target.name, target, absent))
	}
	return nil
}

package migrate

import "fmt"

// landed is a batch that is in the target.
type landed struct {
	round  *Round
	part   Part
	pieces []Piece
}

// resolver tells which of the journal's batches are in the target. An intent tells where its batch begins; so the next
// intent for that partition, or the log's end, tells whether the one before it was appended. Of several intents for the
// same place at most one was: the broker takes each sequence number of a producer once.
type resolver struct {
	held map[int32][]landed // by target partition: the intents for the last place
}

func newResolver() *resolver { return &resolver{held: map[int32][]landed{}} }

// add takes a round and passes on the batches of earlier ones that it shows to be in the target.
func (r *resolver) add(round *Round, each func(landed) error) error {
	pieces := map[int32][]Piece{}
	for _, p := range round.Pieces() {
		pieces[p.Target] = append(pieces[p.Target], p)
	}
	for _, part := range round.Parts {
		one := landed{round: round, part: part, pieces: pieces[part.Target]}
		held := r.held[part.Target]
		if len(held) > 0 && held[0].part.Base == part.Base {
			r.held[part.Target] = append(held, one)
			continue
		}
		if err := r.settle(part.Target, part.Base, each); err != nil {
			return err
		}
		r.held[part.Target] = []landed{one}
	}
	return nil
}

// settle passes on the batch after which a partition ends at an offset, and forgets the other intents for its place.
func (r *resolver) settle(target int32, end int64, each func(landed) error) error {
	if err := r.explains(target, end); err != nil {
		return err
	}
	held := r.held[target]
	delete(r.held, target)
	for i := len(held) - 1; i >= 0; i-- {
		if held[i].part.Base+held[i].part.Count == end {
			return each(held[i])
		}
	}
	return nil
}

// explains tells whether a partition of the target may end at an offset.
func (r *resolver) explains(target int32, end int64) error {
	held := r.held[target]
	for _, one := range held {
		if one.part.Base+one.part.Count == end {
			return nil
		}
	}
	if end != base(held) {
		return fmt.Errorf("partition %d ends at %d, which the journal does not explain: it knows of %s", target, end, places(held))
	}
	return nil
}

// pending is the newest intent for a partition that is not in the target when its log ends at an offset.
func (r *resolver) pending(target int32, end int64) (landed, bool) {
	held := r.held[target]
	if len(held) == 0 || held[0].part.Base != end {
		return landed{}, false
	}
	return held[len(held)-1], true
}

// base is where the intents for the last place begin: a partition without any is empty.
func base(held []landed) int64 {
	if len(held) == 0 {
		return 0
	}
	return held[0].part.Base
}

func places(held []landed) string {
	text := fmt.Sprintf("%d", base(held))
	for _, one := range held {
		text += fmt.Sprintf(" and %d", one.part.Base+one.part.Count)
	}
	return text
}

package migrate

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// formatVersion is that of the journal's entries.
const formatVersion = 1

// Entry is one record of the journal. Exactly one of the pointers is set.
type Entry struct {
	Run     *Run       `json:"run,omitempty"`
	Begin   *Begin     `json:"begin,omitempty"`
	Target  *Created   `json:"target,omitempty"`
	Round   *Round     `json:"round,omitempty"`
	Cutover *Cutover   `json:"cutover,omitempty"`
	Group   *GroupDone `json:"group,omitempty"`
}

// Run says that a process has taken the migration over: from then on the broker refuses entries of those before it.
type Run struct {
	Producer int64     `json:"producer"` // the id with which all is appended
	Epoch    int16     `json:"epoch"`    // in the journal; in the target it is always 0
	Nonce    string    `json:"nonce"`    // tells apart two that took the same epoch
	At       time.Time `json:"at"`
}

// Begin says what is migrated.
type Begin struct {
	Format     int     `json:"format"`
	Source     string  `json:"source"`
	SourceID   string  `json:"source_id"`
	Target     string  `json:"target"`
	Partitions int32   `json:"partitions"` // of the target
	Starts     []int64 `json:"starts"`     // log start offsets of the source, by partition
}

// Created says which topic is the target.
type Created struct {
	ID string `json:"id"`
}

// Round is the intent to append one batch each to some partitions of the target. It is stored before any is sent.
type Round struct {
	Slices []Slice `json:"slices"`
	Parts  []Part  `json:"parts"`
	// Replaces tells that the round before it did not reach all its partitions, and that the source has dropped records
	// of it since: these parts are what is left of them.
	Replaces bool `json:"replaces,omitempty"`
}

// Slice is what a round takes of a partition of the source: everything in [From, To).
type Slice struct {
	Partition int32    `json:"partition"`
	From      int64    `json:"from"`
	To        int64    `json:"to"`
	Records   []Placed `json:"records"`
}

// Placed are the records of a slice that go to one partition of the target, in this order.
type Placed struct {
	Target  int32 `json:"target"`
	Offsets Runs  `json:"offsets"`
}

// Part is a batch for a partition of the target: the records of the slices in their order.
type Part struct {
	Target int32 `json:"target"`
	Base   int64 `json:"base"` // the offset its first record gets
	Count  int64 `json:"count"`
}

// Cutover says that everything was copied, and where both logs ended then.
type Cutover struct {
	Source []int64   `json:"source"`
	Target []int64   `json:"target"`
	At     time.Time `json:"at"`
}

// GroupDone says that a group's offsets were translated.
type GroupDone struct {
	Name string `json:"name"`
}

// Piece are records of one partition of the source that follow each other in one of the target.
type Piece struct {
	Source, Target int32
	Offsets        Runs
	Base           int64 // of the first one, in the target
}

// Pieces tells where each record of a round goes.
func (r *Round) Pieces() []Piece {
	next := map[int32]int64{}
	for _, p := range r.Parts {
		next[p.Target] = p.Base
	}
	var pieces []Piece
	for _, s := range r.Slices {
		for _, placed := range s.Records {
			pieces = append(pieces, Piece{Source: s.Partition, Target: placed.Target, Offsets: placed.Offsets, Base: next[placed.Target]})
			next[placed.Target] += placed.Offsets.Count()
		}
	}
	return pieces
}

// decodeEntry reads a record of the journal. Whoever wrote it, what it returns can be worked with.
func decodeEntry(text []byte) (Entry, error) {
	var e Entry
	if err := json.Unmarshal(text, &e); err != nil {
		return e, fmt.Errorf("decode entry: %w", err)
	}
	kinds := 0
	for _, set := range []bool{e.Run != nil, e.Begin != nil, e.Target != nil, e.Round != nil, e.Cutover != nil, e.Group != nil} {
		if set {
			kinds++
		}
	}
	switch {
	case kinds != 1:
		return e, fmt.Errorf("decode entry: %d kinds in one", kinds)
	case e.Begin != nil && e.Begin.Format != formatVersion:
		return e, fmt.Errorf("decode entry: format %d, this version reads %d", e.Begin.Format, formatVersion)
	case e.Begin != nil && (len(e.Begin.Starts) == 0 || e.Begin.Partitions < 1):
		return e, errors.New("decode entry: a migration without partitions")
	case e.Round != nil:
		return e, e.Round.check()
	}
	return e, nil
}

// check tells whether a round's slices and parts agree.
func (r *Round) check() error {
	counts := map[int32]int64{}
	for _, s := range r.Slices {
		if s.Partition < 0 || s.From < 0 || s.From > s.To {
			return fmt.Errorf("decode entry: slice %d-%d of partition %d", s.From, s.To, s.Partition)
		}
		for _, placed := range s.Records {
			if placed.Offsets.Count() == 0 || placed.Offsets.First() < s.From || placed.Offsets.Last() >= s.To {
				return fmt.Errorf("decode entry: records outside of slice %d-%d of partition %d", s.From, s.To, s.Partition)
			}
			counts[placed.Target] += placed.Offsets.Count()
		}
	}
	for _, p := range r.Parts {
		if p.Target < 0 || p.Base < 0 || p.Count < 1 || counts[p.Target] != p.Count {
			return fmt.Errorf("decode entry: %d records for partition %d, of which %d are named", p.Count, p.Target, counts[p.Target])
		}
		delete(counts, p.Target)
	}
	if len(counts) > 0 {
		return errors.New("decode entry: records for a partition without a batch")
	}
	return nil
}

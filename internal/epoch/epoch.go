// Package epoch compares histories of a partition's leader epochs: they tell up to which offset two copies of a log are the same.
package epoch

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Epoch is one leader epoch and the offset it starts at.
type Epoch struct {
	Epoch int32
	Start int64
}

// History is what is known of a partition's leader epochs, by rising epoch. What was before the first of them is not known; an
// empty one tells nothing.
type History []Epoch

// At is the epoch of the record at an offset; false where it is not known.
func (h History) At(offset int64) (epoch int32, known bool) {
	for i := len(h) - 1; i >= 0; i-- {
		if h[i].Start <= offset {
			return h[i].Epoch, true
		}
	}
	return 0, false
}

// Newest is the highest epoch; -1: none is known.
func (h History) Newest() int32 {
	if len(h) == 0 {
		return -1
	}
	return h[len(h)-1].Epoch
}

// Fork is the offset up to which two logs that end at these offsets are the same: where the shorter ends, unless records below
// that were written under different epochs. An epoch is never given twice, so that what was written under the same one is the
// same. What only one of them knows counts as the same.
func Fork(a History, aEnd int64, b History, bEnd int64) int64 {
	fork := min(aEnd, bEnd)
	if len(a) == 0 || len(b) == 0 {
		return fork
	}
	from := max(a.first(), b.first())
	differ := func(offset int64) bool {
		one, _ := a.At(offset)
		other, _ := b.At(offset)
		return one != other
	}
	for _, h := range []History{a, b} {
		for _, e := range h {
			if at := max(e.Start, from); at < fork && differ(at) {
				fork = at
			}
		}
	}
	return fork
}

// first is the first offset whose epoch is known. Starts do not fall while epochs rise.
func (h History) first() int64 {
	first := h[0].Start
	for _, e := range h {
		first = min(first, e.Start)
	}
	return first
}

// Kept bounds how many epochs Text writes: the newest.
const Kept = 100

// Below is the history of the records below an offset: the newest Kept epochs of it.
func (h History) Below(end int64) History {
	var list History
	for _, e := range h {
		if e.Start >= end {
			continue
		}
		if n := len(list); n > 0 && list[n-1].Start >= e.Start { // no record is of it
			list[n-1] = e
			continue
		}
		list = append(list, e)
	}
	return list[max(0, len(list)-Kept):]
}

// Text is the history as Parse reads it: <epoch>:<first offset>, separated by commas.
func (h History) Text() string {
	var b strings.Builder
	for i, e := range h {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%d:%d", e.Epoch, e.Start)
	}
	return b.String()
}

// Parse reads a history. "" is one that tells nothing.
func Parse(text string) (History, error) {
	if text == "" {
		return nil, nil
	}
	var h History
	for word := range strings.SplitSeq(text, ",") {
		number, start, _ := strings.Cut(word, ":")
		n, err := strconv.ParseInt(number, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("parse leader epoch %q: %w", word, err)
		}
		s, err := strconv.ParseInt(start, 10, 64)
		if err != nil || s < 0 || n < 0 {
			return nil, fmt.Errorf("parse leader epoch %q: no epoch and offset", word)
		}
		h = append(h, Epoch{int32(n), s})
	}
	slices.SortFunc(h, func(a, b Epoch) int { return cmp.Compare(a.Epoch, b.Epoch) })
	return h, nil
}

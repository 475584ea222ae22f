package migrate

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"sort"
)

// run is offsets that follow each other without a hole.
type run struct {
	first, count int64
	before       int64 // offsets in the runs before this one
}

// Runs is an ascending set of offsets. Its text form is the base64 of varints: of each run the distance from the end of
// the one before it, and its length.
type Runs struct{ list []run }

// Add adds an offset above all others.
func (r *Runs) Add(offset int64) { r.addRun(offset, 1) }

func (r *Runs) addRun(first, count int64) {
	if n := len(r.list); n > 0 {
		last := &r.list[n-1]
		if last.first+last.count == first {
			last.count += count
			return
		}
		r.list = append(r.list, run{first, count, last.before + last.count})
		return
	}
	r.list = append(r.list, run{first, count, 0})
}

// Count is the number of offsets.
func (r *Runs) Count() int64 {
	if len(r.list) == 0 {
		return 0
	}
	last := r.list[len(r.list)-1]
	return last.before + last.count
}

// First is the lowest offset, of a set that is not empty.
func (r *Runs) First() int64 { return r.list[0].first }

// Last is the highest offset, of a set that is not empty.
func (r *Runs) Last() int64 {
	last := r.list[len(r.list)-1]
	return last.first + last.count - 1
}

// Below counts the offsets below one.
func (r *Runs) Below(offset int64) int64 {
	i := sort.Search(len(r.list), func(i int) bool { return r.list[i].first >= offset })
	if i == 0 {
		return 0
	}
	one := r.list[i-1]
	return one.before + min(one.count, offset-one.first)
}

// Rank is the place of an offset in the set, from 0 on.
func (r *Runs) Rank(offset int64) (int64, bool) {
	n := r.Below(offset)
	return n, r.Below(offset+1) == n+1
}

// At is the offset at a place, from 0 on, of those that exist.
func (r *Runs) At(rank int64) int64 {
	i := sort.Search(len(r.list), func(i int) bool { return r.list[i].before > rank }) - 1
	return r.list[i].first + rank - r.list[i].before
}

// MarshalJSON writes the text form.
func (r Runs) MarshalJSON() ([]byte, error) {
	var b []byte
	next := int64(0)
	for _, one := range r.list {
		b = binary.AppendUvarint(b, uint64(one.first-next))
		b = binary.AppendUvarint(b, uint64(one.count))
		next = one.first + one.count
	}
	return json.Marshal(base64.RawStdEncoding.EncodeToString(b))
}

// UnmarshalJSON reads the text form.
func (r *Runs) UnmarshalJSON(text []byte) error {
	var encoded string
	if err := json.Unmarshal(text, &encoded); err != nil {
		return err
	}
	b, err := base64.RawStdEncoding.DecodeString(encoded)
	if err != nil {
		return fmt.Errorf("decode offsets: %w", err)
	}
	r.list = nil
	next := uint64(0)
	for len(b) > 0 {
		gap, n := binary.Uvarint(b)
		count, m := uint64(0), 0
		if n > 0 {
			count, m = binary.Uvarint(b[n:])
		}
		if n <= 0 || m <= 0 || count == 0 || gap > math.MaxInt64-next || count > math.MaxInt64-next-gap {
			return errors.New("decode offsets: not ascending runs of offsets")
		}
		r.addRun(int64(next+gap), int64(count))
		next += gap + count
		b = b[n+m:]
	}
	return nil
}

package datafile

import (
	"fmt"
	"math"

	"github.com/RoaringBitmap/roaring/v2"
)

// Positions is a set of rows of a data file: those that position deletes name. It is not safe for concurrent use while it is
// added to; a nil one is empty.
type Positions struct {
	set  *roaring.Bitmap
	most int64
}

// NewPositions makes an empty set of a file with so many rows. It takes at most a bit a row.
func NewPositions(rows int64) *Positions {
	return &Positions{set: roaring.New(), most: min(rows, math.MaxUint32)}
}

// Add adds a row's position. One that the file does not have is an error: the deletes are of another file.
func (p *Positions) Add(position int64) error {
	if position < 0 || position >= p.most {
		return fmt.Errorf("%w: deletes row %d of %d", ErrCorrupt, position, p.most)
	}
	p.set.Add(uint32(position))
	return nil
}

// Has tells whether a row is in the set.
func (p *Positions) Has(position int64) bool {
	return p != nil && position >= 0 && position < p.most && p.set.Contains(uint32(position))
}

// Count is the number of rows in the set.
func (p *Positions) Count() int64 {
	if p == nil {
		return 0
	}
	return int64(p.set.GetCardinality())
}

// Covers tells whether the set has all rows of another set of the same file.
func (p *Positions) Covers(o *Positions) bool {
	return o.Count() == 0 || p.Count() > 0 && roaring.AndNot(o.set, p.set).IsEmpty()
}

// Without is the rows of the set that another of the same file does not have.
func (p *Positions) Without(o *Positions) *Positions {
	if p.Count() == 0 || o.Count() == 0 {
		return p
	}
	return &Positions{set: roaring.AndNot(p.set, o.set), most: p.most}
}

// All gives the positions by rising value, until do wants no more.
func (p *Positions) All(do func(position int64) bool) {
	if p != nil {
		p.set.Iterate(func(x uint32) bool { return do(int64(x)) })
	}
}

// Weight is about how many bytes of memory the set takes.
func (p *Positions) Weight() int64 {
	if p == nil {
		return 0
	}
	return int64(p.set.GetSizeInBytes()) + 128
}

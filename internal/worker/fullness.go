package worker

import "time"

// fullness remembers whether Redis is full and nothing can go. A Redis at its limit is above it with one write and below it
// with the next: that is one state, which ends with some room or after some calm.
type fullness struct {
	stuck bool
	above time.Time // when Redis was above its limit last
}

const (
	// calmAfter is how long Redis must have stayed within its limit.
	calmAfter = time.Minute
	// roomPart is the part of the limit that must be free to end the state sooner.
	roomPart = 20
)

// over tells whether Redis is above its limit; limit 0 is none.
func over(used, limit int64) bool { return limit > 0 && used > limit }

// look notes what Redis uses. nothingCanGo tells that all was done that retention allows. changed tells that the state began
// or ended.
func (f *fullness) look(now time.Time, used, limit int64, nothingCanGo bool) (changed bool) {
	if over(used, limit) {
		f.above = now
		changed = nothingCanGo && !f.stuck
		f.stuck = f.stuck || nothingCanGo
		return changed
	}
	if f.stuck && (limit == 0 || used <= limit-limit/roomPart || now.Sub(f.above) >= calmAfter) {
		f.stuck = false
		return true
	}
	return false
}

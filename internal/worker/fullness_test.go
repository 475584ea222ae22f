package worker

import (
	"testing"
	"time"
)

func TestARedisAtItsLimitIsOneStateUntilThereIsRoomOrCalm(t *testing.T) {
	type look struct {
		after        time.Duration
		used, limit  int64
		nothingCanGo bool
		changed      bool
	}
	full := look{0, 1001, 1000, true, true}
	for name, looks := range map[string][]look{
		"above and below in turn": {
			full, {time.Second, 999, 1000, false, false}, {time.Second, 1001, 1000, true, false}, {59 * time.Second, 990, 1000, true, false},
			{time.Second, 1002, 1000, true, false}, {59 * time.Second, 999, 1000, false, false}, {time.Second, 999, 1000, false, true},
			{time.Second, 999, 1000, false, false}, full,
		},
		"room":              {full, {time.Second, 951, 1000, false, false}, {time.Second, 950, 1000, false, true}, full},
		"a larger limit":    {full, {time.Second, 1001, 2000, false, true}},
		"no limit any more": {full, {time.Second, 1001, 0, false, true}},
		"something can go":  {{0, 1001, 1000, false, false}, {time.Second, 900, 1000, false, false}},
		"something can go, and then not, and then again": {
			{0, 1001, 1000, false, false}, full, {time.Second, 1001, 1000, false, false}, {time.Second, 900, 1000, false, true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var f fullness
			now := time.Unix(1_700_000_000, 0)
			for i, l := range looks {
				now = now.Add(l.after)
				if changed := f.look(now, l.used, l.limit, l.nothingCanGo); changed != l.changed {
					t.Errorf("look %d: changed %v, want %v", i+1, changed, l.changed)
				}
			}
		})
	}
}

package partition_test

import (
	"fmt"
	"testing"

	"github.com/korvet-io/korvet/internal/partition"
	"github.com/korvet-io/korvet/internal/redisstream"
	"github.com/korvet-io/korvet/internal/redistest"
)

// Users of redis-cli trim the open segment by count or by time. Whoever reads goes on at the next record that is there, also
// after a takeover, and offsets go on as they were.
func TestTrimmingByHandBreaksNoOffset(t *testing.T) {
	for name, trim := range map[string]func(s *redistest.Server, keys redisstream.Keys){
		"by count": func(s *redistest.Server, keys redisstream.Keys) { s.Do("XTRIM", keys.Stream, "MAXLEN", "5") },
		"by time": func(s *redistest.Server, keys redisstream.Keys) {
			reply := s.Do("XREVRANGE", keys.Stream, "+", "-", "COUNT", "5")
			newest, err := reply.AsXRange()
			if err != nil {
				t.Fatal(err)
			}
			s.Do("XTRIM", keys.Stream, "MINID", newest[4].ID)
		},
		"all of it": func(s *redistest.Server, keys redisstream.Keys) { s.Do("XTRIM", keys.Stream, "MAXLEN", "0") },
	} {
		t.Run(name, func(t *testing.T) {
			s := redistest.Start(t)
			f := newFixture(t, s, "1/a", func(s *partition.Settings) { s.TailCacheBytes = 1 })
			ref := newRef("t")
			f.mustAppend(ref, numbers(0, 10)...)
			f.roll(ref, 0)
			f.mustAppend(ref, numbers(10, 30)...)
			_, keys := f.view(ref)
			trim(s, keys)
			left := 25
			if name == "all of it" {
				left = 30
			}
			for life := range 2 {
				if b := f.bounds(ref); b.LogStart != 0 || b.LogEnd != 30+int64(life) {
					t.Errorf("bounds %+v", b)
				}
				want := append(dense(0, numbers(0, 10)...), dense(left, numbers(left, 30+life)...)...)
				if got := f.readAll(ref, 0, 10_000); !same(got, want) {
					t.Errorf("read %v, want %v", got, want)
				}
				f.close()
				f = newFixture(t, s, fmt.Sprintf("%d/b", life+2), func(s *partition.Settings) { s.TailCacheBytes = 1 })
				f.produceUntilWith(ref, segmented, -1, -1, 1000, numbers(30+life, 31+life))
			}
		})
	}
}

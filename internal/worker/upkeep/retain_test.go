package upkeep

import (
	"testing"

	"github.com/korvet-io/korvet/internal/iceberg/tables"
	"github.com/korvet-io/korvet/internal/redisstream"
	"github.com/korvet-io/korvet/internal/topicconfig"
)

// A copy may be committed while the keeper is busy with other tables: what it has counts once, wherever Redis says the table ends.
func TestWhatTheTableHasIsNotCountedInRedisToo(t *testing.T) {
	p := Partition{SealedBytes: map[int64]int64{7: 1000}}
	p.Config = &topicconfig.Effective{Delete: true, RetentionBytes: 250}
	p.Glance.Segments = []redisstream.Segment{{Number: 7, Base: 20, Last: 29}}
	files := []tables.File{{First: 0, Last: 9, Bytes: 100}, {First: 10, Last: 19, Bytes: 100}, {First: 20, Last: 29, Bytes: 100}}
	if start := p.remoteExcess(files, 30); start != 0 {
		t.Errorf("of 300 bytes the log starts at %d, retention.bytes is 250", start)
	}
	if start := p.remoteExcess(files[:2], 20); start != 20 {
		t.Errorf("before the copy, with 1000 bytes in Redis, it starts at %d, want 20", start)
	}
}

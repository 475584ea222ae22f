package tick

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/korvet-io/korvet/internal/redisstream"
	"github.com/korvet-io/korvet/internal/topicconfig"
)

func TestPartOfASegmentBelowTheLogStartDoesNotCount(t *testing.T) {
	seg := redisstream.Segment{Base: 100, Last: 199}
	for start, want := range map[int64]int64{0: 1000, 100: 1000, 150: 500, 200: 0, 900: 0} {
		target := Target{Glance: redisstream.Glance{View: redisstream.View{LogStart: start}}}
		if got := target.Living(seg, 1000); got != want {
			t.Errorf("of 1000 bytes %d count in a log that starts at %d, want %d", got, start, want)
		}
	}
}

func TestNothingGoesByTimeWithoutALimit(t *testing.T) {
	for _, c := range []struct {
		config topicconfig.Effective
		ms     uint64
		ok     bool
	}{
		{topicconfig.Effective{Delete: true, RetentionMs: 300}, 700, true},
		{topicconfig.Effective{Delete: true, RetentionMs: -1}, 0, false},
		{topicconfig.Effective{Delete: true, RetentionMs: 1001}, 0, false}, // before there was time
		{topicconfig.Effective{RetentionMs: 300}, 0, false},
	} {
		target := Target{Config: &c.config, Glance: redisstream.Glance{Now: 1000}}
		if ms, ok := target.Cutoff(); ms != c.ms || ok != c.ok {
			t.Errorf("%+v: cutoff %d, %v", c.config, ms, ok)
		}
	}
}

func TestATickEndsWhereNothingMoreMayBeDone(t *testing.T) {
	for _, err := range []error{redisstream.ErrFenced, redisstream.ErrLeaseLost, redisstream.ErrUnavailable, context.Canceled, context.DeadlineExceeded} {
		if !Ends(fmt.Errorf("at a partition: %w", err)) {
			t.Errorf("%v does not end the tick", err)
		}
	}
	if Ends(redisstream.ErrDeleted) || Ends(errors.New("broken")) || Ends(nil) {
		t.Error("what is wrong with one partition ends the tick")
	}
}

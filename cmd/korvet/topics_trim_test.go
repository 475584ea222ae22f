package main

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

func TestTopicsTrimRemovesTheOldestRecordsByCountAndByTime(t *testing.T) {
	w := newGroupsWorld(t)
	for topic, policy := range map[string]string{"settings": "compact", "both": "compact,delete"} {
		if _, err := w.admin.CreateTopic(t.Context(), 1, 1, map[string]*string{"cleanup.policy": &policy}, topic); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			_, _ = w.admin.DeleteTopics(ctx, topic) // of a broker that may be gone
		})
	}
	w.transcript("topics/trim")
	starts, err := w.admin.ListStartOffsets(t.Context(), "orders")
	if err != nil {
		t.Fatal(err)
	}
	starts.Each(func(o kadm.ListedOffset) {
		if want := map[int32]int64{0: 5, 1: 2, 2: 0}[o.Partition]; o.Offset != want || o.Err != nil {
			t.Errorf("partition %d starts at %d, %v, want %d", o.Partition, o.Offset, o.Err, want)
		}
	})
	late := w.open(kgo.ConsumeResetOffset(kgo.NoResetOffset()),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{"orders": {1: kgo.NewOffset().At(1)}}))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if got := late.PollFetches(ctx); !outOfRange(got) {
		t.Errorf("a consumer below the log start gets %d records, %v", got.NumRecords(), got.Errors())
	}
}

func outOfRange(f kgo.Fetches) bool {
	return slices.ContainsFunc(f.Errors(), func(e kgo.FetchError) bool { return errors.Is(e.Err, kerr.OffsetOutOfRange) })
}

func TestMomentsAreTimesDaysOrSoLongAgo(t *testing.T) {
	now := time.Date(2026, 1, 31, 8, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"2026-01-31T08:00:00Z":          now,
		"2026-01-31T09:00:00.250+01:00": now.Add(250 * time.Millisecond),
		"2026-01-31":                    now.Add(-8 * time.Hour),
		"7d":                            now.Add(-7 * 24 * time.Hour),
		"1d12h":                         now.Add(-36 * time.Hour),
		"36h":                           now.Add(-36 * time.Hour),
		"500ms":                         now.Add(-500 * time.Millisecond),
		"1769846400000":                 now,
		"0":                             time.UnixMilli(0),
		"1960-01-01":                    time.UnixMilli(0),
		"100000d":                       time.UnixMilli(0),
	} {
		if got, err := parseMoment(text, now); err != nil || got != want.UnixMilli() {
			t.Errorf("%s: %d, %v, want %d", text, got, err, want.UnixMilli())
		}
	}
	for _, text := range []string{"", "yesterday", "-1", "-7d", "2026-13-01", "2026-01-31 08:00:00", "2026-01-31T08:00:00", "7 d", "P1D", "999999999999d"} {
		if got, err := parseMoment(text, now); err == nil {
			t.Errorf("%q is %d, want an error", text, got)
		}
	}
}

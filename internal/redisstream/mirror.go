package redisstream

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"
)

// MirrorPrefix is what the names of native groups that show Kafka groups begin with.
const MirrorPrefix = "kafka:"

const (
	// mostMirrors is how many groups are shown on one stream: Redis looks through all of them to tell of them, and to make one more.
	mostMirrors = 500
	// fullFor is how long a stream with that many is not asked again whether there is room for one: that takes Redis a
	// millisecond, and the groups that are not shown commit again and again.
	fullFor = time.Minute
)

// fullStreams remembers the streams that show as many groups as they may. Its zero value is ready for use.
type fullStreams struct {
	mu    sync.Mutex
	until map[string]time.Time
}

// room is how many groups may be shown on a stream; 0: no new one.
func (f *fullStreams) room(stream string, now time.Time) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	until, full := f.until[stream]
	if full && now.Before(until) {
		return 0
	}
	delete(f.until, stream)
	return mostMirrors
}

func (f *fullStreams) add(stream string, until time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.until == nil {
		f.until = map[string]time.Time{}
	}
	f.until[stream] = until
}

func (f *fullStreams) remove(stream string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.until, stream)
}

// Mirror shows a group's committed offset as native group kafka:<group> of the open segment. Its last delivered id is that
// of the entry before the offset; where the offset is not above the segment's first entry it is 0-0, and an offset beyond
// the log's end counts as the end. Nothing happens when this life of the partition is over, or when 500 others are shown, or
// were within the last minute.
func (s *Shard) Mirror(ctx context.Context, keys Keys, topicID, group string, offset int64) error {
	first, found, err := s.Seek(ctx, keys.Stream, offset)
	if err != nil {
		return scriptError("mirror commit", err)
	}
	to := "+"
	if found {
		to = "(" + first.String()
	}
	before, found, err := s.entry(ctx, "XREVRANGE", keys.Stream, to, "-")
	if err != nil {
		return scriptError("mirror commit", err)
	}
	at := ""
	if found || to != "+" {
		at = before.String()
	}
	room := s.full.room(keys.Stream, s.now())
	args := []string{topicID, MirrorPrefix + group, at, MirrorPrefix, strconv.Itoa(room), strconv.FormatUint(SeqBefore(offset), 10)}
	v, err := s.script(ctx, mirrorScript, []string{keys.Stream, keys.Leader}, args)
	if err != nil {
		return scriptError(fmt.Sprintf("mirror commit of group %q", group), err)
	}
	if room > 0 && len(v.Elems) > 0 && v.Elems[0].Text() == "FULL" {
		s.full.add(keys.Stream, s.now().Add(fullFor))
	}
	return nil
}

// Unmirror removes the native group that shows a group on the open segment. Sealed ones keep theirs.
func (s *Shard) Unmirror(ctx context.Context, keys Keys, topicID, group string) error {
	args := []string{topicID, MirrorPrefix + group}
	if _, err := s.script(ctx, unmirrorScript, []string{keys.Stream, keys.Leader}, args); err != nil {
		return scriptError(fmt.Sprintf("remove mirror of group %q", group), err)
	}
	s.full.remove(keys.Stream)
	return nil
}

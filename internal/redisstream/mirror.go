package redisstream

import (
	"context"
	"fmt"
	"strconv"
)

// MirrorPrefix is what the names of native groups that show Kafka groups begin with.
const MirrorPrefix = "kafka:"

// mostMirrors is how many groups are shown on one stream: Redis looks through all of them to find one.
const mostMirrors = 500

// Mirror shows a group's committed offset as native group kafka:<group> of the open segment. Its last delivered id is that
// of the entry before the offset; where the offset is not above the segment's first entry it is 0-0, and an offset beyond
// the log's end counts as the end. Nothing happens when this life of the partition is over, or when 500 others are shown.
func (s *Shard) Mirror(ctx context.Context, keys Keys, topicID, group string, offset int64) error {
	first, found, err := s.Seek(ctx, keys.Stream, offset)
	if err != nil {
		return scriptError("mirror commit", err)
	}
	at := ""
	if found {
		at = first.String()
	}
	args := []string{topicID, MirrorPrefix + group, at, MirrorPrefix, strconv.Itoa(mostMirrors), strconv.FormatUint(SeqBefore(offset), 10)}
	if _, err := s.script(ctx, mirrorScript, []string{keys.Stream, keys.Leader}, args); err != nil {
		return scriptError(fmt.Sprintf("mirror commit of group %q", group), err)
	}
	return nil
}

// Unmirror removes the native group that shows a group on the open segment. Sealed ones keep theirs.
func (s *Shard) Unmirror(ctx context.Context, keys Keys, topicID, group string) error {
	args := []string{topicID, MirrorPrefix + group}
	if _, err := s.script(ctx, unmirrorScript, []string{keys.Stream, keys.Leader}, args); err != nil {
		return scriptError(fmt.Sprintf("remove mirror of group %q", group), err)
	}
	return nil
}

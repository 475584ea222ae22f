package model

import (
	"fmt"
	"slices"
	"strings"

	"github.com/korvet-io/korvet/internal/redisstream"
)

// inventory tells what Redis has of the partition: keys, the registry but for fencing numbers and times, and the offsets
// in each stream.
func (w *world) inventory() (string, error) {
	var lines []string
	keys, err := w.redis.Do(w.ctx, w.redis.B().Keys().Pattern("korvet:storage:*{"+w.keys.Stream+"}*").Build()).AsStrSlice()
	if err != nil {
		return "", err
	}
	for _, k := range keys {
		if !strings.HasPrefix(k, "korvet:storage:state:") { // its name is random
			lines = append(lines, "key "+k)
		}
	}
	view, err := w.hands.Look(w.ctx, w.keys)
	if err != nil {
		return "", err
	}
	for number := range view.Clean.Dense {
		lines = append(lines, fmt.Sprint("stream ", number, " had entries taken out and was not written anew"))
	}
	lines = append(lines, fmt.Sprintf("log from %d to %d, open segment %d", view.LogStart, redisstream.EndOffset(view.LastSeq), view.Open))
	for _, stream := range view.Streams(w.keys) {
		ids, err := w.newestIDs(stream, 1<<30)
		if err != nil {
			return "", err
		}
		offsets := make([]uint64, len(ids))
		for i, id := range ids {
			offsets[i] = id.Seq
		}
		slices.Reverse(offsets)
		lines = append(lines, fmt.Sprint("offsets in ", stream, " ", offsets))
	}
	dictionaries, err := w.dictionaryIDs()
	if err != nil {
		return "", err
	}
	lines = append(lines, dictionaries)
	slices.Sort(lines)
	return strings.Join(lines, "\n"), nil
}

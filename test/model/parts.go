package model

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/korvet-io/korvet/internal/compress"
	"github.com/korvet-io/korvet/internal/partition"
	"github.com/korvet-io/korvet/internal/redisstream"
)

// part is one partition of the topic: what it should be, and what its producers remember.
type part struct {
	ref       partition.Ref
	keys      redisstream.Keys
	log       Log
	active    int // the broker that its producers and consumers talk to
	producers []*producer
	// What Redis says of the tiers since the newest step that may change it.
	local, tiered int64
	grown         int64 // bytes in Redis that were appended within the newest step of retention
}

// mostParts bounds the partitions of a program's topic.
const mostParts = 4

// addPart adds the topic's next partition.
func (w *world) addPart() {
	ref := partition.Ref{Topic: w.topic.Name, ID: w.topic.ID, Partition: int32(len(w.parts))}
	p := &part{ref: ref, keys: redisstream.NewKeys("korvet", ref.Topic, ref.Partition)}
	for i := range int64(4) {
		p.producers = append(p.producers, &producer{identity: identity{id: i - 1}}) // the first is not idempotent
	}
	w.parts = append(w.parts, p)
}

// bases are offsets that logs begin at: doubles, which Lua counts in, end at 2^53.
var bases = []int64{0, 0, 1<<53 - 20, math.MaxInt64 - 1<<20}

// beginAt has the partition begin at an offset, as if all before had been deleted.
func (w *world) beginAt(base int64) error {
	if base == 0 {
		return nil
	}
	w.say("begin at offset %d", base)
	for _, args := range [][]string{
		{"XGROUP", "CREATE", w.keys.Stream, "x", "0", "MKSTREAM"}, {"XGROUP", "DESTROY", w.keys.Stream, "x"},
		{"XSETID", w.keys.Stream, fmt.Sprintf("1-%d", base-1)}, {"HSET", w.keys.Segments, "topic", w.topicID(), "start", fmt.Sprint(base)},
	} {
		if err := w.redis.Do(w.ctx, w.redis.B().Arbitrary(args...).Build()).Error(); err != nil {
			return fmt.Errorf("begin at offset %d: %w", base, err)
		}
	}
	w.log.Start, w.log.End = base, base
	return nil
}

// each does something at every partition in turn.
func (w *world) each(do func(i int) error) error {
	at := w.part
	defer func() { w.part = at }()
	for i, p := range w.parts {
		w.part = p
		if err := do(i); err != nil {
			return fmt.Errorf("partition %d: %w", i, err)
		}
	}
	return nil
}

// grow gives the topic one partition more.
func (w *world) grow() (Latitude, error) {
	if len(w.parts) == mostParts {
		return w.produce()
	}
	w.say("add partition %d", len(w.parts))
	topic, err := w.store.Alter(w.ctx, w.topic, w.topic.Partitions+1, maps.Clone(w.topic.Configs))
	if err != nil {
		return Latitude{}, fmt.Errorf("add partition: %w", err)
	}
	w.topic = topic
	w.addPart()
	w.part = w.parts[len(w.parts)-1]
	return Latitude{}, nil
}

// checkKeys looks for keys that a whole tick should have left nothing of: all that is there must be one that docs/redis.md
// lists, of a segment that the registry names.
func (w *world) checkKeys() error {
	view, err := w.hands.Look(w.ctx, w.keys)
	if err != nil {
		return err
	}
	known := []string{w.keys.Leader, w.keys.Segments, w.keys.Epochs, w.keys.Dictionaries}
	for _, s := range view.Segments {
		known = append(known, w.keys.Segment(s.Number), w.keys.Times(s.Number))
	}
	keys, err := w.redis.Do(w.ctx, w.redis.B().Keys().Pattern("*{"+w.keys.Stream+"}*").Build()).AsStrSlice()
	if err != nil {
		return fmt.Errorf("list keys: %w", err)
	}
	for _, key := range keys {
		if !slices.Contains(known, key) && !strings.HasPrefix(key, w.keys.State("")) { // a late append may leave its own state
			return fmt.Errorf("after the tick there is key %s: the registry has %d segments", key, len(view.Segments))
		}
	}
	return nil
}

// checkEdges reads from where one segment ends and the next begins, and from the offsets beside.
func (w *world) checkEdges(b *broker) error {
	view, err := w.hands.Look(w.ctx, w.keys)
	if err != nil {
		return err
	}
	const most = 8
	edges := map[int64]bool{w.log.Start: true, w.log.Start + 1: true, w.log.End: true, w.log.End - 1: true}
	for n, i := range w.rnd.Perm(len(view.Segments)) {
		if n == most {
			break
		}
		s := view.Segments[i]
		for _, offset := range []int64{s.Base - 1, s.Base, s.Base + 1, s.Last, s.Last + 1, s.Last + 2} {
			edges[offset] = true
		}
	}
	if err := w.tierEdges(edges); err != nil {
		return err
	}
	for _, offset := range slices.Sorted(maps.Keys(edges)) {
		if offset < w.log.Start || offset > w.log.End {
			continue
		}
		if err := w.checkRead(b, offset); err != nil {
			return err
		}
	}
	return nil
}

// checkDictionaries looks whether the partition's own hash has every dictionary that a value of its streams names.
func (w *world) checkDictionaries() error {
	if w.values().Codec != compress.Zstd {
		return nil
	}
	view, err := w.hands.Look(w.ctx, w.keys)
	if err != nil {
		return err
	}
	for _, stream := range view.Streams(w.keys) {
		entries, err := w.redis.Do(w.ctx, w.redis.B().Xrange().Key(stream).Start("-").End("+").Build()).AsXRange()
		if err != nil {
			return fmt.Errorf("read frames: %w", err)
		}
		for _, e := range entries {
			frame := e.FieldValues["value"]
			if frame == "" {
				continue
			}
			id, err := compress.FrameDictionary([]byte(frame))
			var blob []byte
			if err == nil && id > 0 {
				blob, err = w.hands.PartitionDictionary(w.ctx, w.keys, id)
			}
			if err != nil {
				return fmt.Errorf("value of entry %s: %w", e.ID, err)
			}
			if id > 0 && blob == nil {
				return fmt.Errorf("the partition has no dictionary %d, which the value of entry %s names", id, e.ID)
			}
		}
	}
	return nil
}

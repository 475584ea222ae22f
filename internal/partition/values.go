package partition

import (
	"fmt"
	"sync"

	"github.com/korvet-io/korvet/internal/batch"
	"github.com/korvet-io/korvet/internal/compress"
	"github.com/korvet-io/korvet/internal/dictionary"
	"github.com/korvet-io/korvet/internal/record"
	"github.com/korvet-io/korvet/internal/redisstream"
)

// frames are the values of one batch as they are stored, one behind the other.
type frames struct {
	bytes      []byte
	ends       []int // of each record's frame; that of a record without value, or an empty one, takes no bytes
	plain      int   // bytes of the values
	dictionary *compress.Dictionary
	identity   redisstream.Identity // of the Redis that knows the dictionary
}

// maxPooledFrames is the largest buffer, in bytes, that is kept for the next batch.
const maxPooledFrames = 4 << 20

var framesPool = sync.Pool{New: func() any { return new(frames) }}

func (f *frames) release() {
	if cap(f.bytes) > maxPooledFrames {
		return
	}
	*f = frames{bytes: f.bytes[:0], ends: f.ends[:0]}
	framesPool.Put(f)
}

// compress makes the frames of a batch's values; nil when they are stored as they are. It runs in the producer's own
// goroutine, before the partition's lock is taken.
func (p *Partition) compress(b *batch.Batch, v Values) *frames {
	if v.Codec == compress.None {
		return nil
	}
	f := framesPool.Get().(*frames)
	topic := p.topicDictionaries(v)
	sampling := topic != nil && topic.Sampling()
	if topic != nil {
		f.identity = p.env.shard.Identity()
		f.dictionary = topic.Current(f.identity)
	}
	c, r := b.Cursor(), record.Record{}
	for c.Next(&r) {
		f.bytes = v.Codec.Append(f.bytes, r.Value, f.dictionary)
		f.ends = append(f.ends, len(f.bytes))
		f.plain += len(r.Value)
		if sampling {
			sampling = topic.Sample(r.Value)
		}
	}
	if f.dictionary != nil {
		topic.Wrote(len(f.ends), f.plain, len(f.bytes))
	}
	p.env.observer.ValuesCompressed(p.ref, f.plain, len(f.bytes))
	return f
}

// topicDictionaries are the topic's; nil where it uses none.
func (p *Partition) topicDictionaries(v Values) *dictionary.Topic {
	if !v.Dictionary || v.Codec != compress.Zstd || p.env.dictionaries == nil {
		return nil
	}
	return p.env.dictionaries.Topic(p.ref.Topic, p.topicID)
}

// cursor walks a batch's records with their values as they are stored.
type cursor struct {
	batch.Cursor
	frames *frames
	record int
	at     int
}

// Next decodes the next record into r and reports whether there was one.
func (c *cursor) Next(r *record.Record) bool {
	if !c.Cursor.Next(r) {
		return false
	}
	if c.frames == nil {
		return true
	}
	end := c.frames.ends[c.record]
	if end > c.at {
		r.Value = c.frames.bytes[c.at:end]
	}
	c.record, c.at = c.record+1, end
	return true
}

func (w *pending) cursor() cursor { return cursor{Cursor: w.batch.Cursor(), frames: w.frames} }

// size is how many bytes the batch's records take as they are stored, about.
func (w *pending) size() int {
	if w.frames == nil {
		return w.batch.UncompressedLen
	}
	return w.batch.UncompressedLen - w.frames.plain + len(w.frames.bytes)
}

// release gives the memory of the records back.
func (w *pending) release() {
	w.batch.Release()
	if w.frames != nil {
		w.frames.release()
		w.frames = nil
	}
}

// foreign tells why a batch must not be written: the Redis that knows its dictionary is gone, and the one that is there may
// have given the id to another one. Sent again, it is compressed anew. The lock is held.
func (p *Partition) foreign(w *pending) error {
	f := w.frames
	if f == nil || f.dictionary == nil || f.identity == p.term.identity || f.identity.Hidden() && p.term.identity.Hidden() {
		return nil
	}
	return fmt.Errorf("%w: the values were compressed for another redis", ErrNotLeader)
}

// carry has a group carry the dictionaries that it uses instead of the one before, and notes from which offset on: that
// tells the storage worker when an older one may go. lastDictionary is the one that the log used last for sure, noted by an
// append that was accepted in this term or in one that it continues; whoever is not sure carries it once more.
func (g *group) carry(lastDictionary uint32) {
	g.dictionary = lastDictionary
	for i := range g.items {
		f := g.items[i].first.frames
		if f == nil || f.dictionary == nil || f.dictionary.ID() == g.dictionary {
			continue
		}
		g.dictionary = f.dictionary.ID()
		if d := g.carried(g.dictionary); d != nil {
			d.From = g.items[i].base
			continue
		}
		g.append.Dictionaries = append(g.append.Dictionaries, redisstream.Dictionary{
			ID: g.dictionary, Blob: f.dictionary.Blob(), From: g.items[i].base,
		})
	}
}

// carried is a dictionary that the group carries.
func (g *group) carried(id uint32) *redisstream.Dictionary {
	for i := range g.append.Dictionaries {
		if g.append.Dictionaries[i].ID == id {
			return &g.append.Dictionaries[i]
		}
	}
	return nil
}

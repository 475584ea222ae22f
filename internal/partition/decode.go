package partition

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/korvet-io/korvet/internal/compress"
	"github.com/korvet-io/korvet/internal/dictionary"
	"github.com/korvet-io/korvet/internal/redisstream"
)

// maxKeptValue is the largest buffer that is kept for the next read.
const maxKeptValue = 4 << 20

// decoder gives entries their values back. A dictionary that it does not know ends the scan, since entries are decoded
// while their connection to Redis is held: it is fetched, and the scan goes on.
type decoder struct {
	values     Values
	limit      int // bytes of a value
	topic      *dictionary.Topic
	dictionary *compress.Dictionary // used last
	buf        []byte
	wire, size int     // bytes of the entries so far, as stored and with their values
	packed     float64 // the one per byte of the other, as earlier reads found; 0: nobody knows

	missing uint32 // the dictionary that is needed ...
	at      int64  // ... for the record at this offset
	entry   redisstream.ID
	err     error // the value at offset at does not decode
}

func (d *decoder) begin(v Values, limit int) {
	*d = decoder{values: v, limit: limit, buf: d.buf}
}

// end lets go of what the next read does not need.
func (d *decoder) end() {
	d.topic, d.dictionary = nil, nil
	if cap(d.buf) > maxKeptValue {
		d.buf = nil
	}
}

// decode replaces an entry's frame by its value, which is valid until the next one is decoded, and reports whether it could.
func (d *decoder) decode(e *redisstream.Entry) bool {
	if d.values.Codec == compress.None {
		return true
	}
	frame := e.Record.Value
	d.wire += e.Size
	if len(frame) > 0 {
		value, err := d.values.Codec.Decode(d.buf[:0], frame, d.limit, d.dictionary)
		if unknown, ok := errors.AsType[*compress.UnknownDictionaryError](err); ok {
			value, err = d.decodeWith(frame, unknown.ID)
		}
		if d.at, d.entry = e.Record.Offset, e.ID; d.missing != 0 {
			return false
		}
		if err != nil {
			d.err = fmt.Errorf("%w: offset %d: %w", ErrCorruptValue, d.at, err)
			return false
		}
		if value == nil { // empty, not null
			value = []byte{}
		}
		d.buf, e.Record.Value = value[:0], value
		e.Size += len(value) - len(frame)
	}
	d.size += e.Size
	return true
}

// decodeWith decodes with another dictionary than the one used last, if it is at hand.
func (d *decoder) decodeWith(frame []byte, id uint32) ([]byte, error) {
	var found *compress.Dictionary
	if d.topic != nil {
		found = d.topic.Cached(id)
	}
	if found == nil {
		d.missing = id
		return nil, nil
	}
	d.dictionary = found
	return d.values.Codec.Decode(d.buf[:0], frame, d.limit, found)
}

// stored is about how many bytes entries take in Redis that are so many with their values.
func (d *decoder) stored(bytes int) int {
	if packed := d.ratio(); packed > 0 {
		return int(float64(bytes) * packed)
	}
	return bytes
}

// ratio is how many bytes entries take in Redis per byte with their values; 0 when nobody knows.
func (d *decoder) ratio() float64 {
	if d.size == 0 {
		return d.packed
	}
	return float64(d.wire) / float64(d.size)
}

// scanValues is scan for a reader that decodes values.
func (p *Partition) scanValues(ctx context.Context, s logEnds, offset int64, r *reader) error {
	r.values.packed = math.Float64frombits(p.packed.Load())
	defer func() { p.packed.Store(math.Float64bits(r.values.ratio())) }()
	for {
		err := p.scan(ctx, s, offset, s.high, r)
		d := &r.values
		switch {
		case err != nil:
			return err
		case d.err != nil:
			return d.err
		case d.missing == 0:
			return nil
		}
		offset = d.at
		if d.dictionary, err = p.findDictionary(ctx, d); err != nil {
			return err
		}
		d.missing = 0
	}
}

// findDictionary fetches the dictionary that a reader needs.
func (p *Partition) findDictionary(ctx context.Context, d *decoder) (*compress.Dictionary, error) {
	own := func(ctx context.Context) ([]byte, error) {
		return p.env.shard.PartitionDictionary(ctx, p.keys, d.missing)
	}
	var found *compress.Dictionary
	var err error
	if d.topic != nil {
		found, err = d.topic.Find(ctx, d.missing, own)
	} else {
		err = dictionary.ErrMissing
	}
	switch {
	case err == nil:
		return found, nil
	case errors.Is(err, dictionary.ErrMissing) && p.outlived(ctx, d.at):
		return nil, fmt.Errorf("%w: the log starts above %d now", ErrOffsetOutOfRange, d.at)
	case errors.Is(err, dictionary.ErrMissing), errors.Is(err, dictionary.ErrUnusable):
		return nil, fmt.Errorf("%w: offset %d: zstd dictionary %d: %w", ErrCorruptValue, d.at, d.missing, err)
	}
	return nil, readError(err)
}

// outlived tells whether the log has come to start above an offset since it was asked for: then its dictionary may be gone
// with the records that needed it.
func (p *Partition) outlived(ctx context.Context, offset int64) bool {
	starts, err := p.env.shard.LogStart(ctx, p.keys, p.topicID)
	return err == nil && offset < starts.Log
}

// corrupt tells once, of each value, that readers cannot be given it.
func (p *Partition) corrupt(ctx context.Context, d *decoder, err error) {
	p.env.observer.ValueCorrupt(p.ref)
	p.mu.Lock()
	told := p.corruptTold == d.at+1
	p.corruptTold = d.at + 1
	p.mu.Unlock()
	if told {
		return
	}
	stream := p.keys.Stream
	if view, err := p.reload(ctx); err == nil { // it may have been sealed since it was read
		stream = view.StreamOf(p.keys, d.at)
	}
	p.log.Error("a value cannot be decoded: consumers are answered CORRUPT_MESSAGE there", "offset", d.at, "stream", stream,
		"entry", d.entry.String(), "err", err)
}

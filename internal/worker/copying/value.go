package copying

import (
	"context"
	"errors"
	"fmt"

	"github.com/korvet-io/korvet/internal/compress"
	"github.com/korvet-io/korvet/internal/dictionary"
	"github.com/korvet-io/korvet/internal/iceberg/datafile"
	"github.com/korvet-io/korvet/internal/iceberg/jsoncolumns"
	"github.com/korvet-io/korvet/internal/worker/tick"
)

// errUnreadable is a record that cannot be copied as it is: its value does not decode, or its headers.
var errUnreadable = errors.New("a record cannot be read")

// values decodes the values of one partition.
type values struct {
	copier     *Copier
	target     *tick.Target
	codec      compress.Codec
	limit      int
	topic      *dictionary.Topic    // nil: the topic uses no dictionaries
	dictionary *compress.Dictionary // used last
	buf        []byte
	ready      int64 // offset after the record that was read last
	columns    *columns
}

func (c *Copier) values(t *tick.Target, columns *jsoncolumns.Set) (*values, error) {
	codec, err := compress.Parse(t.Config.StorageCompression)
	if err != nil {
		return nil, err
	}
	v := &values{copier: c, target: t, codec: codec, limit: c.Settings().MaxValueBytes}
	if codec == compress.Zstd && c.Dictionaries != nil {
		v.topic = c.Dictionaries.Topic(t.Ref.Topic, t.TopicID)
	}
	ahead := *v
	v.columns = newColumns(columns, &ahead)
	return v, nil
}

// read decodes a record's value, and makes sure that its headers can be written. What it decoded is valid until the next call for
// another record. errUnreadable.
func (v *values) read(ctx context.Context, row *datafile.Row) error {
	if row.Offset < v.ready {
		return nil
	}
	if err := v.decode(ctx, row); err != nil {
		return err
	}
	if err := datafile.CheckHeaders(row.Headers); err != nil {
		return fmt.Errorf("%w: offset %d: %w", errUnreadable, row.Offset, err)
	}
	v.ready = row.Offset + 1
	return nil
}

// decode puts a record's value in the place of its frame.
func (v *values) decode(ctx context.Context, row *datafile.Row) error {
	if v.codec == compress.None || len(row.Value) == 0 {
		return nil
	}
	value, err := v.codec.Decode(v.buf[:0], row.Value, v.limit, v.dictionary)
	if unknown, ok := errors.AsType[*compress.UnknownDictionaryError](err); ok {
		if v.dictionary, err = v.find(ctx, unknown.ID); err == nil {
			value, err = v.codec.Decode(v.buf[:0], row.Value, v.limit, v.dictionary)
		}
	}
	switch {
	case errors.Is(err, compress.ErrCorrupt), errors.Is(err, compress.ErrTooLong), errors.Is(err, dictionary.ErrMissing), errors.Is(err, dictionary.ErrUnusable):
		return fmt.Errorf("%w: offset %d: %w", errUnreadable, row.Offset, err)
	case err != nil:
		return fmt.Errorf("decode value at offset %d: %w", row.Offset, err)
	}
	if value == nil { // empty, not null
		value = []byte{}
	}
	if v.buf = value[:0]; cap(v.buf) > 4<<20 {
		v.buf = nil
	}
	row.Value = value
	return nil
}

// find finds a dictionary.
func (v *values) find(ctx context.Context, id uint32) (*compress.Dictionary, error) {
	if v.topic == nil {
		return nil, fmt.Errorf("zstd dictionary %d: %w", id, dictionary.ErrMissing)
	}
	if d := v.topic.Cached(id); d != nil {
		return d, nil
	}
	d, err := v.topic.Find(ctx, id, func(ctx context.Context) ([]byte, error) {
		return v.copier.Redis.PartitionDictionary(ctx, v.target.Keys, id)
	})
	if err != nil {
		return nil, fmt.Errorf("zstd dictionary %d: %w", id, err)
	}
	return d, nil
}

package redisstream

import (
	"context"
	"fmt"
	"strconv"

	"github.com/korvet-io/korvet/internal/redisstream/resp"
)

// DictionaryKeys are the keys of the zstd dictionaries of one life of a topic.
type DictionaryKeys struct {
	All    string // hash of the life: id -> blob, newest, its sum and ratio. What it says counts
	Newest string // string of the topic's name: the newest blob, for people
}

// NewDictionaryKeys names the keys of a topic's life, whose id is in hexadecimal.
func NewDictionaryKeys(namespace, topic, topicID string) DictionaryKeys {
	prefix := namespace + ":storage:"
	return DictionaryKeys{All: prefix + "zdicts:" + topicID, Newest: prefix + "zdict:" + topic}
}

// NewestDictionary tells what the newest dictionary of a topic's life is; the zero one stands for none.
type NewestDictionary struct {
	ID    uint32
	Sum   string  // SHA-1 of its blob
	Ratio float64 // bytes stored per byte of value, as measured when it was trained
}

// NewestDictionaries looks at some topics in one pipelined request; the answers are in their order.
func (s *Shard) NewestDictionaries(ctx context.Context, keys []DictionaryKeys) ([]NewestDictionary, error) {
	var request []byte
	for _, k := range keys {
		request = resp.AppendCommand(request, "HMGET", k.All, "newest", "sum", "ratio")
	}
	list := make([]NewestDictionary, len(keys))
	err := s.reads.do(ctx, request, func(r *resp.Reader) error {
		for i := range list {
			v, err := r.Value()
			if err != nil {
				return err
			}
			if err := list[i].parse(v); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look for dictionaries: %w", err)
	}
	return list, nil
}

func (n *NewestDictionary) parse(v resp.Value) error {
	if err := v.Err(); err != nil {
		return err
	}
	if len(v.Elems) != 3 {
		return resp.ErrProtocol
	}
	if v.Elems[0].Null {
		return nil
	}
	id, err := strconv.ParseUint(v.Elems[0].Str, 10, 32)
	if err != nil {
		return fmt.Errorf("read newest dictionary: %w", err)
	}
	n.ID, n.Sum = uint32(id), v.Elems[1].Str
	n.Ratio, _ = strconv.ParseFloat(v.Elems[2].Str, 64) // without it the first records tell
	return nil
}

// LoadDictionary reads a dictionary of a topic's life; nil when it is not there.
func (s *Shard) LoadDictionary(ctx context.Context, keys DictionaryKeys, id uint32) ([]byte, error) {
	return s.dictionary(ctx, keys.All, id)
}

// PartitionDictionary reads a dictionary from a partition's own copy; nil when it is not there.
func (s *Shard) PartitionDictionary(ctx context.Context, keys Keys, id uint32) ([]byte, error) {
	return s.dictionary(ctx, keys.Dictionaries, id)
}

func (s *Shard) dictionary(ctx context.Context, key string, id uint32) ([]byte, error) {
	v, err := s.reads.value(ctx, resp.AppendCommand(nil, "HGET", key, strconv.FormatUint(uint64(id), 10)))
	if err != nil {
		return nil, fmt.Errorf("read dictionary %d: %w", id, err)
	}
	if v.Null {
		return nil, nil
	}
	return []byte(v.Str), nil
}

// PublishDictionary makes blob the newest dictionary of a topic's life, under the id that it carries. It is refused (false)
// when the newest one is not known, the one that the caller built on.
func (s *Shard) PublishDictionary(ctx context.Context, keys DictionaryKeys, known, id uint32, blob []byte, ratio float64) (bool, error) {
	args := []string{
		strconv.FormatUint(uint64(known), 10), strconv.FormatUint(uint64(id), 10), string(blob), strconv.FormatFloat(ratio, 'f', 4, 64),
	}
	v, err := s.script(ctx, zdictScript, []string{keys.All}, args)
	if err == nil {
		err = v.Err()
	}
	if err != nil {
		return false, fmt.Errorf("publish dictionary %d: %w", id, err)
	}
	if len(v.Elems) == 0 || v.Elems[0].Str != "OK" {
		return false, nil
	}
	if _, err := s.reads.value(ctx, resp.AppendCommand(nil, "SET", keys.Newest, string(blob))); err != nil {
		return true, fmt.Errorf("publish readable copy of dictionary %d: %w", id, err)
	}
	return true, nil
}

// RemoveDictionaries removes those of a topic's life that ends. It may be repeated.
func (s *Shard) RemoveDictionaries(ctx context.Context, keys DictionaryKeys) error {
	newest, err := s.NewestDictionaries(ctx, []DictionaryKeys{keys})
	if err == nil && newest[0].Sum != "" {
		_, err = s.script(ctx, unzdictScript, []string{keys.Newest}, []string{newest[0].Sum})
	}
	if err == nil {
		_, err = s.reads.value(ctx, resp.AppendCommand(nil, "UNLINK", keys.All))
	}
	if err != nil {
		return fmt.Errorf("remove dictionaries: %w", err)
	}
	return nil
}

package model

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/korvet-io/korvet/internal/compress"
	"github.com/korvet-io/korvet/internal/redisstream"
)

// publishDictionary is what a broker does that has trained a dictionary: the others use it as soon as they find it.
func (w *world) publishDictionary() (Latitude, error) {
	if v := w.values(); v.Codec != compress.Zstd || !v.Dictionary {
		return w.produce()
	}
	keys := w.dictionaryKeys()
	newest, err := w.hands.NewestDictionaries(w.ctx, []redisstream.DictionaryKeys{keys})
	if err != nil {
		return Latitude{}, err
	}
	samples := make([][]byte, 100)
	for i := range samples {
		samples[i] = w.value(400)
	}
	id := newest[0].ID + 1
	blob, err := compress.Train(samples, 2<<10, id)
	if err != nil {
		return Latitude{}, fmt.Errorf("train dictionary: %w", err)
	}
	published, err := w.hands.PublishDictionary(w.ctx, keys, newest[0].ID, id, blob, 0.5)
	w.say("publish dictionary %d: %t", id, published)
	if published {
		w.done.dictionaries.Add(1)
	}
	return Latitude{}, err
}

// retrain publishes a dictionary, which the active broker uses from its next record on.
func (w *world) retrain() error {
	if _, err := w.publishDictionary(); err != nil {
		return err
	}
	return w.knows()
}

// knows waits until the active broker knows the newest dictionary.
func (w *world) knows() error {
	newest, err := w.hands.NewestDictionaries(w.ctx, []redisstream.DictionaryKeys{w.dictionaryKeys()})
	if err != nil {
		return err
	}
	b := w.broker()
	known := b.dictionaries.Topic(w.ref.Topic, w.topicID())
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		if d := known.Current(b.shard.Identity()); d != nil && d.ID() == newest[0].ID {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("dictionary %d is not found", newest[0].ID)
		}
	}
}

func (w *world) dictionaryKeys() redisstream.DictionaryKeys {
	return redisstream.NewDictionaryKeys("korvet", w.ref.Topic, w.topicID())
}

// dictionaryIDs lists the dictionaries that the partition and the topic have.
func (w *world) dictionaryIDs() (string, error) {
	var lists [2][]string
	for i, key := range []string{w.keys.Dictionaries, w.dictionaryKeys().All} {
		fields, err := w.redis.Do(w.ctx, w.redis.B().Hkeys().Key(key).Build()).AsStrSlice()
		if err != nil {
			return "", err
		}
		for _, f := range fields {
			if _, err := strconv.ParseUint(f, 10, 32); err == nil {
				lists[i] = append(lists[i], f)
			}
		}
		slices.Sort(lists[i])
	}
	return fmt.Sprintf("dictionaries of the partition %v, of the topic %v", lists[0], lists[1]), nil
}

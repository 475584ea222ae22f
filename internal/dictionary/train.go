package dictionary

import (
	"context"
	"errors"
	"fmt"

	"github.com/korvet-io/korvet/internal/compress"
)

// A dictionary is published when it makes values that it was not trained on smaller by at least this part: than without
// one, or than with the one before.
const (
	worthFirst = 0.95
	worthNext  = 0.90
)

// heldOut is the part of the samples, one of so many, that is kept for measuring.
const heldOut = 8

// The results of a training.
const (
	published = "published"
	others    = "other"
	useless   = "useless"
	failed    = "failed"
)

// train trains one topic after the other.
func (r *Registry) train(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case t := <-r.ready:
			r.trainOne(ctx, t)
		}
	}
}

// trainOne trains a dictionary of a topic's samples. Whatever comes of it, the next training is some time away.
func (r *Registry) trainOne(ctx context.Context, t *Topic) {
	t.mu.Lock()
	values := t.takeSamples()
	t.mu.Unlock()
	result, err := t.trainOn(ctx, values)
	if ctx.Err() != nil {
		return
	}
	r.Observer.DictionaryTrained(result)
	log := r.Log.With("topic", t.name, "result", result, "samples", len(values))
	if err != nil {
		log.Warn("training a dictionary failed: values are compressed without a new one, and it is tried again later", "error", err)
	} else {
		log.Info("a zstd dictionary was trained")
	}
	t.mu.Lock()
	t.training, t.notBefore = false, r.Now().Add(r.Retrain)
	t.mu.Unlock()
	t.used.Store(true)
	r.poke()
}

// trainOn trains, measures and publishes.
func (t *Topic) trainOn(ctx context.Context, values [][]byte) (result string, err error) {
	before := t.current.Load()
	if before == nil {
		return others, nil // what is known is of a Redis that is gone
	}
	var learn, measure [][]byte
	for i, v := range values {
		if i%heldOut == heldOut-1 {
			measure = append(measure, v)
		} else {
			learn = append(learn, v)
		}
	}
	id := before.newest.ID + 1
	blob, err := compress.Train(learn, t.registry.MaxBytes, id)
	if errors.Is(err, compress.ErrUntrainable) {
		return useless, nil
	}
	if err != nil {
		return failed, err
	}
	d, err := compress.NewDictionary(blob)
	if err != nil {
		return failed, err
	}
	worth := worthFirst
	if before.dictionary != nil {
		worth = worthNext
	}
	was, is := ratio(measure, before.dictionary), ratio(measure, d)
	if is > was*worth {
		return useless, nil
	}
	return t.publish(ctx, before, d, is)
}

// publish makes a dictionary the topic's newest, unless another broker published one meanwhile or the topic is gone. A
// topic that ends at this very moment is looked at again afterwards, so that nothing of it stays.
func (t *Topic) publish(ctx context.Context, before *known, d *compress.Dictionary, ratio float64) (result string, err error) {
	r := t.registry
	if !r.Alive(t.name, t.id) || !before.of(r.Store.Identity()) {
		return others, nil
	}
	ok, err := r.Store.PublishDictionary(ctx, t.keys, before.newest.ID, d.ID(), d.Blob(), ratio)
	if err != nil {
		return failed, err
	}
	if !r.Alive(t.name, t.id) {
		if err := r.Store.RemoveDictionaries(ctx, t.keys); err != nil {
			return failed, fmt.Errorf("topic ended meanwhile: %w", err)
		}
		return others, nil
	}
	if !ok {
		return others, nil
	}
	return published, nil
}

// ratio is how many bytes values take per byte when they are compressed with a dictionary, or with none.
func ratio(values [][]byte, d *compress.Dictionary) float64 {
	plain, stored := 0, 0
	var frame []byte
	for _, v := range values {
		frame = compress.Zstd.Append(frame[:0], v, d)
		plain += len(v)
		stored += len(frame)
	}
	return float64(stored) / float64(max(plain, 1))
}

package dictionary

import "bytes"

// samples are values that a dictionary is to be trained on.
type samples struct {
	values [][]byte
	bytes  int
}

// maxSample is how much of a value is kept.
const maxSample = 32 << 10

// topicsAtOnce is for how many topics there is room to sample at a time; more wait.
const topicsAtOnce = 8

// Sampling tells whether values are wanted.
func (t *Topic) Sampling() bool { return t.sampling.Load() }

// Sample takes a copy of a value and reports whether more are wanted.
func (t *Topic) Sample(value []byte) bool {
	if len(value) == 0 {
		return true
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.sampling.Load() {
		return false
	}
	r := t.registry
	value = value[:min(len(value), maxSample)]
	if r.sampled.Load()+int64(len(value)) > int64(topicsAtOnce*r.SampleBytes) {
		return false // not now
	}
	r.sampled.Add(int64(len(value)))
	t.samples.values = append(t.samples.values, bytes.Clone(value))
	t.samples.bytes += len(value)
	if len(t.samples.values) < r.SampleRecords && t.samples.bytes < r.SampleBytes {
		return true
	}
	select {
	case r.ready <- t:
		t.sampling.Store(false)
		t.training = true
	default: // many wait: with newer values, later
		t.stopSampling()
		t.sampling.Store(true)
	}
	return false
}

// stopSampling forgets the samples. mu is held.
func (t *Topic) stopSampling() {
	t.sampling.Store(false)
	t.takeSamples()
}

// takeSamples hands over the samples, and the room that they took. mu is held.
func (t *Topic) takeSamples() [][]byte {
	taken := t.samples
	t.samples = samples{}
	t.registry.sampled.Add(-int64(taken.bytes))
	return taken.values
}

// dropSamples is for a topic that nobody uses any more.
func (t *Topic) dropSamples() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stopSampling()
}

// window measures how well the dictionary in force does.
type window struct {
	records       int
	plain, stored int64
}

const (
	windowRecords = 10_000
	// drift is how much worse than when it was trained a dictionary must do before another one is tried.
	drift = 1.25
)

// Wrote tells how large values were that were compressed with the dictionary in force, and how large they became.
func (t *Topic) Wrote(records, plain, stored int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	w := &t.window
	w.records += records
	w.plain += int64(plain)
	w.stored += int64(stored)
	if w.records < windowRecords {
		return
	}
	ratio := float64(w.stored) / float64(max(w.plain, 1))
	*w = window{}
	k := t.current.Load()
	if k == nil || k.dictionary == nil || k.newest.Ratio == 0 || t.training || t.registry.Now().Before(t.notBefore) {
		return
	}
	if ratio > k.newest.Ratio*drift {
		t.sampling.Store(true)
	}
}

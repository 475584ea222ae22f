package model

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"
)

// scene is a partition in a state in which the storage worker's next tick has much to do.
type scene struct {
	settings map[string]string
	set      func(w *world) error
	then     func(w *world) error // done between the kill and the next worker; what that ends with depends on when it was
	left     string               // a line of the inventory of what a whole tick leaves
}

// long ago is when the first part of each scene was appended.
const longAgo = time.Hour

var scenes = map[string]scene{
	// Two segments are too old, the log is to start inside the third, and the open one is idle.
	"segments": {
		settings: map[string]string{"retention.ms": "1800000", "segment.ms": "600000"},
		set: func(w *world) error {
			return errors.Join(
				w.past(w.fill(300), w.seal, w.fill(300), w.seal, w.fill(200)),
				w.present(w.fill(200), w.seal, w.fill(100)))
		},
	},
	// The open segment is idle and old enough to be sealed.
	"idle": {
		settings: map[string]string{"retention.ms": "-1", "segment.ms": "600000"},
		set:      func(w *world) error { return w.past(w.fill(300), w.seal, w.fill(300)) },
	},
	// One stream, the head of which is too old, and of which DeleteRecords has asked for more.
	"stream": {
		settings: map[string]string{"retention.ms": "1800000", "segment.bytes": "-1"},
		set: func(w *world) error {
			return errors.Join(w.past(w.fill(1500)), w.present(w.fill(700)))
		},
	},
	// Segments are too many.
	"bytes": {
		settings: map[string]string{"retention.bytes": "40000", "retention.ms": "-1"},
		set: func(w *world) error {
			return w.present(w.fill(300), w.seal, w.fill(300), w.seal, w.fill(300), w.seal, w.fill(300))
		},
	},
	// Two segments are too old, and with them all values that need the first two dictionaries. Some of those that need the
	// third one were appended just now.
	"dictionaries": {
		settings: map[string]string{
			"retention.ms": "1800000", "segment.ms": "600000", "storage.compression.type": "zstd", "storage.compression.dictionary.enabled": "true",
		},
		set: func(w *world) error {
			return errors.Join(
				w.past(w.retrain, w.fill(200), w.seal, w.retrain, w.fill(200), w.seal, w.retrain, w.fill(100)),
				w.present(w.fill(100), w.retrain, w.fill(100)))
		},
		left: "dictionaries of the partition [3 4], of the topic [3 4]",
	},
	// Most records of three streams are superseded, in holes large enough to be worth a rewrite, and all of a fourth.
	"compaction": {
		settings: map[string]string{"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0"},
		set: func(w *world) error {
			return w.present(w.fillWith(200, 0), w.seal, w.fill(900), w.seal, w.fill(900), w.seal, w.fill(900), w.later, w.fill(10))
		},
	},
	// The topic leaves compaction behind a worker that died in it: nobody goes on where that was.
	"compaction that is given up": {
		settings: map[string]string{"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0"},
		set:      func(w *world) error { return w.present(w.fill(1500), w.later, w.fill(10)) },
		then: func(w *world) error {
			return w.alterTo(map[string]string{"cleanup.policy": "delete", "retention.ms": "-1"})
		},
	},
	"compaction and retention": {
		settings: map[string]string{"cleanup.policy": "compact,delete", "min.cleanable.dirty.ratio": "0", "retention.ms": "1800000"},
		set: func(w *world) error {
			return errors.Join(w.past(w.fill(300), w.seal, w.fill(300)), w.present(w.fill(900), w.seal, w.fill(900), w.later, w.fill(10)))
		},
	},
}

// The short form kills after every third command, in turns.
func TestStorageWorkerMayDieAfterAnyCommand(t *testing.T) {
	for name, scene := range scenes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, step, phase := newStage(t), 1, 0
			if os.Getenv("KORVET_TEST_LONG") == "" {
				step, phase = 3, rand.IntN(3)
			}
			commands, whole, err := s.kill(t, scene, 1<<30)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(whole, scene.left) {
				t.Fatalf("a whole tick leaves\n%s\nwant %s", whole, scene.left)
			}
			for n := range commands {
				if n%step != phase {
					continue
				}
				_, end, err := s.kill(t, scene, n)
				if err != nil {
					t.Fatalf("killed after %d of %d commands: %v", n, commands, err)
				}
				if scene.then == nil && end != whole {
					t.Fatalf("killed after %d of %d commands, and the next worker was done:\n%s\nwithout that it is\n%s", n, commands, end, whole)
				}
			}
			t.Logf("%d commands; in all, %v", commands, &s.done)
		})
	}
}

// kill sets a scene and kills the storage worker after so many commands of its tick. The log is compared with the model,
// then the next worker does the rest, and what Redis has is returned.
func (s *stage) kill(t *testing.T, scene scene, limit int) (commands int, end string, err error) {
	const seed = 1
	w, err := s.open(t.Context(), seed, scene.settings)
	if err != nil {
		return 0, "", err
	}
	defer w.close()
	if err := scene.set(w); err != nil {
		return 0, "", fmt.Errorf("set the scene: %w", err)
	}
	open, err := w.retaining(false, func() (err error) { commands, err = w.tickUntil(limit); return err })
	if err != nil {
		return 0, "", err
	}
	cutShort(open)
	if err := errors.Join(w.checkAnew(open), w.checkDictionaries()); err != nil {
		return 0, "", fmt.Errorf("after the kill: %w", err)
	}
	if scene.then != nil {
		if err := scene.then(w); err != nil {
			return 0, "", err
		}
	}
	w.endKeeper()
	w.keeper = w.startKeeper(s.uri.Address)
	if _, err = w.tick(); err != nil {
		return 0, "", fmt.Errorf("after the next worker: %w", err)
	}
	end, err = w.inventory()
	return commands, end, err
}

// past carries out steps by a broker whose clock is slow, so that what it appends is old.
func (w *world) past(steps ...func() error) error {
	now, err := w.now()
	if err != nil {
		return err
	}
	b := w.startBrokerAt(3, now-uint64(longAgo.Milliseconds()))
	before := w.brokers[w.active]
	w.brokers[w.active] = b
	defer func() { w.brokers[w.active] = before }()
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return b.stop(w.ctx)
}

func (w *world) present(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// fill appends so many small records, a hundred at a time. One of five has a key that no other has.
func (w *world) fill(records int) func() error { return w.fillWith(records, 5) }

// fillWith is fill where one record of so many has a key of its own; 0: none.
func (w *world) fillWith(records, own int) func() error {
	return func() error {
		for left := records; left > 0; left -= 100 {
			p, batch := w.producers[0], make([]Record, min(left, 100))
			for i := range batch {
				key := fmt.Appendf(nil, "key-%d", w.rnd.IntN(50))
				if own > 0 && i%own == 0 {
					key = fmt.Appendf(nil, "only-%d", w.log.End+int64(i))
				}
				batch[i] = Record{Timestamp: time.Now().UnixMilli(), Key: key, Value: w.value(60)}
			}
			got, err := w.broker().deliver(w.ref, batch, p.identity, w.options())
			if err == nil {
				err = w.acknowledged(p, batch, got)
			}
			if err != nil {
				return err
			}
		}
		return w.learnAppendTimes()
	}
}

func (w *world) seal() error {
	_, err := w.roll()
	return err
}

// later waits until Redis's clock is past the newest append, so that the next one shares its time with none before:
// compaction leaves alone what does.
func (w *world) later() error {
	newest := w.log.Records[len(w.log.Records)-1].AppendMs
	for {
		if now, err := w.now(); err != nil || now > newest {
			return err
		}
	}
}

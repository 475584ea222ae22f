package model

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"
)

// length is how many steps a program has.
const length = 40

// budget is how long new programs are begun, in all lanes.
func budget() time.Duration {
	if os.Getenv("KORVET_TEST_LONG") != "" {
		return 10 * time.Minute
	}
	return 10 * time.Second
}

// seed is where the random choices begin, and whether somebody asked for this one.
func seed(t *testing.T) (seed uint64, asked bool) {
	text := os.Getenv("KORVET_TEST_SEED")
	if text == "" {
		return uint64(time.Now().UnixMilli()), false
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("KORVET_TEST_SEED: %v", err)
	}
	return seed, true
}

func TestPartitionsDoWhatTheModelDoes(t *testing.T) {
	const lanes = 2 // each on a Redis of its own
	first, asked := seed(t)
	if asked {
		if err := newStage(t).play(t.Context(), first, length); err != nil {
			t.Fatal(err)
		}
		return
	}
	end := time.Now().Add(budget())
	for lane := range uint64(lanes) {
		t.Run(fmt.Sprint("lane ", lane+1), func(t *testing.T) {
			t.Parallel()
			s, programs := newStage(t), 0
			for ; programs == 0 || time.Now().Before(end); programs++ {
				if err := s.play(t.Context(), first+lane+lanes*uint64(programs), length); err != nil {
					t.Fatal(err)
				}
			}
			t.Logf("%d programs of %d steps: %v", programs, length, &s.done)
		})
	}
}

package tiered

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/korvet-io/korvet/internal/iceberg/datafile"
	"github.com/korvet-io/korvet/internal/redistest"
	"github.com/korvet-io/korvet/test/harness"
)

// vandal is an engine that deletes, rewrites and expires as fast as the catalog takes it.
type vandal struct {
	*engine
	rng      *rand.Rand
	deleted  map[int32]map[int64]bool
	commits  int
	repeated int // that came second to copying
}

// run makes so many commits.
func (v *vandal) run(ctx context.Context, commits int) error {
	for v.commits < commits {
		err := v.step(ctx)
		switch {
		case errors.Is(err, errAgain):
			v.repeated++
		case err != nil:
			return fmt.Errorf("commit %d of an engine: %w", v.commits, err)
		}
	}
	return nil
}

func (v *vandal) step(ctx context.Context) error {
	s, err := v.load(ctx)
	if err != nil || len(s.data) == 0 {
		return err
	}
	d := s.data[v.rng.IntN(len(s.data))]
	gone := v.deleted[partitionOf(d)]
	first, err := s.first(ctx, d)
	if err != nil {
		return err
	}
	kept := func(r *datafile.Row) bool { return !gone[r.Offset] }
	switch v.commits % 4 {
	case 0:
		err = s.expire(ctx)
	case 1:
		if err = s.deleteFirst(ctx, d); err == nil {
			gone[first] = true
		}
	case 2:
		err = s.rewrite(ctx, kept, d)
	default:
		if err = s.rewrite(ctx, func(r *datafile.Row) bool { return kept(r) && r.Offset != first+1 }, d); err == nil {
			gone[first+1] = true
		}
	}
	if err == nil {
		v.commits++
	}
	return err
}

// Engines that commit all the time take nothing from copying and consumers, and copying nothing from them (pitfall C80).
func TestEnginesCommitWhileKorvetCopies(t *testing.T) {
	commits := 16
	if os.Getenv("KORVET_TEST_LONG") == "1" {
		commits = 200
	}
	for name, at := range places {
		t.Run(name, func(t *testing.T) {
			place := at(t)
			w := start(t, place, "--korvet.broker.tail-cache-bytes=0")
			w.create("t", 2, tiered("segment.ms=1000"))
			v := &vandal{
				engine: w.engine("t"),
				rng:    rand.New(rand.NewPCG(80, 0)), deleted: map[int32]map[int64]bool{0: {}, 1: {}},
			}
			const batch = 300
			next := int64(0)
			produce := func() {
				for p := range int32(2) {
					w.produce("t", p, next, next+batch)
				}
				next += batch
			}
			produce()
			w.awaitEnds(v.engine, next)
			ended := make(chan error, 1)
			go func() { ended <- v.run(t.Context(), commits) }()
			copied := next
			for running := true; running; {
				produce()
				w.awaitEnds(v.engine, next) // copying comes through
				copied = next
				select {
				case err := <-ended:
					if err != nil {
						t.Fatal(err)
					}
					running = false
				default:
				}
			}
			redistest.Eventually(t, "consumers to read what is left, once", func() bool { return w.left("t", v, next) })
			harness.Command(t, append([]string{"tables", "verify", "t", "--redis-uri", "redis://" + w.RedisAddr}, place.args...)...)
			failures := w.copyFailures()
			t.Logf("%d commits of an engine, %d of them repeated, while %d records were copied; %d failures of copying", v.commits, v.repeated, 2*copied, failures)
			if failures > v.commits {
				t.Errorf("%d failures of copying beside %d commits", failures, v.commits)
			}
		})
	}
}

// awaitEnds waits until both partitions' records are in the table.
func (w *world) awaitEnds(e *engine, end int64) {
	w.Helper()
	redistest.Eventually(w, fmt.Sprintf("the table to end at %d", end), func() bool {
		s, err := e.load(w.Context())
		if err != nil {
			return false
		}
		p, want := s.table.Metadata().Properties(), strconv.FormatInt(end, 10)
		return p["korvet.end.0"] == want && p["korvet.end.1"] == want
	})
}

// left tells whether a consumer reads what the engine has left of the records below an end, and nothing else.
func (w *world) left(topic string, v *vandal, end int64) bool {
	w.Helper()
	for p := range int32(2) {
		c, err := kgo.NewClient(kgo.SeedBrokers(w.Addr), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {p: kgo.NewOffset().At(0)}}))
		if err != nil {
			w.Fatal(err)
		}
		defer c.Close()
		expected := int64(0)
		skip := func() {
			for v.deleted[p][expected] {
				expected++
			}
		}
		for expected < end {
			skip()
			fetches := c.PollFetches(w.Context())
			if err := fetches.Err(); err != nil {
				w.Fatal(err)
			}
			for _, r := range fetches.Records() {
				skip()
				if v.deleted[p][r.Offset] { // Redis has it still
					return false
				}
				if r.Offset != expected || string(r.Value) != string(value(p, r.Offset)) {
					w.Fatalf("partition %d: offset %d where %d was expected", p, r.Offset, expected)
				}
				expected++
			}
			skip()
		}
	}
	return true
}

// copyFailures is how often copying has failed, whatever at.
func (w *world) copyFailures() (sum int) {
	w.Helper()
	for _, m := range regexp.MustCompile(`(?m)^korvet_storage_archive_failures_total\{[^}]*\} (\d+)$`).FindAllStringSubmatch(w.metrics(), -1) {
		n, err := strconv.Atoi(m[1])
		if err != nil {
			w.Fatal(err)
		}
		sum += n
	}
	return sum
}

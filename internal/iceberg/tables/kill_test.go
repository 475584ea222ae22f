package tables

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	mrand "math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/apache/iceberg-go"

	"github.com/korvet-io/korvet/internal/iceberg/chain"
	"github.com/korvet-io/korvet/internal/iceberg/datafile"
	"github.com/korvet-io/korvet/internal/iceberg/store"
	"github.com/korvet-io/korvet/internal/iceberg/storetest"
)

// mortals is a table that workers die at: each is killed with an operation of the store, before it or before its answer.
type mortals struct {
	*testing.T
	plain    store.Store
	location string
	skew     time.Duration
	lives    int
}

// open is the table as a process sees it that has read nothing yet.
func (m *mortals) open(s store.Store) *Table {
	return Open(&chain.Chain{Store: s, Hint: chain.NoHint{}, Location: m.location, Now: func() time.Time { return time.Now().Add(m.skew) }}, "korvet", "events")
}

func (m *mortals) must(errs ...error) {
	m.Helper()
	for _, err := range errs {
		if err != nil {
			m.Fatal(err)
		}
	}
}

// versions writes so many versions that old ones may go.
func (m *mortals) versions(tb *Table) {
	s := state(m.T, tb)
	for i := range keptVersions + 5 {
		var err error
		s, err = tb.SetProperties(m.Context(), s, iceberg.Properties{"n": fmt.Sprint(i)})
		m.must(err)
	}
}

func always(context.Context) error { return nil }

// upkeep is an operation of a worker, and the offsets that partition 0 has afterwards. All of them begin with those below 60.
type upkeep struct {
	name  string
	ready func(*mortals, *Table) // after the table was made
	run   func(ctx context.Context, tb *Table, s *State) error
	after []int64
	every int  // in the short form one of so many operations is the last, on S3 one of a quarter of that
	slow  bool // to prepare it takes seconds: it is in the long form only, at one of five operations
}

var upkeeps = []upkeep{
	{
		name: "append", every: 4, after: sequence(0, 80),
		run: func(ctx context.Context, tb *Table, s *State) error {
			if s.Ends[0] > 60 {
				return nil
			}
			var added []Added
			for _, from := range []int64{60, 70} {
				a, err := tryPut(ctx, tb, from, from+10)
				if err != nil {
					return err
				}
				added = append(added, a)
			}
			_, err := tb.Append(ctx, s, 1, added)
			return err
		},
	},
	{
		name: "drop", every: 12, after: sequence(30, 60),
		run: func(ctx context.Context, tb *Table, s *State) error {
			_, _, err := tb.DropBefore(ctx, s, 1, map[int32]int64{0: 30})
			return err
		},
	},
	{
		name: "merge", every: 20, after: sequence(0, 60),
		run: func(ctx context.Context, tb *Table, s *State) error {
			_, _, err := tb.Merge(ctx, s, 1, mergeRules(1<<20))
			return err
		},
	},
	{
		name: "truncate", every: 12, after: sequence(0, 45),
		run: func(ctx context.Context, tb *Table, s *State) error {
			if s.Ends[0] == 45 {
				return nil
			}
			_, _, err := tb.Truncate(ctx, s, 1, map[int32]Cut{0: {At: 45, End: 45}}, always, mergeRules(1).Options)
			return err
		},
	},
	{
		name: "expire", every: 2, after: sequence(0, 60), ready: func(m *mortals, _ *Table) { m.skew = 5 * time.Hour },
		run: func(ctx context.Context, tb *Table, s *State) error {
			_, _, err := tb.Expire(ctx, s, 1, Rules{MaxAge: time.Hour, MinCount: 1, MaxCount: 1})
			return err
		},
	},
	{
		name: "sweep", every: 12, after: sequence(0, 60),
		ready: func(m *mortals, tb *Table) {
			for range 3 { // their commits never came
				put(m.T, tb, 0, 60, 70)
			}
			m.skew = 100 * time.Hour
		},
		run: func(ctx context.Context, tb *Table, _ *State) error {
			_, err := tb.Sweep(ctx, 1, time.Hour)
			return err
		},
	},
	{
		name: "reclaim", every: 20, slow: true, after: sequence(30, 60),
		ready: func(m *mortals, tb *Table) {
			_, _, err := tb.DropBefore(m.Context(), state(m.T, tb), 1, map[int32]int64{0: 30})
			m.must(err)
			m.versions(tb)
			m.skew = 25 * time.Hour
			_, _, err = tb.Expire(m.Context(), state(m.T, tb), 1, Rules{MaxAge: time.Hour, MinCount: 1, MaxCount: 1})
			m.must(err)
			m.versions(tb)
			m.skew = 60 * time.Hour
		},
		run: func(ctx context.Context, tb *Table, _ *State) error {
			for {
				if r, err := tb.Reclaim(ctx, 1); err != nil || !r.More {
					return err
				}
			}
		},
	},
}

// tryPut is put by a process that may die meanwhile.
func tryPut(ctx context.Context, tb *Table, from, to int64) (Added, error) {
	a := Added{Location: fmt.Sprintf("%s/data/0-%d-%s.parquet", tb.chain.Location, from, rand.Text()), End: to}
	var file bytes.Buffer
	w := datafile.NewWriter(&file, 0, mergeRules(1).Options)
	for _, r := range sameRows(from, to) {
		if err := w.Write(&r); err != nil {
			return a, err
		}
	}
	var err error
	if a.Summary, err = w.Close(); err != nil {
		return a, err
	}
	a.Bytes = int64(file.Len())
	return a, tb.store.Put(ctx, a.Location, &file)
}

// dies has a worker die with the operation of the store after n others, and the next one go on. It reports whether there were so
// many operations.
func (m *mortals) dies(root string, u *upkeep, n int, how storetest.How) (died bool) {
	m.Helper()
	m.lives++
	m.location, m.skew = fmt.Sprintf("%s/%s-%d", root, u.name, m.lives), 0
	tb := m.open(m.plain)
	m.must(tb.Create(m.Context(), Life{Topic: "events", ID: "1"}, nil))
	for from := int64(0); from < 60; from += 10 {
		_, err := tb.Append(m.Context(), state(m.T, tb), 1, []Added{put(m.T, tb, 0, from, from+10), put(m.T, tb, 1, from, from+10)})
		m.must(err)
	}
	if u.ready != nil {
		u.ready(m, tb)
	}
	before := offsets(m.T, tb, state(m.T, tb), 0)
	ctx, cancel := context.WithCancel(m.Context())
	cut := storetest.NewCut(m.plain)
	mortal := m.open(cut)
	s, err := mortal.State(ctx)
	m.must(err)
	cut.Limit(n, how, cancel)
	err = u.run(ctx, mortal, s)
	cancel()
	if died = cut.Dead(); !died {
		m.must(err)
	}
	next := m.open(m.plain)
	if got := offsets(m.T, next, state(m.T, next), 0); !slices.Equal(got, before) && !slices.Equal(got, u.after) {
		m.Fatalf("%s died after %d operations: the table has offsets %v", u.name, n, got)
	}
	m.must(u.run(m.Context(), next, state(m.T, next)))
	next = m.open(m.plain)
	got, other := offsets(m.T, next, state(m.T, next), 0), offsets(m.T, next, state(m.T, next), 1)
	if !slices.Equal(got, u.after) || !slices.Equal(other, sequence(0, 60)) {
		m.Fatalf("%s died after %d operations, and was repeated: the table has offsets %v, and %v of another partition", u.name, n, got, other)
	}
	m.leavesNothing(next)
	return died
}

// leavesNothing wants no more below the table than its versions name, once it was swept.
func (m *mortals) leavesNothing(tb *Table) {
	m.Helper()
	m.skew += 200 * time.Hour
	_, err := tb.Sweep(m.Context(), 1, time.Hour)
	m.must(err)
	kept, err := tb.namedByVersions(m.Context(), state(m.T, tb).version, time.Hour)
	m.must(err)
	for _, folder := range []string{"/data/", "/metadata/"} {
		m.must(m.plain.List(m.Context(), m.location+folder, func(o store.Object) error {
			if !tb.chain.Own(o.Location) && !kept.names(o.Location) {
				m.Errorf("%s is left", o.Location)
			}
			return nil
		}))
	}
}

// A worker may die between any two operations of the store, whatever it does to a table: the table is as before or as it is to be,
// whoever goes on makes it so, and nothing is left that is not swept.
func TestWorkersMayDieBetweenAnyTwoOperationsOfUpkeep(t *testing.T) {
	long := os.Getenv("KORVET_TEST_LONG") != ""
	local, err := store.Open(t.Context(), "file:///", store.S3{})
	if err != nil {
		t.Fatal(err)
	}
	places := map[string]func(t *testing.T) (root string, s store.Store){
		"file": func(t *testing.T) (string, store.Store) { return "file://" + t.TempDir(), local },
	}
	if long {
		places["s3"] = func(t *testing.T) (string, store.Store) {
			server := storetest.Start(t)
			s, err := store.Open(t.Context(), server.Location(), server.Options(""))
			if err != nil {
				t.Fatal(err)
			}
			return server.Location(), s
		}
	}
	for name, place := range places {
		for i := range upkeeps {
			u := &upkeeps[i]
			if u.slow && !long {
				continue
			}
			t.Run(name+" "+u.name, func(t *testing.T) {
				root, plain := place(t)
				m := &mortals{T: t, plain: plain}
				step := 1
				switch {
				case !long:
					step = u.every
				case name == "s3": // where an operation takes ten times as long
					step = max(1, u.every/4)
				}
				if u.slow {
					step *= 5
				}
				for _, how := range []storetest.How{storetest.Before, storetest.After} {
					first := mrand.IntN(step)
					n := first
					for m.dies(root, u, n, how) {
						n += step
					}
					if n == first {
						t.Errorf("it asks less than %d operations of the store", n)
					}
					t.Logf("died after %d of at least %d operations, from %d on", (n-first)/step, n-step, first)
				}
			})
		}
	}
}

package partition_test

import (
	"bytes"
	"testing"

	"github.com/korvet-io/korvet/internal/batch"
	"github.com/korvet-io/korvet/internal/partition"
	"github.com/korvet-io/korvet/internal/redistest"
)

// tenth is how many more allocations 900 more records may cost: far fewer than one each, since buffers may grow.
const tenth = 90

// mustCostTheSame compares the allocations for 100 and for 1,000 records.
func mustCostTheSame(t *testing.T, cost func(records int) float64) {
	t.Helper()
	few, many := cost(100), cost(1000)
	if many-few > tenth {
		t.Errorf("%v allocations for 100 records, %v for 1,000", few, many)
	}
}

func rawBatch(t *testing.T, n int) []byte {
	t.Helper()
	return bytes.Clone(makeBatch(t, -1, -1, -1, 1000, numbers(0, n)...).Raw)
}

func TestAppendAllocatesNothingPerRecord(t *testing.T) {
	s := redistest.Start(t)
	f := newFixture(t, s, "1/a", func(s *partition.Settings) { s.TailCacheBytes = 0 })
	ref := newRef("t")
	mustCostTheSame(t, func(records int) float64 {
		raw := rawBatch(t, records)
		acked := make(chan error, 1)
		done := func(_ partition.Appended, err error) { acked <- err }
		return testing.AllocsPerRun(30, func() {
			b, err := batch.Parse(bytes.Clone(raw), batch.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			f.Append(ref, b, all, done)
			if err := <-acked; err != nil {
				t.Fatal(err)
			}
		})
	})
}

func TestReadAllocatesNothingPerRecord(t *testing.T) {
	s := redistest.Start(t)
	for tier, cache := range map[string]int64{"cache": 64 << 20, "redis": 0} {
		t.Run(tier, func(t *testing.T) {
			f := newFixture(t, s, "1/a", func(s *partition.Settings) { s.TailCacheBytes = cache })
			mustCostTheSame(t, func(records int) float64 {
				ref := newRef(tier)
				ref.Partition = int32(records)
				b, err := batch.Parse(rawBatch(t, records), batch.Limits{})
				if err != nil {
					t.Fatal(err)
				}
				if o := f.produce(ref, b, all); o.err != nil {
					t.Fatal(o.err)
				}
				var dst []byte
				return testing.AllocsPerRun(30, func() {
					res, err := f.Read(t.Context(), ref, partition.ReadRequest{MaxBytes: 1 << 20}, dst[:0])
					if err != nil || len(res.Batches) < records {
						t.Fatalf("read %d bytes: %v", len(res.Batches), err)
					}
					dst = res.Batches
				})
			})
		})
	}
}

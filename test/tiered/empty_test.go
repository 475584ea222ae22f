package tiered

import "testing"

// A partition that nobody has written to yet is empty, also when a partition beside it is in the table already.
func TestAPartitionThatNobodyWroteToIsEmpty(t *testing.T) {
	t.Parallel()
	w := start(t, places["file"](t))
	w.create("t", 3, tiered())
	w.produce("t", 2, 0, 2500)
	w.awaitDropped("t", 2, 900)
	for range 2 {
		for p := range int32(2) {
			if err := w.fetched("t", p, 0); err != nil {
				t.Errorf("a fetch: %v", err)
			}
			if first, end := w.offset("t", p, earliest), w.offset("t", p, -1); first != 0 || end != 0 {
				t.Errorf("partition %d has %d to %d", p, first, end)
			}
		}
		w.Restart()
		w.connect()
	}
	w.produce("t", 1, 0, 2500)
	w.awaitDropped("t", 1, 900)
	w.consume("t", 1, 0, 2500)
}

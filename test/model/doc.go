// Package model plays random programs of everything that happens to a partition - produce, roll, trims by hand and by
// DeleteRecords, retention, compaction, restarts, takeovers, a worker that dies, changed settings - on the real code over a
// real Redis, and compares the partition after each step with a simple log in memory: its ends, the record at each offset,
// lookups by time.
//
// A seed repeats a program's choices: KORVET_TEST_SEED. What time decides is compared with Redis's clock as it was before
// and after the step, so that a repeated program need not end alike, but must never differ from the model.
package model

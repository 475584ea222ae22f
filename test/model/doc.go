// Package model plays random programs of everything that happens to a topic's partitions - produce, roll, trims by hand and by
// DeleteRecords, retention, compaction, restarts of brokers and of Redis, takeovers, a worker that dies or sleeps between two
// commands, changed settings, new partitions - on the real code over a real Redis, and compares them after each step with
// simple logs in memory: their ends, the record at each offset, reads from every segment's edge, lookups by time. What a whole
// tick leaves in Redis is compared, too: keys, sizes, dictionaries.
//
// A seed repeats a program's choices: KORVET_TEST_SEED. What time decides is compared with Redis's clock as it was before
// and after the step, so that a repeated program need not end alike, but must never differ from the model.
package model

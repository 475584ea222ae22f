// Package model plays random programs of everything that happens to a topic's partitions - produce, roll, trims by hand and by
// DeleteRecords, retention, compaction, restarts of brokers and of Redis, takeovers, a worker that dies or sleeps between two
// commands or operations of the store, changed settings, new partitions, copies to the remote tier and its tables' upkeep, commits
// of engines, the remote tier turned off and on - on the real code over a real Redis and a directory, and compares them after each
// step with simple logs in memory: their ends, the record at each offset and its leader epoch, reads from the edges of segments
// and data files, lookups by time, where each tier begins and ends. The table alone is read by a reader that is not korvet's: up to
// its end it has each record of the log, once. What a whole tick leaves in Redis is compared, too: keys, sizes, dictionaries.
//
// A seed repeats a program's choices: KORVET_TEST_SEED. What time decides is compared with Redis's clock as it was before
// and after the step, so that a repeated program need not end alike, but must never differ from the model.
package model

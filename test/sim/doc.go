// Package sim runs several brokers' own append, fence and read code against one real Redis, with chance deciding when each
// message is delivered: every request to Redis waits in its connection's queue and is carried out at a random later step,
// also after its sender gave up on that connection. Time, clocks, rolls, failovers, strangers, deletions and refusals by
// Redis are chance's, too. A seed repeats a run.
//
// Checked at the end of a run: acknowledged records are at their acknowledged offset; none is there twice; offsets rise,
// and are dense unless strangers wrote; idempotent producers' records are there once and in order, whatever was retried;
// readers saw no gap, no change of a record at an offset and nothing above the high watermark; nothing of a deleted
// topic's life is in the next one.
//
// Each rule of the protocol can be switched off (see rules.go). A run with one off must break: that shows the rule is
// needed, and that the simulation would notice.
package sim

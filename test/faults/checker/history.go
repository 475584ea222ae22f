// Package checker proves from what producers and consumers saw that a log kept its promises while broker, Redis or
// network were failing.
//
// It knows nothing of Kafka clients: it is given each producer's history, each live consumer's view and one last reading
// of every partition, all as plain data.
package checker

// ID names a record for good: it is written into the record itself.
type ID struct {
	Producer int32
	Seq      int64 // rises with every record a producer sends, over all partitions
}

// Outcome is what a producer was told of a record.
type Outcome uint8

// Outcomes. A record whose producer stopped before it heard anything is Unknown as well.
const (
	Unknown Outcome = iota // it may be in the log, several times for a plain producer
	Acked                  // it has to be in the log at its Offset
)

// Sent is one record of a producer's history.
type Sent struct {
	Partition int32
	Seq       int64
	Digest    uint64 // over everything a consumer gets to see of it: key, value, headers, timestamp
	Outcome   Outcome
	Offset    int64 // as acknowledged; only with Acked
}

// Producer is the history of one producer, in the order in which it sent.
type Producer struct {
	ID         int32
	Idempotent bool // else plain: at least once, with one request in flight
	Sent       []Sent
}

// Entry is one record as it was read.
type Entry struct {
	Offset int64
	ID     ID // Producer is negative when the record carries no ID, or one that its own checksum contradicts
	Digest uint64
}

// View is what one consumer saw of one partition while the faults went on, in the order in which it saw it.
type View struct {
	Consumer  string
	Partition int32
	Start     int64 // the offset it began at
	Complete  bool  // it was given the time to reach the end of the log
	Entries   []Entry
}

// Run is everything that is known after a test.
type Run struct {
	Producers []Producer
	Views     []View
	Final     map[int32][]Entry // each partition from offset 0 to its end, read when all was quiet
}

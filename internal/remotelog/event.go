// Package remotelog publishes what happens to the segments of the remote tier as records of the internal topic
// __remote_log_metadata. The storage worker queues events in Redis, together with how far what they tell of has come; the broker
// that leads a partition of the topic appends them there. Nothing depends on the topic: the tables are what counts.
package remotelog

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/korvet-io/korvet/internal/iceberg/tables"
	"github.com/korvet-io/korvet/internal/redisstream"
	"github.com/korvet-io/korvet/internal/worker/lifecycle"
)

// Topic is the internal topic's name.
const Topic = "__remote_log_metadata"

// States beside those of lifecycle.Event, which are Kafka's.
const (
	// ListStarted begins a list of all segments of a partition: those that were told of before and are not in it are gone.
	ListStarted = "LIST_STARTED"
	// DeletePartition tells that the partition's table is no topic's any more: all its segments go. PartitionDeleted tells that they
	// are gone.
	DeletePartition  = "DELETE_PARTITION_MARKED"
	PartitionDeleted = "DELETE_PARTITION_FINISHED"
)

// format is that of Event's JSON. Fields may come; a change of their meaning makes a new format.
const format = 1

// Event is the value of a record of the topic.
type Event struct {
	Format    int       `json:"format"`
	State     string    `json:"state"`
	Topic     string    `json:"topic"`
	TopicID   uuid.UUID `json:"topic_id"`
	Partition int32     `json:"partition"`
	TimeMs    int64     `json:"time"` // when it was queued
	// Segment is the data file's name, Location where it is.
	Segment  string `json:"segment,omitempty"`
	Location string `json:"location,omitempty"`
	// First and Last are offsets.
	First        *int64 `json:"first,omitempty"`
	Last         *int64 `json:"last,omitempty"`
	Records      int64  `json:"records,omitempty"`
	Bytes        int64  `json:"bytes,omitempty"`
	MaxTimestamp *int64 `json:"max_timestamp,omitempty"` // of the records, ms
	// Table is the table's location, Version the number of its metadata file from which on this is so: of two records about one
	// segment the one with the higher version counts.
	Table   string `json:"table,omitempty"`
	Version int64  `json:"version,omitempty"`
	// Fence is the number of the lease under which a copy was begun.
	Fence int64 `json:"fence,omitempty"`

	kind redisstream.EventKind // how it is told; "": as its state is usually
}

// encode is the event as a record's value.
func (e *Event) encode() (string, error) {
	e.Format = format
	b, err := json.Marshal(e)
	if err != nil {
		return "", fmt.Errorf("encode event: %w", err)
	}
	return string(b), nil
}

// kinds say how events of a state are told: what is begun or going is noted until it was told to have ended.
var kinds = map[string]redisstream.EventKind{
	lifecycle.CopySegmentStarted: redisstream.EventStarts, lifecycle.CopySegmentFinished: redisstream.EventDone,
	lifecycle.DeleteSegmentStarted: redisstream.EventBegins, lifecycle.DeleteSegmentFinished: redisstream.EventEnds,
	DeletePartition: redisstream.EventBegins, PartitionDeleted: redisstream.EventEnds,
}

// toQueue is the event as an outbox takes it.
func (e *Event) toQueue() (n redisstream.NewEvent, err error) {
	n.Text, err = e.encode()
	if n.Kind = cmp.Or(e.kind, kinds[e.State]); n.Kind != "" {
		n.Of = e.going()
	}
	return n, err
}

// going names what a copy or a deletion is of: a partition of a table, or an object.
func (e *Event) going() string {
	if e.Location != "" {
		return e.Location
	}
	return Key(e.TopicID, e.Partition) + " " + e.Table
}

// Key is the key of all records about a partition: they are in one partition of the topic, in order.
func Key(topicID uuid.UUID, partition int32) string {
	return topicID.String() + ":" + strconv.Itoa(int(partition))
}

// PartitionOf is the partition of the topic, of so many, that has a key's records: the one that Kafka's own clients choose.
func PartitionOf(key string, partitions int32) int32 {
	return int32(murmur2([]byte(key))&0x7fffffff) % partitions
}

// murmur2 is the hash of Kafka's default partitioner (org.apache.kafka.common.utils.Utils).
func murmur2(b []byte) uint32 {
	const m, seed = 0x5bd1e995, 0x9747b28c
	h := uint32(seed) ^ uint32(len(b))
	for ; len(b) >= 4; b = b[4:] {
		k := (uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24) * m
		h = h*m ^ (k^k>>24)*m
	}
	for i := len(b) - 1; i >= 0; i-- {
		h ^= uint32(b[i]) << (8 * i)
		if i == 0 {
			h *= m
		}
	}
	h = (h ^ h>>13) * m
	return h ^ h>>15
}

// startedEvent tells that the worker which has the lease of a number has begun a copy.
func startedEvent(e *lifecycle.Event, fence int64) *Event {
	return &Event{
		State: e.State, Topic: e.Topic, TopicID: e.TopicID, Partition: e.Partition, Segment: nameOf(e.Location), Location: e.Location,
		First: &e.First, Last: &e.Last, Table: e.Table, Fence: fence,
	}
}

// fileEvent is about a data file as the table has it.
func fileEvent(state string, f *tables.File) *Event {
	e := &Event{State: state, Segment: nameOf(f.Location), Location: f.Location, First: &f.First, Last: &f.Last, Records: f.Rows, Bytes: f.Bytes}
	if f.Timed {
		e.MaxTimestamp = &f.MaxTimestamp
	}
	return e
}

func nameOf(location string) string { return location[strings.LastIndexByte(location, '/')+1:] }

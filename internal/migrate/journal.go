package migrate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// JournalPrefix begins the names of the topics that hold journals; the target's name follows.
const JournalPrefix = "__korvet_migrate."

// JournalName is the topic with the journal of the migration to a target.
func JournalName(target string) string { return JournalPrefix + target }

// journalBatch bounds an entry. It is well below the default of max.message.bytes.
const journalBatch = 900_000

// journal is the topic in which a migration notes what it is about to do. It has one partition. Its writer is fenced by
// the producer's epoch: each run takes the next one, and from then on the broker refuses those before it.
type journal struct {
	cluster  *Cluster
	topic    *topic
	producer int64
	epoch    int16
	sequence int32
	next     int64 // the offset of the next entry
}

// openJournal finds a journal. kerr.UnknownTopicOrPartition tells that there is none.
func openJournal(ctx context.Context, c *Cluster, target string) (*journal, error) {
	t, err := c.lookUp(ctx, JournalName(target))
	if err != nil {
		return nil, err
	}
	return &journal{cluster: c, topic: t}, nil
}

// createJournal makes the topic unless it is there.
func createJournal(ctx context.Context, c *Cluster, target string) (*journal, error) {
	name := JournalName(target)
	keep, forever, size := "delete", "-1", "1048588"
	configs := map[string]*string{"cleanup.policy": &keep, "retention.ms": &forever, "retention.bytes": &forever, "max.message.bytes": &size}
	_, err := c.Admin.CreateTopic(ctx, 1, -1, configs, name)
	if err != nil && !errors.Is(err, kerr.TopicAlreadyExists) {
		return nil, fmt.Errorf("create topic %s: %w", name, err)
	}
	return openJournal(ctx, c, target)
}

// read passes on the entries from next on, up to the log's end, and moves next.
func (j *journal) read(ctx context.Context, each func(offset int64, e Entry) error) error {
	for {
		got, err := j.cluster.fetch(ctx, j.topic, map[int32]int64{0: j.next}, 0)
		if err != nil {
			return fmt.Errorf("read journal: %w", err)
		}
		f := got[0]
		for _, r := range f.records {
			if r.Offset != j.next {
				return fmt.Errorf("read journal: entry %d is missing", j.next)
			}
			e, err := decodeEntry(r.Value)
			if err != nil {
				return fmt.Errorf("read journal at offset %d: %w", r.Offset, err)
			}
			if err := each(r.Offset, e); err != nil {
				return err
			}
			j.next = r.Offset + 1
		}
		if len(f.records) == 0 && j.next >= f.end {
			return nil
		}
	}
}

// takeOver makes this process the only one that appends, and reads the journal up to its own entry.
func (j *journal) takeOver(ctx context.Context, run Run, each func(offset int64, e Entry) error) error {
	const tries = 20 // others may start at the same time
	for range tries {
		mine, err := j.claim(ctx, run, each)
		if mine || err != nil {
			return err
		}
	}
	return errors.New("take over the migration: others do so again and again")
}

// claim reads the journal and takes the epoch after the last one.
func (j *journal) claim(ctx context.Context, run Run, each func(offset int64, e Entry) error) (mine bool, err error) {
	watch := func(offset int64, e Entry) error {
		mine = false
		if r := e.Run; r != nil && (offset == 0 || r.Producer == j.producer) { // of two first ones that began at once, one decides
			j.producer, j.epoch = r.Producer, r.Epoch
			mine = r.Nonce == run.Nonce
		}
		return each(offset, e)
	}
	if err := j.read(ctx, watch); err != nil {
		return false, err
	}
	mine = false
	run.Producer, run.Epoch = j.producer, j.epoch+1
	if j.next == 0 {
		if run.Producer, err = j.newProducer(ctx); err != nil {
			return false, err
		}
		run.Epoch = 0
	}
	if run.Epoch < 0 {
		return false, errors.New("take over the migration: it was started too often")
	}
	j.sequence = 0
	_, err = j.send(ctx, run.Producer, run.Epoch, Entry{Run: &run})
	if err != nil && !errors.Is(err, ErrTakenOver) {
		return false, err
	}
	if err := j.read(ctx, watch); err != nil {
		return false, err
	}
	j.sequence = 1
	return mine, nil
}

// newProducer gets an id of the cluster.
func (j *journal) newProducer(ctx context.Context) (int64, error) {
	id := int64(-1)
	err := j.cluster.retry(ctx, j.topic, "get a producer id for", func(*topic) error {
		resp, err := kmsg.NewPtrInitProducerIDRequest().RequestWith(ctx, j.cluster.Client)
		if err != nil {
			return err
		}
		id = resp.ProducerID
		return kerr.ErrorForCode(resp.ErrorCode)
	})
	return id, err
}

// append stores an entry. It is there when append returns.
func (j *journal) append(ctx context.Context, e Entry) error {
	base, err := j.send(ctx, j.producer, j.epoch, e)
	if err != nil {
		return err
	}
	if base != j.next {
		return fmt.Errorf("write journal: an entry is at offset %d, not %d: %w", base, j.next, ErrTakenOver)
	}
	j.sequence++
	j.next++
	return nil
}

func (j *journal) send(ctx context.Context, producer int64, epoch int16, e Entry) (int64, error) {
	text, err := json.Marshal(e)
	if err != nil {
		return 0, fmt.Errorf("write journal: %w", err)
	}
	var b batchBuilder
	b.add(&kgo.Record{Value: text, Timestamp: time.Now()}, journalBatch)
	raw, err := b.encode(producer, epoch, int64(j.sequence))
	if err != nil {
		return 0, err
	}
	bases, err := j.cluster.produce(ctx, j.topic, map[int32][]byte{0: raw})
	if errors.Is(err, kerr.InvalidProducerEpoch) || errors.Is(err, kerr.ProducerFenced) || errors.Is(err, kerr.OutOfOrderSequenceNumber) {
		return 0, fmt.Errorf("write journal: %w: %w", ErrTakenOver, err)
	}
	if err != nil {
		return 0, fmt.Errorf("write journal: %w", err)
	}
	return bases[0], nil
}

// taken tells whether somebody else has appended.
func (j *journal) taken(ctx context.Context) (bool, error) {
	ends, err := j.cluster.offsets(ctx, j.topic, logEnd)
	if err != nil {
		return false, err
	}
	return ends[0] != j.next, nil
}

// remove deletes the journal.
func (j *journal) remove(ctx context.Context) error {
	deleted, err := j.cluster.Admin.DeleteTopic(ctx, j.topic.name)
	if err == nil {
		err = deleted.Err
	}
	if err != nil {
		return fmt.Errorf("delete topic %s: %w", j.topic.name, err)
	}
	return nil
}

// List names the targets of the migrations that a cluster has journals of.
func List(ctx context.Context, c *Cluster) ([]string, error) {
	topics, err := c.Admin.ListTopicsWithInternal(ctx)
	if err != nil {
		return nil, fmt.Errorf("list topics: %w", err)
	}
	var targets []string
	for _, name := range topics.Names() {
		if target, ok := strings.CutPrefix(name, JournalPrefix); ok {
			targets = append(targets, target)
		}
	}
	return targets, nil
}

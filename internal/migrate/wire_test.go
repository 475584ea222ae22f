package migrate

import (
	"encoding/binary"
	"hash/crc32"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// transactional makes a batch of one record at an offset one that belongs to a transaction, or ends one: with control it
// aborts it.
func transactional(t *testing.T, producer, offset int64, value string, control bool) []byte {
	t.Helper()
	record := &kgo.Record{Value: []byte(value), Timestamp: time.UnixMilli(1)}
	if control {
		record.Key, record.Value = []byte{0, 0, 0, 0}, []byte{0, 0, 0, 0, 0, 0}
	}
	var b batchBuilder
	b.add(record, 1<<20)
	raw, err := b.encode(producer, 0, offset)
	if err != nil {
		t.Fatal(err)
	}
	raw[22] |= 1 << 4
	if control {
		raw[22] |= 1 << 5
	}
	binary.BigEndian.PutUint64(raw, uint64(offset))
	binary.BigEndian.PutUint32(raw[17:], crc32.Checksum(raw[21:], crc32.MakeTable(crc32.Castagnoli)))
	return raw
}

func TestWhatATransactionTookBackIsNotRead(t *testing.T) {
	p := kmsg.NewFetchResponseTopicPartition()
	p.HighWatermark, p.LastStableOffset = 9, 3
	p.RecordBatches = append(p.RecordBatches, transactional(t, 7, 0, "taken back", false)...)
	p.RecordBatches = append(p.RecordBatches, transactional(t, 8, 1, "kept", false)...)
	p.RecordBatches = append(p.RecordBatches, transactional(t, 7, 2, "", true)...)
	p.AbortedTransactions = []kmsg.FetchResponseTopicPartitionAbortedTransaction{{ProducerID: 7, FirstOffset: 0}}
	got, err := new(Cluster).decode(t.Context(), &topic{name: "t"}, &p, 0)
	if err != nil || len(got.records) != 1 || string(got.records[0].Value) != "kept" {
		t.Fatalf("read %+v, %v", got.records, err)
	}
	if got.next != 3 || got.end != 3 {
		t.Errorf("goes on at %d of %d: what is open above 3 is not to be read, and not to be passed over", got.next, got.end)
	}
	p.LastStableOffset = -1
	if got, err := new(Cluster).decode(t.Context(), &topic{name: "t"}, &p, 0); err != nil || got.end != 9 {
		t.Errorf("a broker without transactions: ends at %d, %v", got.end, err)
	}
}

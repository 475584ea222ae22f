package api

import (
	"context"

	"github.com/korvet-io/korvet/internal/batch"
	"github.com/korvet-io/korvet/internal/partition"
)

// Logs is what the Kafka API needs of the partitions' logs. All methods are safe for concurrent use and return the error
// kinds of package partition.
type Logs interface {
	// Append queues one validated batch, which belongs to the log from then on (its bytes must not be reused). Batches
	// of one partition are appended in the order of the calls. done is called exactly once, maybe before Append returns,
	// and must not block: when the batch is acknowledged as opt asks, refused, or timed out.
	Append(p partition.Ref, b *batch.Batch, opt partition.AppendOptions, done func(partition.Appended, error))
	// Read appends whole record batches below the high watermark to dst. It does not wait for new ones. When it succeeds dst
	// belongs to the log, which may have answered with another buffer.
	Read(ctx context.Context, p partition.Ref, req partition.ReadRequest, dst []byte) (partition.ReadResult, error)
	// Prepare begins to read what is at an offset of the remote tier, so that the Read that follows waits less. It does not wait
	// itself.
	Prepare(p partition.Ref, offset int64, bytes int)
	// Watch calls wake once when the high watermark passes offset, or when the partition is deleted or changes its
	// leader epoch. It may call it spuriously, and at once. cancel is idempotent.
	Watch(p partition.Ref, offset int64, wake func()) (cancel func())
	// Bounds tells the ends of the log.
	Bounds(ctx context.Context, p partition.Ref) (partition.Bounds, error)
	// OffsetForTime finds the first record, in offset order, whose timestamp is at or after ms.
	OffsetForTime(ctx context.Context, p partition.Ref, ms int64) (partition.TimeOffset, error)
	// MaxTimestamp finds the first record of the largest timestamp.
	MaxTimestamp(ctx context.Context, p partition.Ref) (partition.TimeOffset, error)
	// EndOfEpoch tells where the largest epoch not above the one asked for ends (KIP-320). Epoch -1: unknown.
	EndOfEpoch(ctx context.Context, p partition.Ref, epoch int32) (leaderEpoch int32, endOffset int64, err error)
	// DeleteBefore raises the log start to offset (-1: the high watermark) and returns the new one.
	DeleteBefore(ctx context.Context, p partition.Ref, offset int64) (logStart int64, err error)
	// Size tells the bytes the partition uses in Redis.
	Size(ctx context.Context, p partition.Ref) (int64, error)
	// Producers lists the idempotent producers that are remembered, by id.
	Producers(ctx context.Context, p partition.Ref) ([]partition.ProducerState, error)
}

package api

import (
	"context"
	"errors"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/korvet-io/korvet/internal/batch"
	"github.com/korvet-io/korvet/internal/metadata"
	"github.com/korvet-io/korvet/internal/partition"
	"github.com/korvet-io/korvet/internal/topicconfig"
)

// errorCodes is the one place that turns the error kinds of the packages below into Kafka's codes. The first match counts.
var errorCodes = []struct {
	kind error
	code *kerr.Error
}{
	// What a client does best with a partition that it cannot have here now is to ask for its leader again.
	{partition.ErrNotLeader, kerr.NotLeaderForPartition},
	{partition.ErrClosed, kerr.NotLeaderForPartition},
	{partition.ErrTimeout, kerr.RequestTimedOut},
	{partition.ErrStorage, kerr.KafkaStorageError},
	{partition.ErrNotEnoughReplicas, kerr.NotEnoughReplicas},
	{partition.ErrNotEnoughReplicasAfter, kerr.NotEnoughReplicasAfterAppend},
	{partition.ErrOffsetOutOfRange, kerr.OffsetOutOfRange},
	{partition.ErrOutOfOrderSequence, kerr.OutOfOrderSequenceNumber},
	{partition.ErrInvalidProducerEpoch, kerr.InvalidProducerEpoch},
	{partition.ErrInvalidRecord, kerr.InvalidRecord},
	{partition.ErrTooLarge, kerr.MessageTooLarge},
	{partition.ErrUnknownPartition, kerr.UnknownTopicOrPartition},
	{partition.ErrFencedLeaderEpoch, kerr.FencedLeaderEpoch},
	{partition.ErrUnknownLeaderEpoch, kerr.UnknownLeaderEpoch},

	{batch.ErrCorrupt, kerr.CorruptMessage},
	{batch.ErrInvalidRecord, kerr.InvalidRecord},
	{batch.ErrInvalidTimestamp, kerr.InvalidTimestamp},
	{batch.ErrUnsupportedCompression, kerr.UnsupportedCompressionType},
	{batch.ErrTooLarge, kerr.MessageTooLarge},

	{metadata.ErrTopicExists, kerr.TopicAlreadyExists},
	{metadata.ErrUnknownTopic, kerr.UnknownTopicOrPartition},
	{metadata.ErrUnknownTopicID, kerr.UnknownTopicID},
	{metadata.ErrUnavailable, kerr.RequestTimedOut},     // it may have happened
	{metadata.ErrVersionConflict, kerr.RequestTimedOut}, // it lost every race it was repeated in
	{metadata.ErrSuperseded, kerr.NotLeaderForPartition},

	{context.DeadlineExceeded, kerr.RequestTimedOut},
	{context.Canceled, kerr.RequestTimedOut},
}

// kafkaError returns Kafka's error for err; nil for nil. An error of no known kind is storage that fails: clients try
// again. It is never UNKNOWN_SERVER_ERROR, which clients take as the end.
func kafkaError(err error) *kerr.Error {
	if err == nil {
		return nil
	}
	if e := knownError(err); e != nil {
		return e
	}
	return kerr.KafkaStorageError
}

// isKnown tells whether err is of a kind that has a code of its own.
func isKnown(err error) bool { return knownError(err) != nil }

func knownError(err error) *kerr.Error {
	var invalid *topicconfig.InvalidError
	if errors.As(err, &invalid) {
		return kerr.InvalidConfig
	}
	var coded *kerr.Error
	if errors.As(err, &coded) {
		return coded
	}
	for i := range errorCodes {
		if errors.Is(err, errorCodes[i].kind) {
			return errorCodes[i].code
		}
	}
	return nil
}

// errorCode returns Kafka's error code for err, 0 for nil.
func errorCode(err error) int16 {
	if e := kafkaError(err); e != nil {
		return e.Code
	}
	return 0
}

// maxMessage bounds an error's text, in bytes: it may quote what the client sent, and old versions of the protocol have
// two bytes for its length.
const maxMessage = 1000

// errorMessage returns the text that goes with an error code where the protocol has a place for it; nil for nil.
func errorMessage(err error) *string {
	if err == nil {
		return nil
	}
	text := err.Error()
	if len(text) > maxMessage {
		text = strings.ToValidUTF8(text[:maxMessage], "") + "..."
	}
	return &text
}

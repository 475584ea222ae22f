package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/korvet-io/korvet/internal/batch"
	"github.com/korvet-io/korvet/internal/group"
	"github.com/korvet-io/korvet/internal/metadata"
	"github.com/korvet-io/korvet/internal/partition"
	"github.com/korvet-io/korvet/internal/topicconfig"
)

// errorKind is an error kind of a package below.
type errorKind struct {
	kind error
	code *kerr.Error
	// private tells that the details are about what is behind the broker (addresses of Redis, say), so that clients are
	// told the kind only.
	private bool
}

// errorCodes is the one place that turns error kinds into Kafka's codes. The first match counts.
var errorCodes = []errorKind{
	// What a client does best with a partition that it cannot have here now is to ask for its leader again.
	{partition.ErrNotLeader, kerr.NotLeaderForPartition, true},
	{partition.ErrClosed, kerr.NotLeaderForPartition, true},
	{partition.ErrTimeout, kerr.RequestTimedOut, true},
	{partition.ErrFull, kerr.KafkaStorageError, true},
	{partition.ErrNotSaved, kerr.KafkaStorageError, true},
	{partition.ErrStorage, kerr.KafkaStorageError, true},
	{partition.ErrRemote, kerr.KafkaStorageError, true},
	{partition.ErrRemoteAway, kerr.KafkaStorageError, true},
	{partition.ErrNotEnoughReplicas, kerr.NotEnoughReplicas, true},
	{partition.ErrNotEnoughReplicasAfter, kerr.NotEnoughReplicasAfterAppend, true},
	{partition.ErrOffsetOutOfRange, kerr.OffsetOutOfRange, false},
	{partition.ErrOutOfOrderSequence, kerr.OutOfOrderSequenceNumber, false},
	{partition.ErrInvalidProducerEpoch, kerr.InvalidProducerEpoch, false},
	{partition.ErrInvalidRecord, kerr.InvalidRecord, false},
	{partition.ErrCorruptValue, kerr.CorruptMessage, false},
	{partition.ErrTooLarge, kerr.MessageTooLarge, false},
	{partition.ErrUnknownPartition, kerr.UnknownTopicOrPartition, false},
	{partition.ErrFencedLeaderEpoch, kerr.FencedLeaderEpoch, false},
	{partition.ErrUnknownLeaderEpoch, kerr.UnknownLeaderEpoch, false},

	{batch.ErrCorrupt, kerr.CorruptMessage, false},
	{batch.ErrInvalidRecord, kerr.InvalidRecord, false},
	{batch.ErrInvalidTimestamp, kerr.InvalidTimestamp, false},
	{batch.ErrUnsupportedCompression, kerr.UnsupportedCompressionType, false},
	{batch.ErrTooLarge, kerr.MessageTooLarge, false},

	{metadata.ErrTopicExists, kerr.TopicAlreadyExists, false},
	{metadata.ErrUnknownTopic, kerr.UnknownTopicOrPartition, false},
	{metadata.ErrUnknownTopicID, kerr.UnknownTopicID, false},
	{metadata.ErrVersionConflict, kerr.RequestTimedOut, true}, // it lost every race it was repeated in
	{metadata.ErrTableLeaving, kerr.InvalidConfig, false},
	{metadata.ErrTooManyConfigs, kerr.PolicyViolation, false},
	{metadata.ErrSuperseded, kerr.NotLeaderForPartition, true},

	{group.ErrUnknownMember, kerr.UnknownMemberID, false},
	{group.ErrIllegalGeneration, kerr.IllegalGeneration, false},
	{group.ErrRebalanceInProgress, kerr.RebalanceInProgress, false},
	{group.ErrInconsistentProtocol, kerr.InconsistentGroupProtocol, false},
	{group.ErrFencedInstance, kerr.FencedInstanceID, false},
	{group.ErrMemberIDRequired, kerr.MemberIDRequired, false},
	{group.ErrInvalidSession, kerr.InvalidSessionTimeout, false},
	{group.ErrInvalidGroupID, kerr.InvalidGroupID, false},
	{group.ErrGroupFull, kerr.GroupMaxSizeReached, false},
	{group.ErrNonEmpty, kerr.NonEmptyGroup, false},
	{group.ErrNotFound, kerr.GroupIDNotFound, false},
	{group.ErrSubscribed, kerr.GroupSubscribedToTopic, false},
	{group.ErrInvalidRequest, kerr.InvalidRequest, false},
	{group.ErrFencedMemberEpoch, kerr.FencedMemberEpoch, false},
	{group.ErrStaleMemberEpoch, kerr.StaleMemberEpoch, false},
	{group.ErrUnreleasedInstance, kerr.UnreleasedInstanceID, false},
	{group.ErrUnsupportedAssignor, kerr.UnsupportedAssignor, false},
	{group.ErrInvalidRegexp, kerr.InvalidRegularExpression, false},
	{group.ErrUnsupportedVersion, kerr.UnsupportedVersion, false},
	{group.ErrMetadataTooLarge, kerr.OffsetMetadataTooLarge, false},
	{group.ErrUnsupportedMigration, kerr.GroupIDNotFound, false}, // the group is none of the protocol that was asked for
	{group.ErrNotCoordinator, kerr.NotCoordinator, true},
	{group.ErrCoordinatorUnavailable, kerr.CoordinatorNotAvailable, true},
	{group.ErrLoading, kerr.CoordinatorLoadInProgress, true},

	// Behind those of groups, which have codes of their own for it, and before the last, which may have happened.
	{metadata.ErrFull, kerr.KafkaStorageError, true},
	{metadata.ErrNotSaved, kerr.KafkaStorageError, true},
	{metadata.ErrUnavailable, kerr.RequestTimedOut, true},

	{context.DeadlineExceeded, kerr.RequestTimedOut, true},
	{context.Canceled, kerr.RequestTimedOut, true},
}

// refusal is an error that names its code itself, with a text for the client.
type refusal struct {
	code *kerr.Error
	text string
}

func (r *refusal) Error() string { return r.text }
func (r *refusal) Unwrap() error { return r.code }

func refuse(code *kerr.Error, format string, args ...any) error {
	return &refusal{code: code, text: fmt.Sprintf(format, args...)}
}

// classify returns Kafka's error for err, and its kind where one of errorCodes matches. An error of no known kind is
// storage that fails, so that clients try again. It is never UNKNOWN_SERVER_ERROR, which clients take as the end.
func classify(err error) (code *kerr.Error, kind *errorKind) {
	var invalid *topicconfig.InvalidError
	if errors.As(err, &invalid) {
		return kerr.InvalidConfig, nil
	}
	var coded *kerr.Error
	if errors.As(err, &coded) {
		return coded, nil
	}
	for i := range errorCodes {
		if errors.Is(err, errorCodes[i].kind) {
			return errorCodes[i].code, &errorCodes[i]
		}
	}
	return kerr.KafkaStorageError, &unknownKind
}

// unknownKind is the kind of errors that have none: a fault of ours.
var unknownKind = errorKind{errors.New("internal error"), kerr.KafkaStorageError, true}

// errorCode returns Kafka's error code for err, 0 for nil.
func errorCode(err error) int16 {
	if err == nil {
		return 0
	}
	code, _ := classify(err)
	return code.Code
}

// fetchErrorCode is errorCode for a partition of a Fetch. Java's consumer ends at codes that Kafka does not answer a Fetch
// with; it asks for the leader again after this one.
func fetchErrorCode(err error) int16 {
	return instead(errorCode(err), kerr.RequestTimedOut, kerr.NotLeaderForPartition)
}

// metadataErrorCode is errorCode for a topic in Metadata: after this code clients ask again.
func metadataErrorCode(err error) int16 {
	return instead(errorCode(err), kerr.RequestTimedOut, kerr.LeaderNotAvailable)
}

func instead(code int16, of, better *kerr.Error) int16 {
	if code == of.Code {
		return better.Code
	}
	return code
}

// maxMessage bounds an error's text, in bytes: it may quote what the client sent, and old versions of the protocol have
// two bytes for its length.
const maxMessage = 1000

// reasons are what clients are told beside a private kind: an operator can do something about them.
var reasons = []error{metadata.ErrFull, metadata.ErrNotSaved}

// errorMessage returns the text that goes with an error code where the protocol has a place for it; nil for nil.
func errorMessage(err error) *string {
	if err == nil {
		return nil
	}
	text := err.Error()
	if _, kind := classify(err); kind != nil && kind.private {
		text = kind.kind.Error()
		for _, why := range reasons {
			if errors.Is(err, why) && kind.kind != why {
				text += ": " + why.Error()
			}
		}
	}
	if len(text) > maxMessage {
		text = strings.ToValidUTF8(text[:maxMessage], "") + "..."
	}
	return &text
}

// failed counts an error that a client is answered. One of no known kind is a fault of ours, and logged.
func (a *API) failed(c *call, operation string, err error) {
	code, kind := classify(err)
	a.metrics.Failed(operation, code.Message)
	switch {
	case kind == &unknownKind:
		c.log().Error("answering an error of no known kind", "operation", operation, "answer", code.Message, "error", err)
	case c.base.Enabled(c.ctx, slog.LevelDebug): // what clients are not told
		c.log().Debug("answering an error", "operation", operation, "answer", code.Message, "error", err)
	}
}

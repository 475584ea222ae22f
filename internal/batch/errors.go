package batch

import (
	"errors"
	"fmt"
)

// The kinds of refusal. Each error of this package that refuses a producer's bytes wraps one of them.
var (
	ErrCorrupt                = errors.New("corrupt batch")                // damaged on its way: the same records may be sent again
	ErrInvalidRecord          = errors.New("invalid record")               // the producer made it wrong: sending it again is of no use
	ErrUnsupportedCompression = errors.New("unsupported compression type") // a codec id that is none, or not one of this format
	ErrInvalidTimestamp       = errors.New("invalid timestamp")            // beyond what a table's timestamp can hold
	ErrTooLarge               = errors.New("batch too large")              // more records or decompressed bytes than the limits
)

// RecordError refuses single records of a batch, and the batch with them (KIP-467).
type RecordError struct {
	Kind    error   // ErrInvalidRecord or ErrInvalidTimestamp
	Indexes []int32 // batch indexes of the refused records, rising, at least one
	Reason  string
}

func (e *RecordError) Error() string {
	if len(e.Indexes) == 1 {
		return fmt.Sprintf("%v: record %d: %s", e.Kind, e.Indexes[0], e.Reason)
	}
	return fmt.Sprintf("%v: %d records, the first is %d: %s", e.Kind, len(e.Indexes), e.Indexes[0], e.Reason)
}

// Unwrap makes errors.Is see the kind.
func (e *RecordError) Unwrap() error { return e.Kind }

func refuse(kind error, format string, args ...any) error {
	return fmt.Errorf("%w: %s", kind, fmt.Sprintf(format, args...))
}

func invalidRecord(index int32, reason string) error {
	return &RecordError{Kind: ErrInvalidRecord, Indexes: []int32{index}, Reason: reason}
}

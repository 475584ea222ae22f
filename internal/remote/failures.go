package remote

import (
	"errors"
	"fmt"

	"github.com/korvet-io/korvet/internal/iceberg/chain"
	"github.com/korvet-io/korvet/internal/iceberg/datafile"
	"github.com/korvet-io/korvet/internal/iceberg/store"
	"github.com/korvet-io/korvet/internal/partition"
)

// Errors that are the remote tier's own.
var (
	errNoTable    = errors.New("no table")
	errNotCovered = errors.New("records are missing in the table")
)

// final are the failures that do not end by themselves.
var final = []error{errNoTable, errNotCovered, errOtherLog, chain.ErrNoTable, chain.ErrCorrupt, datafile.ErrCorrupt, store.ErrNotFound, store.ErrShort, store.ErrDenied}

// maxTold bounds what is remembered of failures. Beyond, some are logged again.
const maxTold = 10_000

// failed gives an error its kind. One that does not end by itself is logged, once until it is another one or over.
func (r *Reader) failed(ref partition.Ref, err error) error {
	kind := ""
	for _, f := range final {
		if errors.Is(err, f) {
			kind = f.Error()
		}
	}
	if kind == "" {
		return fmt.Errorf("%w: %w", partition.ErrRemoteAway, err)
	}
	r.mu.Lock()
	told := r.told[ref] == kind
	if len(r.told) >= maxTold {
		clear(r.told)
	}
	r.told[ref] = kind
	r.mu.Unlock()
	if !told {
		r.tier.Log.Error("records of the remote tier cannot be read: consumers are answered KAFKA_STORAGE_ERROR there",
			"topic", ref.Topic, "partition", ref.Partition, "error", err)
	}
	return fmt.Errorf("%w: %w", partition.ErrRemote, err)
}

// succeeded forgets a failure.
func (r *Reader) succeeded(ref partition.Ref) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.told) > 0 {
		delete(r.told, ref)
	}
}

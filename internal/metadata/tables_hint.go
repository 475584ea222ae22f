package metadata

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"

	"github.com/redis/rueidis"
)

// TableHint remembers about which version of a table's metadata is the newest, so that it is found without a listing. It may be
// behind, and after a failover of Redis wrong. It is safe for concurrent use.
type TableHint struct{ store *Store }

// TableHint is that of this cluster's tables.
func (s *Store) TableHint() TableHint { return TableHint{s} }

// Load returns the number that was stored last; 0: none.
func (h TableHint) Load(ctx context.Context, location string) (int64, error) {
	r, err := h.store.do(ctx, h.store.redis.B().Get().Key(h.store.tableHintKey(location)).Build())
	if err != nil {
		return 0, fmt.Errorf("read version of table: %w", err)
	}
	n, err := r.AsInt64()
	if rueidis.IsRedisNil(err) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read version of table: %w", err)
	}
	return n, nil
}

// Store notes a number.
func (h TableHint) Store(ctx context.Context, location string, number int64) error {
	command := h.store.redis.B().Set().Key(h.store.tableHintKey(location)).Value(strconv.FormatInt(number, 10)).Build()
	if _, err := h.store.do(ctx, command); err != nil {
		return fmt.Errorf("note version of table: %w", err)
	}
	return nil
}

// tableHintKey is short whatever the location.
func (s *Store) tableHintKey(location string) string {
	sum := sha256.Sum256([]byte(location))
	return s.key("storage:table:" + hex.EncodeToString(sum[:]))
}

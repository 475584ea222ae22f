package metadata

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/rueidis"
)

// layoutFormat is the version of the keys' layout. A broker refuses a namespace with a newer one.
const layoutFormat = 1

// Claim makes a namespace of a Redis this cluster's, unless it is already, and returns the id of the cluster that has it.
// It writes only into a namespace without any key. The error names the key that is in the way, and the cure.
func Claim(ctx context.Context, client rueidis.Client, namespace, clusterID, createdBy string) (string, error) {
	id, recovering, err := claim(ctx, client, namespace, clusterID, createdBy, "")
	if err == nil && recovering {
		err = fmt.Errorf("check namespace %s: %w", namespace, ErrRecovering)
	}
	if err != nil {
		return "", err
	}
	return id, nil
}

// ErrRecovering is a namespace that a recovery has not put together yet.
var ErrRecovering = errors.New("a recovery was begun here and has not ended: run korvet recover again, with the same settings")

// claim is Claim, also where a recovery has not ended. mark "1" begins one.
func claim(ctx context.Context, client rueidis.Client, namespace, clusterID, createdBy, mark string) (id string, recovering bool, err error) {
	key := metaKey(namespace)
	kind, err := keyType(ctx, client, key)
	if err == nil && kind == "none" {
		var found string
		if found, err = anyKey(ctx, client, namespace); err == nil && found != "" {
			// Another broker may have claimed the namespace meanwhile.
			if kind, err = keyType(ctx, client, key); err == nil && kind == "none" {
				return "", false, foreign(namespace, found, "was there before")
			}
		}
	}
	if err != nil {
		return "", false, err
	}
	if kind != "none" && kind != "hash" {
		return "", false, foreign(namespace, key, "is a "+kind)
	}
	answer, err := newScripts().layout.Exec(ctx, client, []string{key}, []string{strconv.Itoa(layoutFormat), clusterID, createdBy, mark}).AsStrSlice()
	if err != nil {
		return "", false, fmt.Errorf("claim layout marker %s: %w: %w", key, ErrUnavailable, err)
	}
	format, err := strconv.Atoi(answer[0])
	if err != nil || answer[1] == "" {
		return "", false, foreign(namespace, key, "has no layout format and cluster id")
	}
	if format > layoutFormat {
		return "", false, fmt.Errorf("check layout marker %s: its format %d is newer than %d, the newest that this version knows: run the version that wrote it, or choose another korvet.namespace", key, format, layoutFormat)
	}
	return answer[1], answer[2] == "1", nil
}

// ClaimMessages claims a namespace of a Redis that holds only messages for a cluster, and refuses that of another one.
func ClaimMessages(ctx context.Context, client rueidis.Client, namespace, clusterID, createdBy string) error {
	owner, err := Claim(ctx, client, namespace, clusterID, createdBy)
	if err != nil {
		return err
	}
	if owner != clusterID {
		return fmt.Errorf("check namespace %s of the Redis for messages: it belongs to cluster %s, not to %s: point korvet.storage.local.redis and korvet.redis at the same cluster's, or choose another korvet.namespace", namespace, owner, clusterID)
	}
	return nil
}

// Claimed tells whether a namespace has the marker of a cluster, or of anybody.
func Claimed(ctx context.Context, client rueidis.Client, namespace string) (bool, error) {
	kind, err := keyType(ctx, client, metaKey(namespace))
	return kind != "none", err
}

// metaKey is the layout's marker.
func metaKey(namespace string) string { return namespace + ":meta" }

func keyType(ctx context.Context, client rueidis.Client, key string) (string, error) {
	kind, err := client.Do(ctx, client.B().Type().Key(key).Build()).ToString()
	if err != nil {
		return "", fmt.Errorf("read layout marker %s: %w: %w", key, ErrUnavailable, err)
	}
	return kind, nil
}

// anyKey finds a key of a namespace. It reads the names of all keys of the Redis, once in a cluster's life.
func anyKey(ctx context.Context, client rueidis.Client, namespace string) (string, error) {
	for _, node := range client.Nodes() {
		for cursor := uint64(0); ; {
			entry, err := node.Do(ctx, node.B().Scan().Cursor(cursor).Match(escapeGlob(namespace)+":*").Count(1000).Build()).AsScanEntry()
			if err != nil {
				return "", fmt.Errorf("scan namespace %s: %w: %w", namespace, ErrUnavailable, err)
			}
			if len(entry.Elements) > 0 {
				return entry.Elements[0], nil
			}
			if cursor = entry.Cursor; cursor == 0 {
				break
			}
		}
	}
	return "", nil
}

func foreign(namespace, key, what string) error {
	return fmt.Errorf("check namespace %s: key %s %s and is not of this program's layout (another product's data?): choose another korvet.namespace or another Redis, or remove the keys %s:*", namespace, key, what, namespace)
}

func escapeGlob(s string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(s)
}

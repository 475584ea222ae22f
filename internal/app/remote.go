package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/korvet-io/korvet/internal/config"
	"github.com/korvet-io/korvet/internal/iceberg/store"
	"github.com/korvet-io/korvet/internal/metadata"
	"github.com/korvet-io/korvet/internal/remote"
	"github.com/korvet-io/korvet/internal/worker"
)

// remotePathSetting is named by messages about the place of the remote tier.
const remotePathSetting = "korvet.storage.remote.path"

// remoteCheckTimeout bounds the look at the store when the broker starts.
const remoteCheckTimeout = 10 * time.Second

func storeOptions(c *config.S3) store.S3 {
	return store.S3{Region: c.Region, Endpoint: c.Endpoint, PathStyle: c.PathStyle, AccessKeyID: c.AccessKeyID, SecretAccessKey: c.SecretAccessKey, Timeout: c.Timeout, Attempts: c.Attempts}
}

func remoteSettings(c *config.Config) remote.Settings {
	return remote.Settings{Path: c.Storage.Remote.Path, Namespace: c.Namespace, S3: storeOptions(&c.Storage.Remote.S3), MetadataCache: int64(c.Storage.Remote.Metadata)}
}

func (b *Broker) readerSettings() remote.ReaderSettings {
	s := remote.DefaultReaderSettings()
	s.IndexBytes, s.CacheBytes = int64(b.cfg.Storage.Remote.IndexCache), int64(b.cfg.Storage.Remote.ReadCache)
	s.Stale = b.cfg.Storage.Remote.MetadataAge
	return s
}

// tablesPlace is where the namespace's tables are; "": there is no remote tier.
func tablesPlace(c *config.Config) string {
	if c.Storage.Remote.Path == "" {
		return ""
	}
	return strings.TrimRight(c.Storage.Remote.Path, "/") + "/" + c.Namespace
}

// prepareRemote does what must succeed before anything runs: settings that cannot work stop the start. A store that does not
// answer does not.
func (b *Broker) prepareRemote(ctx context.Context) error {
	r := &b.cfg.Storage.Remote
	if r.Path == "" {
		return nil
	}
	objects, err := store.Open(ctx, r.Path, storeOptions(&r.S3))
	if err != nil {
		return fmt.Errorf("%s=%s: %w", remotePathSetting, r.Path, err)
	}
	if dir, isFile := strings.CutPrefix(r.Path, "file://"); isFile {
		if err := writableDir(dir); err != nil {
			return fmt.Errorf("%s=%s: %w", remotePathSetting, r.Path, err)
		}
		return nil
	}
	b.running.Go(func() { b.checkStore(objects) })
	return nil
}

// checkStore warns early of a store that refuses or does not answer; it may be away for a while, and topics that are not tiered
// do not need it.
func (b *Broker) checkStore(objects store.Store) {
	ctx, cancel := context.WithTimeout(context.Background(), remoteCheckTimeout)
	defer cancel()
	_, err := objects.Folders(ctx, tablesPlace(&b.cfg)+"/") // a missing bucket shows in a listing only
	if err != nil {
		b.log.Warn("the store of the remote tier cannot be used now; nothing is copied to it until it can", remotePathSetting, b.cfg.Storage.Remote.Path, "error", err)
	}
}

// writableDir makes a directory, unless it is there, and sees that files can be made in it.
func writableDir(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("create directory: %w", err)
	}
	f, err := os.CreateTemp(dir, ".korvet-check-")
	if err != nil {
		return fmt.Errorf("write to directory: %w", err)
	}
	if err := errors.Join(f.Close(), os.Remove(f.Name())); err != nil {
		return fmt.Errorf("write to directory: %w", err)
	}
	return nil
}

// openRemote opens the remote tier, if there is one.
func (b *Broker) openRemote(ctx context.Context, p *parts) (err error) {
	if b.cfg.Storage.Remote.Path == "" {
		return nil
	}
	p.tier, err = remote.Open(ctx, remoteSettings(&b.cfg), p.store, p.store.TableHint(), b.log.With(componentKey, "remote"))
	if err != nil {
		return err
	}
	p.tier.Store = store.Observe(p.tier.Store, &storeWatch{Observer: b.metrics, failing: &b.storeFails, log: b.log.With(componentKey, "remote")})
	p.tier.Catalog, err = externalCatalog(&b.cfg, p.tier.Store)
	return err
}

// objects are those of the remote tier; nil: there is none.
func (p *parts) objects() worker.Objects {
	if p.tier == nil {
		return nil
	}
	return p.tier
}

// storeWatch tells the log when the store begins to fail and when it answers again.
type storeWatch struct {
	store.Observer // metrics
	log            *slog.Logger
	failing        *atomic.Bool
}

func (w *storeWatch) StoreRequest(operation string, bytes int64, took time.Duration, kind string) {
	w.Observer.StoreRequest(operation, bytes, took, kind)
	switch kind {
	case "canceled", "short": // that says nothing of the store
	case "denied", "full", "timeout", "failed":
		if !w.failing.Swap(true) {
			w.log.Warn("the store of the remote tier fails: what is only there cannot be read, and nothing leaves Redis that was not copied; each use is tried again", "operation", operation, "kind", kind)
		}
	default:
		if w.failing.Load() && w.failing.Swap(false) {
			w.log.Info("the store of the remote tier answers again", "operation", operation)
		}
	}
}

// topics wakes the storage worker when the remote tier of a topic is turned on or off.
type topics struct {
	*metadata.Store
	wake func()
}

func (t topics) Alter(ctx context.Context, topic *metadata.Topic, partitions int32, configs map[string]string) (*metadata.Topic, error) {
	next, err := t.Store.Alter(ctx, topic, partitions, configs)
	if err == nil && next.Config.RemoteStorage != topic.Config.RemoteStorage {
		t.wake()
	}
	return next, err
}

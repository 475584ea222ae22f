package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/korvet-io/korvet/internal/config"
	"github.com/korvet-io/korvet/internal/iceberg/store"
	"github.com/korvet-io/korvet/internal/metadata"
	"github.com/korvet-io/korvet/internal/remote"
	"github.com/korvet-io/korvet/internal/worker/deletion"
)

// remotePathSetting is named by messages about the place of the remote tier.
const remotePathSetting = "korvet.storage.remote.path"

// remoteCheckTimeout bounds the look at the store when the broker starts.
const remoteCheckTimeout = 5 * time.Second

func storeOptions(c *config.S3) store.S3 {
	return store.S3{Region: c.Region, Endpoint: c.Endpoint, PathStyle: c.PathStyle, AccessKeyID: c.AccessKeyID, SecretAccessKey: c.SecretAccessKey, Timeout: c.Timeout, Attempts: c.Attempts}
}

func remoteSettings(c *config.Config) remote.Settings {
	return remote.Settings{Path: c.Storage.Remote.Path, Namespace: c.Namespace, S3: storeOptions(&c.Storage.Remote.S3), MetadataCache: int64(c.Storage.Remote.Metadata)}
}

func (b *Broker) readerSettings() remote.ReaderSettings {
	s := remote.DefaultReaderSettings()
	s.IndexBytes, s.CacheBytes = int64(b.cfg.Storage.Remote.IndexCache), int64(b.cfg.Storage.Remote.ReadCache)
	s.Stale, s.Turns = b.cfg.Storage.Remote.MetadataAge, b.turns
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
	options := storeOptions(&r.S3)
	options.Attempts, options.Timeout = 1, remoteCheckTimeout // who is away is asked again later
	objects, err := store.Open(ctx, r.Path, options)
	if err != nil {
		return fmt.Errorf("%s=%s: %w", remotePathSetting, r.Path, err)
	}
	err = b.checkStore(ctx, objects)
	switch {
	case err == nil:
	case store.Unusable(err):
		return fmt.Errorf("%s=%s: %w%s", remotePathSetting, r.Path, err, cure(err))
	default:
		b.log.Warn("the store of the remote tier cannot be used now; nothing is copied to it until it can", remotePathSetting, r.Path, "error", err)
		b.storeFails.Store(true)
		b.watchStore = objects
	}
	return nil
}

// checkStore looks at the store with one request.
func (b *Broker) checkStore(ctx context.Context, objects store.Store) error {
	ctx, cancel := context.WithTimeout(ctx, remoteCheckTimeout)
	defer cancel()
	return store.Check(ctx, objects, tablesPlace(&b.cfg))
}

// awaitStore asks a store that was away at the start until it answers: nobody else may need it for long.
func (b *Broker) awaitStore(ctx context.Context) {
	for b.watchStore != nil && b.storeFails.Load() {
		select {
		case <-ctx.Done():
			return
		case <-time.After(storePause):
		}
		err := b.checkStore(ctx, b.watchStore)
		switch {
		case err == nil:
			if b.storeFails.Swap(false) {
				b.log.Info("the store of the remote tier answers")
			}
		case store.Unusable(err):
			b.log.Error("the store of the remote tier cannot be used with these settings"+cure(err), remotePathSetting, b.cfg.Storage.Remote.Path, "error", err)
			return
		}
	}
}

// storePause is how long after a store that was away at the start did not answer it is asked again.
const storePause = 2 * time.Second

// cure says which settings are meant by what is wrong with a store.
func cure(err error) string {
	switch {
	case errors.Is(err, store.ErrDirectory), errors.Is(err, store.ErrNoBucket):
		return ""
	case errors.Is(err, store.ErrDenied):
		return "; see to korvet.storage.remote.s3.access-key-id and korvet.storage.remote.s3.secret-access-key, or to where the AWS SDK finds keys: they need GetObject, PutObject, DeleteObject, AbortMultipartUpload and ListBucket there"
	}
	return "; see to korvet.storage.remote.s3.region, korvet.storage.remote.s3.endpoint and korvet.storage.remote.s3.path-style-access"
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
func (p *parts) objects() deletion.Objects {
	if p.tier == nil {
		return nil
	}
	return p.tier
}

// storeWatch tells the log when the store begins to fail and when it answers again. One that is full, or may not be written, answers
// reads all the while: only a write ends that.
type storeWatch struct {
	store.Observer // metrics
	log            *slog.Logger
	failing        *atomic.Bool
	unwritable     atomic.Bool
}

func (w *storeWatch) StoreRequest(operation string, bytes int64, took time.Duration, kind string) {
	w.Observer.StoreRequest(operation, bytes, took, kind)
	switch kind {
	case "canceled", "short": // that says nothing of the store
	case "denied", "full", "timeout", "failed":
		if operation == "write" && (kind == "denied" || kind == "full") {
			w.unwritable.Store(true)
		}
		if !w.failing.Swap(true) {
			w.log.Warn("the store of the remote tier fails: what is only there cannot be read, and nothing leaves Redis that was not copied; each use is tried again", "operation", operation, "kind", kind)
		}
	default:
		if operation == "write" {
			w.unwritable.Store(false)
		}
		if !w.unwritable.Load() && w.failing.Load() && w.failing.Swap(false) {
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

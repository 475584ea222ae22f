package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/redis/rueidis"

	"github.com/korvet-io/korvet/internal/config"
	"github.com/korvet-io/korvet/internal/iceberg/store"
	"github.com/korvet-io/korvet/internal/metadata"
	"github.com/korvet-io/korvet/internal/recovery"
	"github.com/korvet-io/korvet/internal/redisstream"
	"github.com/korvet-io/korvet/internal/remote"
)

// ErrNoTier is a command that needs a remote tier where none is set.
var ErrNoTier = errors.New(remotePathSetting + " is not set: give the broker's, by --config, KORVET_STORAGE_REMOTE_PATH or --" + remotePathSetting + "=file:///directory")

// Storage is all that a broker with some settings keeps anything in, opened by a command beside it or without it.
type Storage struct {
	cfg      *config.Config
	Settings remote.Settings
	Store    store.Store
	Messages *redisstream.Shard
	metadata rueidis.Client
}

// OpenTables opens the store of the remote tier alone.
func OpenTables(ctx context.Context, c *config.Config) (*Storage, error) {
	if c.Storage.Remote.Path == "" {
		return nil, ErrNoTier
	}
	s := &Storage{cfg: c, Settings: remoteSettings(c)}
	var err error
	if s.Store, err = store.Open(ctx, s.Settings.Path, s.Settings.S3); err != nil {
		return nil, fmt.Errorf("%s=%s: %w", remotePathSetting, s.Settings.Path, err)
	}
	if s.Settings.Catalog, err = externalCatalog(c, s.Store); err != nil {
		return nil, err
	}
	return s, nil
}

// OpenStorage opens the store and Redis.
func OpenStorage(ctx context.Context, c *config.Config) (*Storage, error) {
	s, err := OpenTables(ctx, c)
	if err != nil {
		return nil, err
	}
	options, err := streamOptions(c.Messages, c.Storage)
	if err != nil {
		return nil, err
	}
	if s.metadata, err = metadataClient(c.Redis); err != nil {
		return nil, err
	}
	s.Messages = redisstream.Open(options, slog.New(slog.DiscardHandler)) // what fails is told by whoever asks
	return s, nil
}

// Close gives the connections up.
func (s *Storage) Close() {
	if s.metadata != nil {
		s.metadata.Close()
	}
	if s.Messages != nil {
		s.Messages.Close()
	}
}

// Metadata reads and restores what Redis knows of topics and tables.
func (s *Storage) Metadata(version string) *metadata.Restorer {
	return &metadata.Restorer{Redis: s.metadata, Namespace: s.cfg.Namespace, CreatedBy: "korvet " + version, Stale: s.cfg.Broker.StaleAfter}
}

// Recover reads the tables and compares them with Redis; unless dryRun it then puts back what Redis lost. The plan is complete
// also with recovery.ErrRefused.
func Recover(ctx context.Context, c *config.Config, version string, dryRun bool) (*recovery.Plan, error) {
	s, err := OpenStorage(ctx, c)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	same, err := sameRedis(c)
	if err != nil {
		return nil, err
	}
	target := recovery.Target{Metadata: s.Metadata(version), Messages: s.Messages}
	if !same {
		target.Claim = func(ctx context.Context, cluster string) error {
			client, err := metadataClient(c.Messages)
			if err != nil {
				return err
			}
			defer client.Close()
			return metadata.ClaimMessages(ctx, client, c.Namespace, cluster, "korvet "+version)
		}
	}
	plan, err := recovery.Make(ctx, recovery.Source{Settings: s.Settings, Store: s.Store}, target)
	if err != nil || dryRun {
		return plan, err
	}
	return plan, plan.Apply(ctx, c.Namespace, target)
}

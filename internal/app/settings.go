package app

import (
	"time"

	"github.com/korvet-io/korvet/internal/config"
	"github.com/korvet-io/korvet/internal/dictionary"
	"github.com/korvet-io/korvet/internal/kafka/api"
	"github.com/korvet-io/korvet/internal/kafka/server"
	"github.com/korvet-io/korvet/internal/metadata"
	"github.com/korvet-io/korvet/internal/partition"
	"github.com/korvet-io/korvet/internal/topicconfig"
)

// Limits that are no settings: they keep one request from costing the broker its memory.
const (
	maxPartitions       = 10_000
	maxPartitionsTotal  = 200_000
	maxConfigValueBytes = 32 << 10
)

func serverSettings(c *config.Broker) server.Settings {
	s := server.DefaultSettings()
	s.MaxRequestBytes = int(c.MaxRequestBytes)
	s.MaxPendingBytes = int64(c.MaxPendingBytes)
	s.ResumePendingBytes = int64(c.ResumePendingBytes)
	s.MaxInFlight = c.MaxInFlightRequests
	s.MaxConnections = c.MaxConnections
	s.MaxConnectionsPerIP = c.MaxConnectionsPerIP
	s.IdleTimeout = c.ConnectionsMaxIdle
	s.FrameTimeout = c.FrameTimeout
	s.WriteTimeout = c.ResponseQueueTimeout
	return s
}

func (b *Broker) apiSettings() api.Settings {
	c := &b.cfg.Broker
	s := api.DefaultSettings()
	s.MaxControlRequestBytes = int(c.MaxControlRequestBytes)
	s.MaxDecompressedBytes = int(c.MaxDecompressedBytes)
	s.ProduceTimeout = c.ProduceTimeout
	s.MaxBatchRecords = c.MaxBatchRecords
	s.MaxBatchDecompressedBytes = int(c.MaxBatchDecompressedBytes)
	s.FetchMaxBytes = int(c.FetchMaxBytes)
	s.FetchMaxWait = c.FetchMaxWait
	s.RemoteTier = b.cfg.Storage.Remote.Path != ""
	s.FetchPartitionMaxBytes = int(c.FetchPartitionMaxBytes)
	s.MaxFetchSessions = c.FetchSessions
	s.OffsetMetadataMax = b.cfg.Groups.OffsetMetadataMaxBytes
	s.MaxMemberMetadataBytes = int(b.cfg.Groups.MaxMemberMetadataBytes)
	s.AutoCreate = c.AutoCreateTopics
	s.NumPartitions = c.NumPartitions
	s.MaxPartitions = maxPartitions
	s.MaxPartitionsTotal = maxPartitionsTotal
	s.MaxConfigValueBytes = maxConfigValueBytes
	s.RedisReplicas = b.cfg.Messages.Replicas
	s.Broker = brokerSettings(b.opt.Kafka)
	return s
}

func (b *Broker) partitionSettings(owner string) partition.Settings {
	c := &b.cfg.Broker
	s := partition.DefaultSettings()
	s.MaxValueBytes = int(b.cfg.Broker.MaxBatchDecompressedBytes)
	s.Namespace = b.cfg.Namespace
	s.Owner = owner
	s.Lease = c.LeaseDuration
	s.ProduceTimeout = c.ProduceTimeout
	s.RequestTimeout = min(b.cfg.Messages.Timeout, s.RequestTimeout)
	s.TailCacheBytes = int64(c.TailCacheBytes)
	s.ReadAhead = c.ReadAheadAnswers
	s.ReadAheadKept = c.ReadAheadKept
	s.RedisReplicas = b.cfg.Messages.Replicas
	s.ProducerExpiry = c.ProducerIDExpiration
	s.RemoteEndWait = b.cfg.Storage.Remote.EndWait
	s.RemoteMaxWait, s.RemoteSearch = b.cfg.Storage.Remote.FetchMaxWait, b.cfg.Storage.Remote.ListTimeout
	return s
}

func (b *Broker) dictionarySettings() dictionary.Settings {
	c := &b.cfg.Storage.Compression
	s := dictionary.DefaultSettings()
	s.Namespace = b.cfg.Namespace
	s.SampleRecords, s.SampleBytes, s.MaxBytes, s.Retrain = c.SampleRecords, int(c.SampleBytes), int(c.MaxBytes), c.Retrain
	return s
}

func (b *Broker) metadataOptions(schema *topicconfig.Schema) metadata.Options {
	c := &b.cfg.Broker
	return metadata.Options{
		Namespace: b.cfg.Namespace,
		BrokerID:  c.ID,
		Host:      c.AdvertisedHost,
		Port:      int32(c.AdvertisedPort),
		Tables:    tablesPlace(&b.cfg),
		CreatedBy: "korvet " + b.opt.Version,
		Timeout:   min(b.cfg.Redis.Timeout, max(c.StaleAfter, time.Second)), // a heartbeat that takes longer is worth nothing
		NoBroker:  !c.Enabled,
		Heartbeat: c.HeartbeatInterval,
		Stale:     c.StaleAfter,
		Schema:    schema,
		Log:       b.log.With(componentKey, "metadata"),
	}
}

func topicOptions(c *config.Config) topicconfig.Options {
	o := topicconfig.Options{RemoteStorage: c.Storage.Remote.Path != "", Defaults: map[string]string{"storage.compression.type": c.Storage.Compression.Codec}}
	for _, p := range c.Topics {
		o.Patterns = append(o.Patterns, topicconfig.Pattern{Name: p.Name, AutoCreate: p.AutoCreate, Partitions: p.Partitions, Configs: p.Configs})
	}
	return o
}

func brokerSettings(list []config.KafkaSetting) []api.BrokerSetting {
	types := map[string]topicconfig.Type{"boolean": topicconfig.Boolean, "int": topicconfig.Int, "long": topicconfig.Long, "string": topicconfig.String}
	var settings []api.BrokerSetting
	for _, k := range list {
		b := api.BrokerSetting{Name: k.Name, Type: types[k.Type], Value: k.Value, Set: k.Set, Pool: k.Pool, Doc: k.Doc}
		if k.Dynamic {
			b.Parse = func(value string) (string, error) {
				parsed, err := config.ParseKafka(k.Name, value)
				if err != nil {
					err = &topicconfig.InvalidError{Name: k.Name, Value: value, Reason: "Value " + err.Error()}
				}
				return parsed, err
			}
		}
		settings = append(settings, b)
	}
	return settings
}

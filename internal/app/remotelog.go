package app

import (
	"context"
	"time"

	"github.com/korvet-io/korvet/internal/metadata"
	"github.com/korvet-io/korvet/internal/remotelog"
)

// remoteLogConfigs are the settings that the topic of remote segments' changes is made with, as in Kafka: its records stay. The
// codec is the topic's own, whatever the server's comes to be.
func remoteLogConfigs() map[string]string {
	return map[string]string{"cleanup.policy": "delete", "retention.ms": "-1", "storage.compression.type": "none"}
}

// announcer tells what the storage worker of this process does to remote segments; nil: there is no remote tier.
func (b *Broker) announcer(p *parts) *remotelog.Announcer {
	if p.tier == nil {
		return nil
	}
	return &remotelog.Announcer{
		Namespace: b.cfg.Namespace, Partitions: b.cfg.Storage.Remote.LogPartitions, Configs: remoteLogConfigs(), Topics: p.store, Outbox: p.shard,
		Open:     func(t metadata.Table) remotelog.Table { return p.tier.Table(t) },
		Objects:  p.tier.Store,
		Observer: b.metrics, Log: b.log.With(componentKey, "worker"), Now: time.Now,
	}
}

// publisher appends what announcers of all processes told to the partitions that this broker leads.
func (b *Broker) publisher(p *parts) *remotelog.Publisher {
	self := p.store.Self().ID
	return &remotelog.Publisher{
		Namespace: b.cfg.Namespace, Queues: p.shard, Logs: p.logs, Observer: b.metrics, Log: b.log.With(componentKey, "remote"),
		Topic: func() *metadata.Topic { return topicNamed(p.store, remotelog.Topic) },
		Leads: func(t *metadata.Topic, partition int32) bool {
			leader, ok := metadata.Leader(p.store.Nodes(), t.ID, partition)
			return ok && leader == self
		},
	}
}

// runRemoteLog runs both until ctx ends.
func (b *Broker) runRemoteLog(ctx context.Context, p *parts) {
	if p.announcer != nil {
		b.running.Go(func() { p.announcer.Run(ctx) })
	}
	if p.server != nil {
		b.running.Go(func() { b.publisher(p).Run(ctx) })
	}
}

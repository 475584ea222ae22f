package app

import (
	"strconv"
	"time"

	"github.com/korvet-io/korvet/internal/group"
	"github.com/korvet-io/korvet/internal/metadata"
)

// obey puts the settings in force that tools change while the broker runs. Defaults of topic settings are metadata's part.
func (b *Broker) obey(p *parts) {
	all, own := p.store.Config(metadata.BrokerConfigs, metadata.AllBrokers), map[string]string(nil)
	if p.server != nil {
		own = p.store.Config(metadata.BrokerConfigs, strconv.Itoa(int(p.store.Self().ID)))
	}
	c := b.cfg.Overlay(all, own)
	p.inForce.Store(c)
	if p.server != nil {
		p.server.SetMaxConnections(c.Broker.MaxConnections, c.Broker.MaxConnectionsPerIP)
	}
	p.logs.SetProducerExpiry(c.Broker.ProducerIDExpiration)
	p.logs.SetRemoteWaits(c.Storage.Remote.FetchMaxWait, c.Storage.Remote.ListTimeout)
	if p.reader != nil {
		p.reader.SetIndexBytes(int64(c.Storage.Remote.IndexCache))
	}
}

// ownGroupSettings returns a function that tells the settings of a group: those of all, unless a tool gave it its own.
func ownGroupSettings(store *metadata.Store) func(string, *group.Settings) *group.Settings {
	return func(name string, all *group.Settings) *group.Settings {
		own := store.Config(metadata.GroupConfigs, name)
		if len(own) == 0 {
			return all
		}
		s := *all
		for setting, field := range map[string]*time.Duration{
			"consumer.session.timeout.ms":     &s.ConsumerSession,
			"consumer.heartbeat.interval.ms":  &s.ConsumerHeartbeat,
			"consumer.assignment.interval.ms": &s.AssignmentInterval,
		} {
			if ms, err := strconv.ParseInt(own[setting], 10, 32); err == nil {
				*field = time.Duration(ms) * time.Millisecond
			}
		}
		return &s
	}
}

package metadata

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/rueidis"
)

// register makes the broker's boot id: in Redis's time, above that of any broker which ran under its id.
func (s *Store) register(ctx context.Context) error {
	answer, err := s.run(ctx, s.scripts.nodeLook, s.nodesKey(), strconv.Itoa(int(s.opt.BrokerID)))
	if err != nil {
		return fmt.Errorf("register broker %d: %w", s.opt.BrokerID, err)
	}
	var before Node
	if old := text(answer, 1); old != "" {
		if err := json.Unmarshal([]byte(old), &before); err != nil {
			return fmt.Errorf("register broker %d: decode its entry in %s: %w", s.opt.BrokerID, s.nodesKey(), err)
		}
	}
	boot, err := newID(integer(answer, 0), s.opt.Random, before.BootID)
	if err != nil {
		return fmt.Errorf("register broker %d: %w", s.opt.BrokerID, err)
	}
	s.self = Node{ID: s.opt.BrokerID, BootID: boot, Host: s.opt.Host, Port: s.opt.Port}
	return nil
}

// Run sends heartbeats until ctx ends, which it returns nothing for, or until a newer broker runs under this id:
// ErrSuperseded, with that broker in its text. Failed heartbeats are logged when they begin and when they end.
func (s *Store) Run(ctx context.Context) error {
	tick := time.NewTicker(s.opt.Heartbeat)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		was := s.healthy.Load()
		err := s.Heartbeat(ctx)
		switch {
		case errors.Is(err, ErrSuperseded):
			return err
		case ctx.Err() != nil:
			return nil
		case err != nil && was:
			s.opt.Log.Warn("metadata store does not answer: serving what is known", "error", err)
		case err == nil && !was:
			s.opt.Log.Info("metadata store answers again")
		}
	}
}

// Heartbeat tells the others that this broker lives, and takes over what changed since the last one. ErrSuperseded,
// ErrUnavailable.
func (s *Store) Heartbeat(ctx context.Context) error {
	var err error
	if !s.opt.NoBroker {
		err = s.beat(ctx)
	}
	if err == nil {
		err = s.mark(ctx)
	}
	if err == nil {
		err = s.refreshConfigs(ctx)
	}
	if err == nil {
		err = s.refresh(ctx)
	}
	if err == nil {
		err = s.refreshTables(ctx)
	}
	s.healthy.Store(err == nil)
	return err
}

// mark sees that the namespace is marked as this cluster's. Redis may have lost everything under running brokers: what they
// store from then on, in a namespace without a marker, would keep them from being started again.
func (s *Store) mark(ctx context.Context) error {
	_, err := s.run(ctx, s.scripts.layout, metaKey(s.opt.Namespace), strconv.Itoa(layoutFormat), s.clusterID, s.opt.CreatedBy)
	if err != nil {
		return fmt.Errorf("mark namespace: %w", err)
	}
	return nil
}

func (s *Store) beat(ctx context.Context) error {
	me, err := json.Marshal(s.self)
	if err != nil {
		return fmt.Errorf("encode broker: %w", err)
	}
	answer, err := s.run(ctx, s.scripts.nodeHeartbeat, s.nodesKey(), strconv.Itoa(int(s.self.ID)), s.self.BootID.String(), string(me))
	if err != nil {
		return fmt.Errorf("send heartbeat: %w", err)
	}
	if text(answer, 0) == "SUPERSEDED" {
		s.superseded.Store(true)
		return fmt.Errorf("send heartbeat of broker %d, boot %s: %w: %s", s.self.ID, s.self.BootID, ErrSuperseded, text(answer, 1))
	}
	if len(answer) < 3 {
		return fmt.Errorf("send heartbeat: %w: answer of %d elements", ErrUnavailable, len(answer))
	}
	s.setNodes(integer(answer, 1), answer[2:])
	return nil
}

// setNodes keeps the brokers that were heard of in time. Entries that are not ours are left out.
func (s *Store) setNodes(now int64, entries []rueidis.RedisMessage) {
	var live []Node
	for i := range entries {
		var n Node
		if json.Unmarshal([]byte(text(entries, i)), &n) == nil && now-n.SeenMs <= s.opt.Stale.Milliseconds() {
			live = append(live, n)
		}
	}
	s.apply.Lock()
	defer s.apply.Unlock()
	s.snap.Store(s.snap.Load().withNodes(live))
}

// Leave takes this broker off the list, so that others need not wait until it is stale.
func (s *Store) Leave(ctx context.Context) error {
	if s.opt.NoBroker {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.opt.Timeout)
	defer cancel()
	err := s.scripts.nodeLeave.Exec(ctx, s.redis, []string{s.nodesKey()}, []string{strconv.Itoa(int(s.self.ID)), s.self.BootID.String()}).Error()
	if err != nil {
		return fmt.Errorf("leave the cluster: %w: %w", ErrUnavailable, err)
	}
	return nil
}

// Self is this broker.
func (s *Store) Self() Node { return s.self }

// Nodes lists the brokers that lived at the last heartbeat, by id. It must not be changed.
func (s *Store) Nodes() []Node { return s.snap.Load().nodes }

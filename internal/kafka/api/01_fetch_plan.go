package api

import (
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// fetchPlan is what one Fetch request is about, its session applied.
type fetchPlan struct {
	partitions  []fetchPartition
	session     *fetchSession // nil: none
	incremental bool          // only what changed is answered
	maxWait     time.Duration
	minBytes    int
	maxBytes    int
}

// planFetch applies the request to its session (KIP-227). An error is the whole answer's.
func (a *API) planFetch(req *kmsg.FetchRequest) (*fetchPlan, error) {
	if req.MaxBytes < 0 {
		return nil, refuse(kerr.InvalidRequest, "max_bytes is %d", req.MaxBytes)
	}
	if req.IsolationLevel != 0 && req.IsolationLevel != 1 {
		return nil, refuse(kerr.InvalidRequest, "isolation level is %d", req.IsolationLevel)
	}
	plan := &fetchPlan{
		maxWait:  time.Duration(max(req.MaxWaitMillis, 0)) * time.Millisecond,
		minBytes: int(req.MinBytes),
		maxBytes: min(int(req.MaxBytes), a.settings.FetchMaxBytes),
	}
	if limit := a.settings.FetchMaxWait; limit > 0 {
		plan.maxWait = min(plan.maxWait, limit)
	}
	plan.minBytes = min(plan.minBytes, plan.maxBytes)
	byID := req.Version >= 13
	asked := a.askedPartitions(req, byID)
	switch {
	case req.Version < 7 || req.SessionEpoch == sessionEpochFinal:
		a.sessions.close(req.SessionID)
		plan.take(asked)
	case req.SessionEpoch == sessionEpochInitial:
		a.sessions.close(req.SessionID)
		plan.take(asked)
		plan.session = a.sessions.open(a.now(), byID, asked)
	default:
		return plan, a.resume(plan, req, asked, byID)
	}
	return plan, nil
}

// resume continues a session: the request names only what changed.
func (a *API) resume(plan *fetchPlan, req *kmsg.FetchRequest, asked []*sessionPartition, byID bool) error {
	fs, err := a.sessions.resume(a.now(), req.SessionID, req.SessionEpoch, byID)
	if err != nil {
		return err
	}
	defer fs.mu.Unlock()
	fs.update(asked)
	fs.forget(forgottenPartitions(req, byID))
	if len(fs.partitions) == 0 {
		a.sessions.close(fs.id)
		return nil
	}
	if !a.sessions.resized(fs, len(fs.partitions)) {
		return refuse(kerr.FetchSessionIDNotFound, "fetch session %d grows beyond what the broker keeps", fs.id)
	}
	plan.take(fs.order)
	plan.session, plan.incremental = fs, true
	return nil
}

// take plans to read these partitions. What is asked of them is copied: the session's next fetch may change it while this
// one is served.
func (plan *fetchPlan) take(partitions []*sessionPartition) {
	plan.partitions = make([]fetchPartition, len(partitions))
	for i, p := range partitions {
		plan.partitions[i] = fetchPartition{sessionPartition: p, ask: p.ask, next: p.ask.offset, due: true}
	}
}

// askedPartitions lists the request's partitions in its order. One that comes twice counts once, as asked last.
func (a *API) askedPartitions(req *kmsg.FetchRequest, byID bool) []*sessionPartition {
	n := 0
	for i := range req.Topics {
		n += len(req.Topics[i].Partitions)
	}
	asked := make([]*sessionPartition, 0, n)
	var seen map[topicPartition]*sessionPartition
	if n > 1 {
		seen = make(map[topicPartition]*sessionPartition, n)
	}
	for i := range req.Topics {
		t := &req.Topics[i]
		for j := range t.Partitions {
			p := newSessionPartition(t, &t.Partitions[j], byID)
			if before := seen[p.topicPartition]; before != nil {
				before.ask = p.ask
				continue
			}
			if seen != nil {
				seen[p.topicPartition] = p
			}
			asked = append(asked, p)
		}
	}
	return asked
}

func newSessionPartition(t *kmsg.FetchRequestTopic, p *kmsg.FetchRequestTopicPartition, byID bool) *sessionPartition {
	sp := &sessionPartition{
		topicPartition: topicPartition{partition: p.Partition},
		ask:            partitionAsk{offset: p.FetchOffset, maxBytes: p.PartitionMaxBytes, leaderEpoch: p.CurrentLeaderEpoch, lastFetchedEpoch: p.LastFetchedEpoch},
		highWatermark:  -1,
		logStart:       -1,
	}
	if byID {
		sp.id = t.TopicID
	} else {
		sp.topic = strings.Clone(t.Topic) // a session must not keep the whole request
	}
	return sp
}

func forgottenPartitions(req *kmsg.FetchRequest, byID bool) []topicPartition {
	var keys []topicPartition
	for i := range req.ForgottenTopics {
		t := &req.ForgottenTopics[i]
		for _, p := range t.Partitions {
			key := topicPartition{topic: t.Topic, partition: p}
			if byID {
				key = topicPartition{id: t.TopicID, partition: p}
			}
			keys = append(keys, key)
		}
	}
	return keys
}

// update adds partitions to the session, or changes what is asked of those it has. The caller holds fs.mu.
func (fs *fetchSession) update(asked []*sessionPartition) {
	for _, p := range asked {
		if have := fs.partitions[p.topicPartition]; have != nil {
			have.ask = p.ask
			continue
		}
		fs.partitions[p.topicPartition] = p
		fs.order = append(fs.order, p)
	}
}

// forget drops partitions from the session. The caller holds fs.mu.
func (fs *fetchSession) forget(keys []topicPartition) {
	if len(keys) == 0 {
		return
	}
	for _, key := range keys {
		delete(fs.partitions, key)
	}
	fs.order = slices.DeleteFunc(fs.order, func(p *sessionPartition) bool { return fs.partitions[p.topicPartition] != p })
}

// rotate moves the partitions that got records behind the others, so that none starves while the answer's size is
// limited. The caller holds fs.mu.
func (fs *fetchSession) rotate() {
	served := func(p *sessionPartition) int {
		if p.served {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(fs.order, func(a, b *sessionPartition) int { return served(a) - served(b) })
	for _, p := range fs.order {
		p.served = false
	}
}

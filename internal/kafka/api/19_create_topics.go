package api

import (
	"cmp"
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/korvet-io/korvet/internal/metadata"
)

// CreateTopics (key 19), versions 0 to 7.
//
// v5 answers the settings (KIP-525), v7 the id (KIP-516). A replication factor above 1 is accepted and answered as 1: Redis
// replicates. Versions 0 and 1, which Kafka 4 dropped, are kept for old clients.

func (a *API) createTopics(c *call, req *kmsg.CreateTopicsRequest) kmsg.Response {
	resp := kmsg.NewPtrCreateTopicsResponse()
	twice := repeated(req.Topics, func(t *kmsg.CreateTopicsRequestTopic) string { return t.Topic })
	answered := map[string]bool{}
	room := a.settings.MaxPartitions // of one request, too, as in Kafka: its answer is many times its size
	for i := range req.Topics {
		t := &req.Topics[i]
		if twice[t.Topic] {
			if !answered[t.Topic] {
				answered[t.Topic] = true
				resp.Topics = append(resp.Topics, createTopicFailed(t.Topic, refuse(kerr.InvalidRequest, "Duplicate topic name.")))
			}
			continue
		}
		r := a.createOne(c, t, room, req.ValidateOnly)
		if r.ErrorCode == 0 {
			room -= r.NumPartitions
		}
		resp.Topics = append(resp.Topics, r)
	}
	return resp
}

func (a *API) createOne(c *call, t *kmsg.CreateTopicsRequestTopic, room int32, validateOnly bool) kmsg.CreateTopicsResponseTopic {
	plan, err := a.planRequested(c.ctx, t)
	if err == nil && plan.partitions > room {
		err = refuse(kerr.PolicyViolation, "Excessively large number of partitions per request.")
	}
	if err != nil {
		return createTopicFailed(t.Topic, err)
	}
	made := &metadata.Topic{Name: plan.name, Partitions: plan.partitions, Configs: plan.configs}
	if !validateOnly {
		if made, err = a.createTopic(c, plan); err != nil {
			return createTopicFailed(t.Topic, err)
		}
	}
	r := kmsg.NewCreateTopicsResponseTopic()
	r.Topic, r.TopicID, r.NumPartitions, r.ReplicationFactor = made.Name, made.ID, made.Partitions, 1
	r.Configs = a.createdConfigs(made)
	return r
}

// planRequested checks one topic of a request. Names are checked first, then the layout, as Kafka does.
func (a *API) planRequested(ctx context.Context, t *kmsg.CreateTopicsRequestTopic) (*topicPlan, error) {
	configs := make(map[string]string, len(t.Configs))
	for i := range t.Configs {
		if t.Configs[i].Value == nil {
			return nil, refuse(kerr.InvalidConfig, "Null value not supported for topic configs: %s", t.Configs[i].Name)
		}
		configs[t.Configs[i].Name] = *t.Configs[i].Value
	}
	if err := checkTopicName(t.Topic); err != nil {
		return nil, err
	}
	partitions := t.NumPartitions
	if len(t.ReplicaAssignment) > 0 {
		if err := a.checkAssignments(t); err != nil {
			return nil, err
		}
		partitions = int32(len(t.ReplicaAssignment))
	} else if t.ReplicationFactor == 0 || t.ReplicationFactor < -1 {
		return nil, refuse(kerr.InvalidReplicationFactor, "Replication factor must be larger than 0, or -1 to use the default value.")
	}
	return a.planTopic(ctx, t.Topic, partitions, configs)
}

// checkAssignments refuses manual assignments that Kafka would refuse: they stand in for both counts and number the
// partitions from 0.
func (a *API) checkAssignments(t *kmsg.CreateTopicsRequestTopic) error {
	if t.ReplicationFactor != -1 {
		return refuse(kerr.InvalidRequest, "A manual partition assignment was specified, but replication factor was not set to -1.")
	}
	if t.NumPartitions != -1 {
		return refuse(kerr.InvalidRequest, "A manual partition assignment was specified, but numPartitions was not set to -1.")
	}
	sorted := slices.Clone(t.ReplicaAssignment)
	slices.SortFunc(sorted, func(x, y kmsg.CreateTopicsRequestTopicReplicaAssignment) int {
		return cmp.Compare(x.Partition, y.Partition)
	})
	for i := range sorted {
		if sorted[i].Partition != int32(i) {
			return refuse(kerr.InvalidReplicaAssignment, "partitions should be a consecutive 0-based integer sequence")
		}
		if err := a.checkAssignment(sorted[i].Replicas); err != nil {
			return err
		}
	}
	return nil
}

func createTopicFailed(name string, err error) kmsg.CreateTopicsResponseTopic {
	r := kmsg.NewCreateTopicsResponseTopic()
	r.Topic, r.ErrorCode, r.ErrorMessage = name, errorCode(err), errorMessage(err)
	r.NumPartitions, r.ReplicationFactor, r.Configs = -1, -1, []kmsg.CreateTopicsResponseTopicConfig{}
	return r
}

// createdConfigs lists all settings of a topic for the answer of CreateTopics.
func (a *API) createdConfigs(t *metadata.Topic) []kmsg.CreateTopicsResponseTopicConfig {
	settings := a.schema.Settings()
	list := make([]kmsg.CreateTopicsResponseTopicConfig, 0, len(settings))
	for i := range settings {
		v := a.schema.Resolve(t.Name, t.Configs, &settings[i])[0]
		c := kmsg.NewCreateTopicsResponseTopicConfig()
		c.Name, c.Value, c.Source = settings[i].Name, &v.Value, int8(configSource(v.Source))
		list = append(list, c)
	}
	return list
}

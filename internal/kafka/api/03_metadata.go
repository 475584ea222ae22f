package api

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/korvet-io/korvet/internal/metadata"
	"github.com/korvet-io/korvet/internal/partition"
)

// Metadata (key 3), versions 0 to 13.
//
// v1 takes null for all topics, v4 lets the client refuse auto-creation, v7 tells leader epochs (KIP-320), v8 authorized
// operations (KIP-430), v10 topic ids, v12 topics by id (KIP-516). A topic created on demand is answered at once, where
// Kafka first answers UNKNOWN_TOPIC_OR_PARTITION.

// What clients may do where no ACLs are configured, as bits of the operations' numbers.
const (
	allTopicOperations   = 1<<3 | 1<<4 | 1<<5 | 1<<6 | 1<<7 | 1<<8 | 1<<10 | 1<<11
	allClusterOperations = 1<<5 | 1<<7 | 1<<8 | 1<<9 | 1<<10 | 1<<11 | 1<<12
)

func (a *API) metadata(c *call, req *kmsg.MetadataRequest) kmsg.Response {
	resp := kmsg.NewPtrMetadataResponse()
	nodes := a.cluster.Nodes()
	for _, n := range nodes {
		b := kmsg.NewMetadataResponseBroker()
		b.NodeID, b.Host, b.Port = n.ID, n.Host, n.Port
		resp.Brokers = append(resp.Brokers, b)
	}
	id := a.cluster.ID()
	resp.ClusterID = &id
	resp.ControllerID = controllerID(nodes)
	if req.IncludeClusterAuthorizedOperations {
		resp.AuthorizedOperations = allClusterOperations
	}
	resp.Topics = a.metadataTopics(c, req, nodes)
	if req.IncludeTopicAuthorizedOperations {
		for i := range resp.Topics {
			if resp.Topics[i].ErrorCode == 0 {
				resp.Topics[i].AuthorizedOperations = allTopicOperations
			}
		}
	}
	return resp
}

func (a *API) metadataTopics(c *call, req *kmsg.MetadataRequest, nodes []metadata.Node) []kmsg.MetadataResponseTopic {
	if req.Topics == nil || c.version() == 0 && len(req.Topics) == 0 {
		all := a.topics.All()
		list := make([]kmsg.MetadataResponseTopic, 0, len(all))
		for _, t := range all {
			list = append(list, a.describeTopic(t, nodes))
		}
		return list
	}
	var list []kmsg.MetadataResponseTopic
	seen := make(map[any]bool, len(req.Topics))
	create := req.AllowAutoTopicCreation || c.version() < 4
	for i := range req.Topics {
		t := &req.Topics[i]
		key := any(uuid.UUID(t.TopicID))
		if t.Topic != nil && t.TopicID == [16]byte{} {
			key = *t.Topic
		}
		if !seen[key] {
			seen[key] = true
			list = append(list, a.metadataTopic(c, t, create, nodes))
		}
	}
	return list
}

func (a *API) metadataTopic(c *call, asked *kmsg.MetadataRequestTopic, create bool, nodes []metadata.Node) kmsg.MetadataResponseTopic {
	t, err := a.metadataFind(c, asked, create)
	if err == nil {
		return a.describeTopic(t, nodes)
	}
	r := kmsg.NewMetadataResponseTopic()
	r.ErrorCode, r.Topic, r.TopicID = metadataErrorCode(err), asked.Topic, asked.TopicID
	if errors.Is(err, metadata.ErrUnavailable) {
		r.ErrorCode = kerr.LeaderNotAvailable.Code // the code that makes clients ask again soon
	}
	if r.Topic == nil && c.version() < 12 {
		empty := ""
		r.Topic = &empty
	}
	return r
}

func (a *API) metadataFind(c *call, asked *kmsg.MetadataRequestTopic, create bool) (*metadata.Topic, error) {
	byID := asked.TopicID != [16]byte{}
	switch {
	case c.version() < 12 && (byID || asked.Topic == nil):
		return nil, refuse(kerr.InvalidRequest, "Topic IDs are not supported in requests for version %d.", c.version())
	case byID:
		return a.topics.TopicByID(c.ctx, asked.TopicID)
	case asked.Topic == nil:
		return nil, refuse(kerr.UnknownTopicID, "Neither topic name nor id were specified.")
	}
	if err := checkTopicName(*asked.Topic); err != nil {
		return nil, err
	}
	t, err := a.topics.Topic(c.ctx, *asked.Topic)
	if errors.Is(err, metadata.ErrUnknownTopic) && create && a.mayCreate(*asked.Topic) {
		return a.autoCreate(c, *asked.Topic)
	}
	return t, err
}

// mayCreate tells whether a topic is created on demand. Kafka's own topics are created by what needs them.
func (a *API) mayCreate(name string) bool {
	if metadata.IsInternal(name) || name == clusterMetadataTopic {
		return false
	}
	if create, decided := a.schema.AutoCreate(name); decided {
		return create
	}
	return a.settings.AutoCreate
}

func (a *API) autoCreate(c *call, name string) (*metadata.Topic, error) {
	plan, err := a.planTopic(c.ctx, name, -1, nil)
	if err == nil {
		var t *metadata.Topic
		if t, err = a.createTopic(c, plan); err == nil {
			c.log().Info("created a topic on demand", "topic", t.Name, "partitions", t.Partitions)
			return t, nil
		}
	}
	if errorCode(err) == kerr.TopicAlreadyExists.Code { // somebody was quicker
		return a.topics.Topic(c.ctx, name)
	}
	return nil, err
}

// describeTopic lists a topic's partitions with their leaders. Redis replicates, so the leader is the one replica.
func (a *API) describeTopic(t *metadata.Topic, nodes []metadata.Node) kmsg.MetadataResponseTopic {
	r := kmsg.NewMetadataResponseTopic()
	r.Topic, r.TopicID, r.IsInternal = &t.Name, t.ID, t.Internal()
	r.Partitions = make([]kmsg.MetadataResponseTopicPartition, t.Partitions)
	for i := range r.Partitions {
		p := &r.Partitions[i]
		p.Default()
		p.Partition = int32(i)
		p.Leader, p.LeaderEpoch, p.ErrorCode = a.leader(t, p.Partition, nodes)
		if p.ErrorCode == 0 {
			p.Replicas = []int32{p.Leader}
			p.ISR = p.Replicas
		}
	}
	return r
}

// leader returns a partition's leader and leader epoch, or why there is none.
func (a *API) leader(t *metadata.Topic, p int32, nodes []metadata.Node) (id, epoch int32, code int16) {
	id, ok := metadata.Leader(nodes, t.ID, p)
	if !ok {
		return -1, -1, kerr.LeaderNotAvailable.Code
	}
	return id, a.epochs.LeaderEpoch(partition.Ref{Topic: t.Name, ID: t.ID, Partition: p}), 0
}

func controllerID(nodes []metadata.Node) int32 {
	if id, ok := metadata.Controller(nodes); ok {
		return id
	}
	return -1
}

// existingTopic finds a topic by a name that may be invalid.
func (a *API) existingTopic(ctx context.Context, name string) (*metadata.Topic, error) {
	if err := checkTopicName(name); err != nil {
		return nil, err
	}
	return a.topics.Topic(ctx, name)
}

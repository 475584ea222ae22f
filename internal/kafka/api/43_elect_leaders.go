package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// ElectLeaders (key 43), versions 0 to 2 (KIP-460). A partition's leader follows from the live brokers, so that the
// preferred one leads always and there is never anything to elect. Null asks for all partitions and, as in Kafka, answers
// those that needed an election: none.

const preferredElection, uncleanElection = 0, 1

func (a *API) electLeaders(c *call, req *kmsg.ElectLeadersRequest) kmsg.Response {
	resp := kmsg.NewPtrElectLeadersResponse()
	var invalid error
	if req.ElectionType != preferredElection && req.ElectionType != uncleanElection {
		invalid = refuse(kerr.InvalidRequest, "Unknown election type %d", req.ElectionType)
		resp.ErrorCode = errorCode(invalid)
	}
	for _, t := range req.Topics {
		topic := kmsg.ElectLeadersResponseTopic{Topic: t.Topic}
		for _, p := range t.Partitions {
			err := invalid
			if err == nil {
				err = a.electionNeeded(c.ctx, t.Topic, p)
			}
			topic.Partitions = append(topic.Partitions, kmsg.ElectLeadersResponseTopicPartition{
				Partition: p, ErrorCode: errorCode(err), ErrorMessage: errorMessage(err),
			})
		}
		resp.Topics = append(resp.Topics, topic)
	}
	return resp
}

// electionNeeded says why a partition needs no election, which none does.
func (a *API) electionNeeded(ctx context.Context, topic string, p int32) error {
	if _, err := a.existingPartition(ctx, topic, p); err != nil {
		return err
	}
	return kerr.ElectionNotNeeded
}

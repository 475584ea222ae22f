package api

import (
	"context"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/korvet-io/korvet/internal/metadata"
)

// DeleteTopics (key 20), versions 0 to 6.
//
// v6 takes topics by name or by id (KIP-516). The answer comes when the deletion is committed; the records go in the
// background, and a topic created again under the name never sees them. Version 0, which Kafka 4 dropped, is kept for old
// clients.

func (a *API) deleteTopics(c *call, req *kmsg.DeleteTopicsRequest) kmsg.Response {
	resp := kmsg.NewPtrDeleteTopicsResponse()
	asked := req.Topics
	for i := range req.TopicNames {
		t := kmsg.NewDeleteTopicsRequestTopic()
		t.Topic = &req.TopicNames[i]
		asked = append(asked, t)
	}
	twice := repeated(asked, deletionKey)
	deleted := map[uuid.UUID]bool{}
	for i := range asked {
		t := &asked[i]
		r := kmsg.NewDeleteTopicsResponseTopic()
		r.Topic, r.TopicID = t.Topic, t.TopicID
		var err error
		if named(t) && twice[deletionKey(t)] {
			err = refuse(kerr.InvalidRequest, "Duplicate topic name or id.")
		} else {
			err = a.deleteOne(c.ctx, t, &r, deleted)
		}
		r.ErrorCode, r.ErrorMessage = errorCode(err), errorMessage(err)
		resp.Topics = append(resp.Topics, r)
	}
	return resp
}

func (a *API) deleteOne(ctx context.Context, t *kmsg.DeleteTopicsRequestTopic, r *kmsg.DeleteTopicsResponseTopic, deleted map[uuid.UUID]bool) error {
	found, err := a.findForDeletion(ctx, t)
	if err != nil {
		return err
	}
	r.Topic, r.TopicID = &found.Name, found.ID
	if deleted[found.ID] {
		return refuse(kerr.InvalidRequest, "The topic was named twice, by its name and by its id.")
	}
	deleted[found.ID] = true
	return a.topics.Delete(ctx, found)
}

func (a *API) findForDeletion(ctx context.Context, t *kmsg.DeleteTopicsRequestTopic) (*metadata.Topic, error) {
	byID := t.TopicID != [16]byte{}
	switch {
	case t.Topic == nil && !byID:
		return nil, refuse(kerr.InvalidRequest, "Neither topic name nor id were specified.")
	case t.Topic != nil && byID:
		return nil, refuse(kerr.InvalidRequest, "You may not specify both topic name and topic id.")
	case byID:
		return a.topics.TopicByID(ctx, t.TopicID)
	}
	return a.topics.Topic(ctx, *t.Topic)
}

func named(t *kmsg.DeleteTopicsRequestTopic) bool { return t.Topic != nil || t.TopicID != [16]byte{} }

// deletionKey tells topics of a request apart: by name or by id.
func deletionKey(t *kmsg.DeleteTopicsRequestTopic) string {
	if t.Topic != nil {
		return "name:" + *t.Topic
	}
	return "id:" + string(t.TopicID[:])
}

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
	found, errs := make([]*metadata.Topic, len(asked)), make([]error, len(asked))
	times := map[uuid.UUID]int{}
	twice := repeated(asked, deletionKey)
	for i := range asked {
		if found[i], errs[i] = a.findForDeletion(c.ctx, &asked[i]); errs[i] == nil {
			times[found[i].ID]++
		} else if named(&asked[i]) && twice[deletionKey(&asked[i])] {
			errs[i] = errDeletedTwice()
		}
	}
	told := map[string]bool{}
	for i := range asked {
		key := deletionKey(&asked[i])
		if found[i] != nil {
			key = "id:" + string(found[i].ID[:])
		}
		if told[key] && named(&asked[i]) {
			continue // one answer for a topic that was named more than once
		}
		told[key] = true
		r := kmsg.NewDeleteTopicsResponseTopic()
		r.Topic, r.TopicID = asked[i].Topic, asked[i].TopicID
		if t, err := found[i], errs[i]; err == nil {
			r.Topic, r.TopicID = &t.Name, t.ID
			if times[t.ID] > 1 {
				errs[i] = errDeletedTwice()
			} else {
				errs[i] = a.topics.Delete(c.ctx, t)
			}
		}
		r.ErrorCode, r.ErrorMessage = errorCode(errs[i]), errorMessage(errs[i])
		resp.Topics = append(resp.Topics, r)
	}
	return resp
}

func errDeletedTwice() error {
	return refuse(kerr.InvalidRequest, "The topic was named more than once, by its name or its id.")
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

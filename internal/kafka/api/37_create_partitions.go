package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/korvet-io/korvet/internal/metadata"
)

// CreatePartitions (key 37), versions 0 to 3 (KIP-195).

func (a *API) createPartitions(c *call, req *kmsg.CreatePartitionsRequest) kmsg.Response {
	resp := kmsg.NewPtrCreatePartitionsResponse()
	twice := repeated(req.Topics, func(t *kmsg.CreatePartitionsRequestTopic) string { return t.Topic })
	answered := map[string]bool{}
	for i := range req.Topics {
		t := &req.Topics[i]
		var err error
		if twice[t.Topic] {
			if answered[t.Topic] {
				continue
			}
			answered[t.Topic] = true
			err = refuse(kerr.InvalidRequest, "Duplicate topic name.")
		} else {
			err = a.addPartitions(c.ctx, t, req.ValidateOnly)
		}
		r := kmsg.NewCreatePartitionsResponseTopic()
		r.Topic, r.ErrorCode, r.ErrorMessage = t.Topic, errorCode(err), errorMessage(err)
		resp.Topics = append(resp.Topics, r)
	}
	return resp
}

func (a *API) addPartitions(ctx context.Context, t *kmsg.CreatePartitionsRequestTopic, validateOnly bool) error {
	return a.alterTopic(ctx, t.Topic, validateOnly, func(cur *metadata.Topic) (int32, map[string]string, error) {
		switch {
		case t.Count == cur.Partitions:
			return 0, nil, refuse(kerr.InvalidPartitions, "Topic already has %d partition(s).", cur.Partitions)
		case t.Count < cur.Partitions:
			return 0, nil, refuse(kerr.InvalidPartitions, "The topic %s currently has %d partition(s); %d would not be an increase.", t.Topic, cur.Partitions, t.Count)
		}
		more := t.Count - cur.Partitions
		if err := a.checkPartitions(t.Count, more); err != nil {
			return 0, nil, err
		}
		if t.Assignment == nil {
			return t.Count, cur.Configs, nil
		}
		if len(t.Assignment) != int(more) {
			return 0, nil, refuse(kerr.InvalidReplicaAssignment, "Attempted to add %d additional partition(s), but only %d assignment(s) were specified.", more, len(t.Assignment))
		}
		for i := range t.Assignment {
			if err := a.checkAssignment(t.Assignment[i].Replicas); err != nil {
				return 0, nil, err
			}
		}
		return t.Count, cur.Configs, nil
	})
}

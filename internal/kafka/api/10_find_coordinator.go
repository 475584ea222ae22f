package api

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/korvet-io/korvet/internal/group"
)

// FindCoordinator (key 10), versions 0 to 6.
//
// v1 key types and messages; v4 several keys (KIP-699). v5 and v6 differ only for transactions and share groups (KIP-890,
// KIP-932), of which there are none. Of a transactional id the client is told here already that it gets no further: after
// COORDINATOR_NOT_AVAILABLE it would ask again until its time is over, and never learn why.

// The kinds of keys.
const (
	groupKey       = 0
	transactionKey = 1
)

func (a *API) findCoordinator(c *call, req *kmsg.FindCoordinatorRequest) kmsg.Response {
	resp := kmsg.NewPtrFindCoordinatorResponse()
	if c.version() < 4 {
		one := a.findOneCoordinator(c, req.CoordinatorType, req.CoordinatorKey)
		resp.ErrorCode, resp.ErrorMessage = one.ErrorCode, one.ErrorMessage
		resp.NodeID, resp.Host, resp.Port = one.NodeID, one.Host, one.Port
		return resp
	}
	resp.Coordinators = make([]kmsg.FindCoordinatorResponseCoordinator, len(req.CoordinatorKeys))
	for i, key := range req.CoordinatorKeys {
		resp.Coordinators[i] = a.findOneCoordinator(c, req.CoordinatorType, key)
	}
	return resp
}

func (a *API) findOneCoordinator(c *call, kind int8, key string) kmsg.FindCoordinatorResponseCoordinator {
	r := kmsg.NewFindCoordinatorResponseCoordinator()
	r.Key = key
	if err := a.fillCoordinator(&r, kind, key); err != nil {
		a.groupFailed(c, "find_coordinator", err)
		r.NodeID, r.Host, r.Port = -1, "", -1
		r.ErrorCode, r.ErrorMessage = groupErrorCode(err), errorMessage(err)
	}
	return r
}

func (a *API) fillCoordinator(r *kmsg.FindCoordinatorResponseCoordinator, kind int8, key string) error {
	switch kind {
	case groupKey:
	case transactionKey:
		return errTransactions
	default:
		return refuse(kerr.InvalidRequest, "coordinators of key type %d are not supported by this broker", kind)
	}
	id, err := a.groupAdmin.Coordinator(key)
	if err != nil {
		return err
	}
	for _, n := range a.cluster.Nodes() {
		if n.ID == id {
			r.NodeID, r.Host, r.Port = n.ID, n.Host, n.Port
			return nil
		}
	}
	return group.ErrCoordinatorUnavailable
}

package api

import "github.com/twmb/franz-go/pkg/kmsg"

// ListPartitionReassignments (key 46), version 0 (KIP-455). Partitions move at once or not at all: none is ever moving.

func (a *API) listPartitionReassignments(_ *call, _ *kmsg.ListPartitionReassignmentsRequest) kmsg.Response {
	return kmsg.NewPtrListPartitionReassignmentsResponse()
}

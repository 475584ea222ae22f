package api

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// DescribeCluster (key 60), versions 0 to 2 (KIP-700). v1 asks for brokers or controllers (KIP-919), v2 may ask for fenced
// brokers: there are none here, a broker that is not live is not listed.

const brokerEndpoints, controllerEndpoints = 1, 2

func (a *API) describeCluster(_ *call, req *kmsg.DescribeClusterRequest) kmsg.Response {
	resp := kmsg.NewPtrDescribeClusterResponse()
	resp.EndpointType = req.EndpointType
	if err := checkEndpointType(req.EndpointType); err != nil {
		resp.ErrorCode, resp.ErrorMessage = errorCode(err), errorMessage(err)
		resp.EndpointType = brokerEndpoints
		return resp
	}
	nodes := a.cluster.Nodes()
	resp.ClusterID, resp.ControllerID = a.cluster.ID(), controllerID(nodes)
	for _, n := range nodes {
		b := kmsg.NewDescribeClusterResponseBroker()
		b.NodeID, b.Host, b.Port = n.ID, n.Host, n.Port
		resp.Brokers = append(resp.Brokers, b)
	}
	if req.IncludeClusterAuthorizedOperations {
		resp.ClusterAuthorizedOperations = allClusterOperations
	}
	return resp
}

func checkEndpointType(t int8) error {
	switch t {
	case brokerEndpoints:
		return nil
	case controllerEndpoints:
		return refuse(kerr.MismatchedEndpointType, "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER")
	}
	return refuse(kerr.UnsupportedEndpointType, "Unsupported endpoint type %d", t)
}

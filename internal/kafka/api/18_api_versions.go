package api

import (
	"regexp"
	"sort"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// ApiVersions (key 18), versions 0 to 5.
//
// v3 names the client's software (KIP-511); v4 lets a feature's minimum be 0; v5 names the cluster and node the
// client means to speak to, and another one answers REBOOTSTRAP_REQUIRED (KIP-1242). A version we do not know is
// answered in version 0 with the range we serve. features.go has the features.

// softwareName is what Kafka accepts as a client's software name or version.
var softwareName = regexp.MustCompile(`^[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?$`)

func (a *API) apiVersions(c *call, req *kmsg.ApiVersionsRequest) kmsg.Response {
	resp := kmsg.NewPtrApiVersionsResponse()
	if err := a.checkApiVersions(c, req); err != nil {
		a.failed(c, "api_versions", err)
		resp.ErrorCode = errorCode(err)
		return resp
	}
	for _, r := range a.routes {
		if !r.silent {
			resp.ApiKeys = append(resp.ApiKeys, r.advertised())
		}
	}
	tellFeatures(resp, c.version())
	sort.Slice(resp.ApiKeys, func(i, j int) bool { return resp.ApiKeys[i].ApiKey < resp.ApiKeys[j].ApiKey })
	return resp
}

// checkApiVersions checks who the client says it is, and whom it means to speak to.
func (a *API) checkApiVersions(c *call, req *kmsg.ApiVersionsRequest) error {
	if c.version() >= 3 && !(softwareName.MatchString(req.ClientSoftwareName) && softwareName.MatchString(req.ClientSoftwareVersion)) {
		return refuse(kerr.InvalidRequest, "client software %q version %q", req.ClientSoftwareName, req.ClientSoftwareVersion)
	}
	if c.version() < 5 || req.ClusterID == nil && req.NodeID == -1 {
		return nil
	}
	self := a.cluster.Self().ID
	switch {
	case req.ClusterID == nil || req.NodeID == -1:
		return refuse(kerr.InvalidRequest, "cluster id without node id, or the other way round")
	case *req.ClusterID != a.cluster.ID() || req.NodeID != self:
		return refuse(kerr.RebootstrapRequired, "client means node %d of cluster %q, this is node %d of %q", req.NodeID, *req.ClusterID, self, a.cluster.ID())
	}
	return nil
}

// apiVersionsUnsupported answers a version of ApiVersions that is not served, in version 0.
func (a *API) apiVersionsUnsupported() kmsg.Response {
	resp := kmsg.NewPtrApiVersionsResponse()
	resp.ErrorCode = kerr.UnsupportedVersion.Code
	resp.ApiKeys = []kmsg.ApiVersionsResponseApiKey{a.routes[keyApiVersions].advertised()}
	return resp
}

// advertised is the route's range as ApiVersions tells it.
func (r *route) advertised() kmsg.ApiVersionsResponseApiKey {
	k := kmsg.NewApiVersionsResponseApiKey()
	k.ApiKey, k.MinVersion, k.MaxVersion = r.key, r.min, r.max
	return k
}

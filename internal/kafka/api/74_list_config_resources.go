package api

import (
	"strconv"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/korvet-io/korvet/internal/metadata"
)

// ListConfigResources (key 74), versions 0 to 1 (KIP-1142): the resources of some kinds, of all when none is named. v0 asks
// for subscriptions to clients' metrics (KIP-714), which there are none of. Groups are listed when they have settings.

func (a *API) listConfigResources(c *call, req *kmsg.ListConfigResourcesRequest) kmsg.Response {
	resp := kmsg.NewPtrListConfigResourcesResponse()
	if c.version() == 0 {
		return resp
	}
	kinds := req.ResourceTypes
	if len(kinds) == 0 {
		for _, k := range configResources() {
			kinds = append(kinds, int8(k))
		}
	}
	seen := map[int8]bool{}
	for _, kind := range kinds {
		if seen[kind] {
			continue
		}
		seen[kind] = true
		names, err := a.configResources(kmsg.ConfigResourceType(kind))
		if err != nil {
			resp.ErrorCode, resp.ConfigResources = errorCode(err), nil
			return resp
		}
		for _, name := range names {
			resp.ConfigResources = append(resp.ConfigResources, kmsg.ListConfigResourcesResponseConfigResource{Name: name, Type: kind})
		}
	}
	return resp
}

// configResources are the kinds of resources that Kafka lists.
func configResources() []kmsg.ConfigResourceType {
	return []kmsg.ConfigResourceType{
		kmsg.ConfigResourceTypeTopic, kmsg.ConfigResourceTypeBroker, kmsg.ConfigResourceTypeBrokerLogger,
		kmsg.ConfigResourceTypeClientMetrics, kmsg.ConfigResourceTypeGroupConfig,
	}
}

func (a *API) configResources(kind kmsg.ConfigResourceType) (names []string, err error) {
	switch kind {
	case kmsg.ConfigResourceTypeTopic:
		for _, t := range a.topics.All() {
			names = append(names, t.Name)
		}
	case kmsg.ConfigResourceTypeBroker, kmsg.ConfigResourceTypeBrokerLogger:
		for _, n := range a.cluster.Nodes() {
			names = append(names, strconv.Itoa(int(n.ID)))
		}
	case kmsg.ConfigResourceTypeGroupConfig:
		names = a.configs.Configured(metadata.GroupConfigs)
	case kmsg.ConfigResourceTypeClientMetrics:
	default:
		return nil, kerr.UnsupportedVersion
	}
	return names, nil
}

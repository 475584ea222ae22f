package api

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// DescribeClientQuotas (key 48), versions 0 to 1 (KIP-546). There are no quotas in this version: none is set. Filters are
// checked as Kafka checks them.

func (a *API) describeClientQuotas(_ *call, req *kmsg.DescribeClientQuotasRequest) kmsg.Response {
	resp := kmsg.NewPtrDescribeClientQuotasResponse()
	err := checkQuotaFilter(req.Components)
	resp.ErrorCode, resp.ErrorMessage = errorCode(err), errorMessage(err)
	if err == nil {
		resp.Entries = []kmsg.DescribeClientQuotasResponseEntry{} // null goes with an error
	}
	return resp
}

func checkQuotaFilter(components []kmsg.DescribeClientQuotasRequestComponent) error {
	seen := map[string]bool{}
	for _, c := range components {
		switch {
		case c.EntityType == "":
			return refuse(kerr.InvalidRequest, "Unexpected empty filter component entity type")
		case seen[c.EntityType]:
			return refuse(kerr.InvalidRequest, "Entity type %s cannot appear more than once in the filter", c.EntityType)
		case !isQuotaEntity(c.EntityType):
			return refuse(kerr.UnsupportedVersion, "Custom entity type '%s' not supported", c.EntityType)
		case c.MatchType < kmsg.QuotasMatchTypeExact || c.MatchType > kmsg.QuotasMatchTypeAny:
			return refuse(kerr.InvalidRequest, "Unexpected match type: %d", c.MatchType)
		}
		seen[c.EntityType] = true
	}
	return nil
}

// isQuotaEntity tells the kinds of clients that quotas may be for.
func isQuotaEntity(kind string) bool { return kind == "user" || kind == "client-id" || kind == "ip" }

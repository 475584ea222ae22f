package api

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// AlterClientQuotas (key 49), versions 0 to 1 (KIP-546). A quota that is stored and not enforced would be a lie, so setting
// one is refused. Removing one that is not set succeeds, as in Kafka.

func (a *API) alterClientQuotas(_ *call, req *kmsg.AlterClientQuotasRequest) kmsg.Response {
	resp := kmsg.NewPtrAlterClientQuotasResponse()
	for _, asked := range req.Entries {
		err := alterQuota(&asked)
		entry := kmsg.AlterClientQuotasResponseEntry{ErrorCode: errorCode(err), ErrorMessage: errorMessage(err)}
		for _, e := range asked.Entity {
			entry.Entity = append(entry.Entity, kmsg.AlterClientQuotasResponseEntryEntity{Type: e.Type, Name: e.Name})
		}
		resp.Entries = append(resp.Entries, entry)
	}
	return resp
}

func alterQuota(asked *kmsg.AlterClientQuotasRequestEntry) error {
	if len(asked.Entity) == 0 {
		return refuse(kerr.InvalidRequest, "Invalid empty client quota entity")
	}
	ip := false
	for _, e := range asked.Entity {
		if !isQuotaEntity(e.Type) {
			return refuse(kerr.InvalidRequest, "Unhandled client quota entity type: %s", e.Type)
		}
		if e.Name != nil && *e.Name == "" {
			return refuse(kerr.InvalidRequest, "Empty %s not supported", e.Type)
		}
		ip = ip || e.Type == "ip"
	}
	if ip && len(asked.Entity) > 1 {
		return refuse(kerr.InvalidRequest, "Invalid quota entity combination, IP entity should not be combined with User or ClientId")
	}
	for _, op := range asked.Ops {
		if !slices.Contains(quotaKeys(ip), op.Key) {
			return refuse(kerr.InvalidRequest, "Invalid configuration key %s", op.Key)
		}
	}
	for _, op := range asked.Ops {
		if !op.Remove {
			return notSupported("Client quotas are not enforced in this version, so none can be set: " + op.Key)
		}
	}
	return nil
}

func quotaKeys(ip bool) []string {
	if ip {
		return []string{"connection_creation_rate"}
	}
	return []string{"producer_byte_rate", "consumer_byte_rate", "request_percentage", "controller_mutation_rate"}
}

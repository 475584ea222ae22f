package api

import "github.com/twmb/franz-go/pkg/kmsg"

// feature is a cluster-wide feature (KIP-584): the levels that this version can have, and the one that it has.
type feature struct {
	name            string
	min, max, level int16
}

// features lists those of Kafka's that are served: group.version 1 is the consumer protocol (KIP-848). Kafka's others are
// about its own quorum, transactions, share groups and streams groups.
func features() []feature { return []feature{{name: "group.version", min: 0, max: 1, level: 1}} }

// featuresEpoch is the version of the list of features. It does not change while brokers run.
const featuresEpoch = 0

// tellFeatures adds the features to an answer. Clients before ApiVersions v4 cannot read a minimum of 0 (KIP-1022).
func tellFeatures(resp *kmsg.ApiVersionsResponse, version int16) {
	resp.FinalizedFeaturesEpoch = featuresEpoch
	for _, f := range features() {
		if f.min > 0 || version >= 4 {
			resp.SupportedFeatures = append(resp.SupportedFeatures, kmsg.ApiVersionsResponseSupportedFeature{Name: f.name, MinVersion: f.min, MaxVersion: f.max})
		}
		resp.FinalizedFeatures = append(resp.FinalizedFeatures, kmsg.ApiVersionsResponseFinalizedFeature{Name: f.name, MinVersionLevel: f.level, MaxVersionLevel: f.level})
	}
}

package api

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// UpdateFeatures (key 57), versions 0 to 2 (KIP-584). A version of korvet has its features at fixed levels: naming the
// level that one has is no change, another one is refused. v1 has a dry run, from v2 on one error answers for all.

// The values of UpgradeType.
const featureUpgrade, featureUnsafeDowngrade = 1, 3

func (a *API) updateFeatures(c *call, req *kmsg.UpdateFeaturesRequest) kmsg.Response {
	resp := kmsg.NewPtrUpdateFeaturesResponse()
	var first error
	for i := range req.FeatureUpdates {
		asked := &req.FeatureUpdates[i]
		err := checkFeatureUpdate(c.version(), asked)
		if first == nil {
			first = err
		}
		if c.version() < 2 {
			resp.Results = append(resp.Results, kmsg.UpdateFeaturesResponseResult{Feature: asked.Feature, ErrorCode: errorCode(err), ErrorMessage: errorMessage(err)})
		}
	}
	if c.version() >= 2 {
		resp.ErrorCode, resp.ErrorMessage = errorCode(first), errorMessage(first)
	}
	return resp
}

func checkFeatureUpdate(version int16, asked *kmsg.UpdateFeaturesRequestFeatureUpdate) error {
	if version >= 1 && (asked.UpgradeType < featureUpgrade || asked.UpgradeType > featureUnsafeDowngrade) {
		return invalidFeatureLevel(asked, "The controller does not support the given upgrade type.")
	}
	for _, f := range features() {
		switch {
		case f.name != asked.Feature:
		case asked.MaxVersionLevel < f.min || asked.MaxVersionLevel > f.max:
			return invalidFeatureLevel(asked, "The brokers do not support this level.")
		case asked.MaxVersionLevel != f.level:
			return invalidFeatureLevel(asked, "The levels of features are fixed in this version.")
		default:
			return nil
		}
	}
	return invalidFeatureLevel(asked, "The brokers do not support the feature.")
}

func invalidFeatureLevel(asked *kmsg.UpdateFeaturesRequestFeatureUpdate, why string) error {
	return refuse(kerr.InvalidUpdateVersion, "Invalid update version %d for feature %s. %s", asked.MaxVersionLevel, asked.Feature, why)
}

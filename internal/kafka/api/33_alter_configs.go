package api

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// AlterConfigs (key 33), versions 0 to 2: the settings named replace all that the resource had.

func (a *API) alterConfigs(c *call, req *kmsg.AlterConfigsRequest) kmsg.Response {
	resp := kmsg.NewPtrAlterConfigsResponse()
	twice := repeated(req.Resources, func(r *kmsg.AlterConfigsRequestResource) string { return resourceKey(r.ResourceType, r.ResourceName) })
	for i := range req.Resources {
		asked := &req.Resources[i]
		change := &configChange{kind: asked.ResourceType, name: asked.ResourceName, replaceAll: true}
		for _, s := range asked.Configs {
			change.settings = append(change.settings, settingChange{s.Name, kmsg.IncrementalAlterConfigOpSet, s.Value})
		}
		var err error
		if twice[resourceKey(change.kind, change.name)] {
			err = errResourceTwice()
		} else {
			err = a.changeConfigs(c.ctx, change, req.ValidateOnly)
		}
		r := kmsg.NewAlterConfigsResponseResource()
		r.ResourceType, r.ResourceName = asked.ResourceType, asked.ResourceName
		r.ErrorCode, r.ErrorMessage = errorCode(err), errorMessage(err)
		resp.Resources = append(resp.Resources, r)
	}
	return resp
}

func errResourceTwice() error {
	return refuse(kerr.InvalidRequest, "Each resource must appear at most once.")
}

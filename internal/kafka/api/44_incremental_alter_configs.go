package api

import "github.com/twmb/franz-go/pkg/kmsg"

// IncrementalAlterConfigs (key 44), versions 0 to 1 (KIP-339): only the settings named change.

func (a *API) incrementalAlterConfigs(c *call, req *kmsg.IncrementalAlterConfigsRequest) kmsg.Response {
	resp := kmsg.NewPtrIncrementalAlterConfigsResponse()
	twice := repeated(req.Resources, func(r *kmsg.IncrementalAlterConfigsRequestResource) string {
		return resourceKey(r.ResourceType, r.ResourceName)
	})
	for i := range req.Resources {
		asked := &req.Resources[i]
		change := &configChange{kind: asked.ResourceType, name: asked.ResourceName}
		for _, s := range asked.Configs {
			change.settings = append(change.settings, settingChange{s.Name, s.Op, s.Value})
		}
		var err error
		if twice[resourceKey(change.kind, change.name)] {
			err = errResourceTwice()
		} else {
			err = a.changeConfigs(c.ctx, change, req.ValidateOnly)
		}
		r := kmsg.NewIncrementalAlterConfigsResponseResource()
		r.ResourceType, r.ResourceName = asked.ResourceType, asked.ResourceName
		r.ErrorCode, r.ErrorMessage = errorCode(err), errorMessage(err)
		resp.Resources = append(resp.Resources, r)
	}
	return resp
}

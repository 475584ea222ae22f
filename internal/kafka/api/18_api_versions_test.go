package api

import (
	"encoding/hex"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestApiVersionsTellsTheRoutes(t *testing.T) {
	b := newBroker(t, nil)
	for version := int16(0); version <= 5; version++ {
		resp := do[*kmsg.ApiVersionsResponse](b, apiVersionsRequest(), version)
		if resp.ErrorCode != 0 || len(resp.ApiKeys) != advertisedRoutes(b) {
			t.Fatalf("version %d: %+v", version, resp)
		}
		for i, k := range resp.ApiKeys {
			r := b.api.routes[k.ApiKey]
			if r == nil || k.MinVersion != r.min || k.MaxVersion != r.max || i > 0 && k.ApiKey <= resp.ApiKeys[i-1].ApiKey {
				t.Errorf("version %d: %+v", version, k)
			}
		}
	}
}

func advertisedRoutes(b *broker) (n int) {
	for _, r := range b.api.routes {
		if !r.silent {
			n++
		}
	}
	return n
}

// Clients before v4 cannot read a feature whose minimum is 0.
func TestApiVersionsTellsFeatures(t *testing.T) {
	b := newBroker(t, nil)
	for version, supported := range map[int16]int{3: 0, 4: 1, 5: 1} {
		resp := do[*kmsg.ApiVersionsResponse](b, apiVersionsRequest(), version)
		if len(resp.SupportedFeatures) != supported || len(resp.FinalizedFeatures) != 1 || resp.FinalizedFeatures[0].MaxVersionLevel != 1 {
			t.Errorf("version %d: %+v, %+v", version, resp.SupportedFeatures, resp.FinalizedFeatures)
		}
	}
}

func TestUnknownApiVersionsIsAnsweredInVersion0(t *testing.T) {
	b := newBroker(t, nil)
	for _, version := range []int16{6, 99, 32767, -1} {
		a := b.await(b.start(18, version, []byte("whatever it is")))
		if got := hex.EncodeToString(a.body); a.err != nil || got != "0023"+"00000001"+"0012"+"0000"+"0005" {
			t.Errorf("version %d: %s, %v", version, got, a.err)
		}
	}
}

func TestApiVersionsHeaderHasNoTags(t *testing.T) {
	b := newBroker(t, nil)
	req := apiVersionsRequest()
	a := b.await(b.startRequest(req, 3))
	if a.body[0] != 0 || a.body[1] != 0 || int(a.body[2]) != advertisedRoutes(b)+1 {
		t.Fatalf("%x", a.body[:8])
	}
}

func TestApiVersionsChecksWhoAsks(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*kmsg.ApiVersionsRequest)
		want   string
	}{
		"good":                 {func(*kmsg.ApiVersionsRequest) {}, "OK"},
		"empty name":           {func(r *kmsg.ApiVersionsRequest) { r.ClientSoftwareName = "" }, "INVALID_REQUEST"},
		"name with a blank":    {func(r *kmsg.ApiVersionsRequest) { r.ClientSoftwareName = "a b" }, "INVALID_REQUEST"},
		"version with comma":   {func(r *kmsg.ApiVersionsRequest) { r.ClientSoftwareVersion = "1,0" }, "INVALID_REQUEST"},
		"this broker":          {func(r *kmsg.ApiVersionsRequest) { r.ClusterID, r.NodeID = kmsg.StringPtr("AAAAAAAAAAAAAAAAAAAAAA"), 1 }, "OK"},
		"another broker":       {func(r *kmsg.ApiVersionsRequest) { r.ClusterID, r.NodeID = kmsg.StringPtr("AAAAAAAAAAAAAAAAAAAAAA"), 2 }, "REBOOTSTRAP_REQUIRED"},
		"another cluster":      {func(r *kmsg.ApiVersionsRequest) { r.ClusterID, r.NodeID = kmsg.StringPtr("B"), 1 }, "REBOOTSTRAP_REQUIRED"},
		"node without cluster": {func(r *kmsg.ApiVersionsRequest) { r.NodeID = 1 }, "INVALID_REQUEST"},
		"cluster without node": {func(r *kmsg.ApiVersionsRequest) { r.ClusterID = kmsg.StringPtr("B") }, "INVALID_REQUEST"},
	} {
		b := newBroker(t, nil)
		req := apiVersionsRequest()
		c.change(req)
		resp := do[*kmsg.ApiVersionsResponse](b, req, 5)
		if got := codeName(resp.ErrorCode); got != c.want || got != "OK" && len(resp.ApiKeys) > 0 {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

package api

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestInitProducerIdGivesNewIds(t *testing.T) {
	b := newBroker(t, nil)
	seen := map[int64]bool{}
	for version := int16(0); version <= 5; version++ {
		for range 50 {
			resp := do[*kmsg.InitProducerIDResponse](b, kmsg.NewPtrInitProducerIDRequest(), version)
			if resp.ErrorCode != 0 || resp.ProducerID < 0 || resp.ProducerEpoch != 0 || seen[resp.ProducerID] {
				t.Fatalf("version %d: %+v", version, resp)
			}
			seen[resp.ProducerID] = true
		}
	}
}

func TestInitProducerIdErrors(t *testing.T) {
	b := newBroker(t, nil)
	for name, c := range map[string]struct {
		change func(*kmsg.InitProducerIDRequest)
		want   string
	}{
		"transactional id":       {func(r *kmsg.InitProducerIDRequest) { r.TransactionalID = kmsg.StringPtr("tx") }, "TRANSACTIONAL_ID_AUTHORIZATION_FAILED"},
		"empty transactional id": {func(r *kmsg.InitProducerIDRequest) { r.TransactionalID = kmsg.StringPtr("") }, "INVALID_REQUEST"},
		"epoch without id":       {func(r *kmsg.InitProducerIDRequest) { r.ProducerEpoch = 1 }, "INVALID_REQUEST"},
		"known id":               {func(r *kmsg.InitProducerIDRequest) { r.ProducerID, r.ProducerEpoch = 17, 3 }, "OK"},
	} {
		req := kmsg.NewPtrInitProducerIDRequest()
		c.change(req)
		resp := do[*kmsg.InitProducerIDResponse](b, req, 4)
		if codeName(resp.ErrorCode) != c.want || c.want != "OK" && resp.ProducerID != -1 || resp.ProducerID == 17 {
			t.Errorf("%s: %+v, want %s", name, resp, c.want)
		}
	}
}

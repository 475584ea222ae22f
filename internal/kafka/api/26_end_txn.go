package api

import "github.com/twmb/franz-go/pkg/kmsg"

// EndTxn (key 26), versions 0 to 5. There are no transactions: refused with an error that ends a transactional producer.

func (a *API) endTxn(_ *call, _ *kmsg.EndTxnRequest) kmsg.Response {
	resp := kmsg.NewPtrEndTxnResponse()
	resp.ErrorCode, resp.ProducerID, resp.ProducerEpoch = errorCode(errTransactions), -1, -1
	return resp
}

package api

import "github.com/twmb/franz-go/pkg/kmsg"

// AddOffsetsToTxn (key 25), versions 0 to 4. There are no transactions: refused with an error that ends a transactional
// producer.

func (a *API) addOffsetsToTxn(_ *call, _ *kmsg.AddOffsetsToTxnRequest) kmsg.Response {
	resp := kmsg.NewPtrAddOffsetsToTxnResponse()
	resp.ErrorCode = errorCode(errTransactions)
	return resp
}

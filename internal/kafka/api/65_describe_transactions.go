package api

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// DescribeTransactions (key 65), version 0 (KIP-664). There are no transactions: no id is known.

func (a *API) describeTransactions(_ *call, req *kmsg.DescribeTransactionsRequest) kmsg.Response {
	resp := kmsg.NewPtrDescribeTransactionsResponse()
	for _, id := range req.TransactionalIDs {
		s := kmsg.NewDescribeTransactionsResponseTransactionState()
		s.TransactionalID, s.ErrorCode = id, kerr.TransactionalIDNotFound.Code
		resp.TransactionStates = append(resp.TransactionStates, s)
	}
	return resp
}

package api

import (
	"regexp"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// ListTransactions (key 66), versions 0 to 2 (KIP-664). There are no transactions: the list is empty, and the filters are
// checked as Kafka checks them. v2 filters by a pattern of ids (KIP-1152).

func (a *API) listTransactions(_ *call, req *kmsg.ListTransactionsRequest) kmsg.Response {
	resp := kmsg.NewPtrListTransactionsResponse()
	if p := req.TransactionalIDPattern; p != nil {
		if _, err := regexp.Compile(*p); err != nil {
			resp.ErrorCode = kerr.InvalidRegularExpression.Code
			return resp
		}
	}
	for _, state := range req.StateFilters {
		if !slices.Contains(transactionStates(), state) {
			resp.UnknownStateFilters = append(resp.UnknownStateFilters, state)
		}
	}
	return resp
}

// transactionStates are the states that Kafka knows.
func transactionStates() []string {
	return []string{"Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort", "PrepareEpochFence", "Dead"}
}

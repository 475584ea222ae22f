package api

import "github.com/twmb/franz-go/pkg/kmsg"

// AddPartitionsToTxn (key 24), versions 0 to 5. There are no transactions: each partition is refused with an error that
// ends a transactional producer. Brokers send batches of transactions since v4 (KIP-890).

func (a *API) addPartitionsToTxn(_ *call, req *kmsg.AddPartitionsToTxnRequest) kmsg.Response {
	resp := kmsg.NewPtrAddPartitionsToTxnResponse()
	refused := errorCode(errTransactions)
	for _, t := range req.Topics {
		topic := kmsg.AddPartitionsToTxnResponseTopic{Topic: t.Topic}
		for _, p := range t.Partitions {
			topic.Partitions = append(topic.Partitions, kmsg.AddPartitionsToTxnResponseTopicPartition{Partition: p, ErrorCode: refused})
		}
		resp.Topics = append(resp.Topics, topic)
	}
	for _, x := range req.Transactions {
		transaction := kmsg.AddPartitionsToTxnResponseTransaction{TransactionalID: x.TransactionalID}
		for _, t := range x.Topics {
			topic := kmsg.AddPartitionsToTxnResponseTransactionTopic{Topic: t.Topic}
			for _, p := range t.Partitions {
				topic.Partitions = append(topic.Partitions, kmsg.AddPartitionsToTxnResponseTransactionTopicPartition{Partition: p, ErrorCode: refused})
			}
			transaction.Topics = append(transaction.Topics, topic)
		}
		resp.Transactions = append(resp.Transactions, transaction)
	}
	return resp
}

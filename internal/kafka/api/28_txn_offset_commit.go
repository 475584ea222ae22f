package api

import "github.com/twmb/franz-go/pkg/kmsg"

// TxnOffsetCommit (key 28), versions 0 to 6. There are no transactions: each partition is refused with an error that ends a
// transactional producer.

func (a *API) txnOffsetCommit(_ *call, req *kmsg.TxnOffsetCommitRequest) kmsg.Response {
	resp := kmsg.NewPtrTxnOffsetCommitResponse()
	for _, t := range req.Topics {
		topic := kmsg.TxnOffsetCommitResponseTopic{Topic: t.Topic, TopicID: t.TopicID}
		for _, p := range t.Partitions {
			topic.Partitions = append(topic.Partitions, kmsg.TxnOffsetCommitResponseTopicPartition{Partition: p.Partition, ErrorCode: errorCode(errTransactions)})
		}
		resp.Topics = append(resp.Topics, topic)
	}
	return resp
}

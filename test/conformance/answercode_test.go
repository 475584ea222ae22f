package conformance

import "github.com/twmb/franz-go/pkg/kmsg"

// answerCode is the error of the first thing that was asked for. Answers without content are none.
func answerCode(c *conn, resp kmsg.Response) string {
	c.t.Helper()
	switch r := resp.(type) {
	case *kmsg.ProduceResponse:
		return code(r.Topics[0].Partitions[0].ErrorCode)
	case *kmsg.FetchResponse:
		p := r.Topics[0].Partitions[0]
		if p.ErrorCode == 0 && len(p.RecordBatches) == 0 {
			return "no records"
		}
		return code(p.ErrorCode)
	case *kmsg.ListOffsetsResponse:
		return code(r.Topics[0].Partitions[0].ErrorCode)
	case *kmsg.MetadataResponse:
		return code(r.Topics[0].ErrorCode)
	case *kmsg.ApiVersionsResponse:
		return code(r.ErrorCode)
	case *kmsg.CreateTopicsResponse:
		return code(r.Topics[0].ErrorCode)
	case *kmsg.DeleteTopicsResponse:
		return code(r.Topics[0].ErrorCode)
	case *kmsg.DeleteRecordsResponse:
		return code(r.Topics[0].Partitions[0].ErrorCode)
	case *kmsg.InitProducerIDResponse:
		return code(r.ErrorCode)
	case *kmsg.OffsetForLeaderEpochResponse:
		return code(r.Topics[0].Partitions[0].ErrorCode)
	case *kmsg.DescribeConfigsResponse:
		return code(r.Resources[0].ErrorCode)
	case *kmsg.AlterConfigsResponse:
		return code(r.Resources[0].ErrorCode)
	case *kmsg.IncrementalAlterConfigsResponse:
		return code(r.Resources[0].ErrorCode)
	case *kmsg.DescribeLogDirsResponse:
		return code(r.Dirs[0].ErrorCode)
	case *kmsg.CreatePartitionsResponse:
		return code(r.Topics[0].ErrorCode)
	case *kmsg.DescribeClusterResponse:
		return code(r.ErrorCode)
	case *kmsg.DescribeTopicPartitionsResponse:
		return code(r.Topics[0].ErrorCode)
	}
	c.t.Fatalf("this test knows no %T", resp)
	return ""
}

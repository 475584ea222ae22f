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
	default:
		return groupAnswerCode(c, resp)
	}
}

// groupAnswerCode is answerCode for the APIs of groups.
func groupAnswerCode(c *conn, resp kmsg.Response) string {
	c.t.Helper()
	switch r := resp.(type) {
	case *kmsg.OffsetCommitResponse:
		return code(r.Topics[0].Partitions[0].ErrorCode)
	case *kmsg.OffsetFetchResponse:
		if r.Version < 8 {
			return code(r.Topics[0].Partitions[0].ErrorCode)
		}
		return code(r.Groups[0].ErrorCode)
	case *kmsg.FindCoordinatorResponse:
		if r.Version < 4 {
			return code(r.ErrorCode)
		}
		return code(r.Coordinators[0].ErrorCode)
	case *kmsg.JoinGroupResponse:
		return code(r.ErrorCode)
	case *kmsg.HeartbeatResponse:
		return code(r.ErrorCode)
	case *kmsg.LeaveGroupResponse:
		if r.Version < 3 {
			return code(r.ErrorCode)
		}
		return code(r.Members[0].ErrorCode)
	case *kmsg.SyncGroupResponse:
		return code(r.ErrorCode)
	case *kmsg.DescribeGroupsResponse:
		return code(r.Groups[0].ErrorCode)
	case *kmsg.ListGroupsResponse:
		return code(r.ErrorCode)
	case *kmsg.DeleteGroupsResponse:
		return code(r.Groups[0].ErrorCode)
	case *kmsg.OffsetDeleteResponse:
		return code(r.ErrorCode)
	case *kmsg.ConsumerGroupHeartbeatResponse:
		return code(r.ErrorCode)
	case *kmsg.ConsumerGroupDescribeResponse:
		return code(r.Groups[0].ErrorCode)
	}
	c.t.Fatalf("this test knows no %T", resp)
	return ""
}

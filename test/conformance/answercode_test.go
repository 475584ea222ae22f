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
	default:
		return adminAnswerCode(c, resp)
	}
}

// adminAnswerCode is answerCode for the other APIs that tools ask.
func adminAnswerCode(c *conn, resp kmsg.Response) string {
	c.t.Helper()
	switch r := resp.(type) {
	case *kmsg.ElectLeadersResponse:
		return code(r.Topics[0].Partitions[0].ErrorCode)
	case *kmsg.AlterPartitionAssignmentsResponse:
		return code(r.Topics[0].Partitions[0].ErrorCode)
	case *kmsg.CreateACLsResponse:
		return code(r.Results[0].ErrorCode)
	case *kmsg.DeleteACLsResponse:
		return code(r.Results[0].ErrorCode)
	case *kmsg.DescribeUserSCRAMCredentialsResponse:
		return code(r.Results[0].ErrorCode)
	case *kmsg.AlterUserSCRAMCredentialsResponse:
		return code(r.Results[0].ErrorCode)
	case *kmsg.AlterClientQuotasResponse:
		return code(r.Entries[0].ErrorCode)
	case *kmsg.AlterReplicaLogDirsResponse:
		return code(r.Topics[0].Partitions[0].ErrorCode)
	case *kmsg.DescribeProducersResponse:
		return code(r.Topics[0].Partitions[0].ErrorCode)
	case *kmsg.DescribeTransactionsResponse:
		return code(r.TransactionStates[0].ErrorCode)
	case *kmsg.UpdateFeaturesResponse:
		if r.Version < 2 && r.ErrorCode == 0 {
			return code(r.Results[0].ErrorCode)
		}
		return code(r.ErrorCode)
	case *kmsg.AddPartitionsToTxnResponse:
		if r.Version < 4 {
			return code(r.Topics[0].Partitions[0].ErrorCode)
		}
		return code(r.Transactions[0].Topics[0].Partitions[0].ErrorCode)
	case *kmsg.TxnOffsetCommitResponse:
		return code(r.Topics[0].Partitions[0].ErrorCode)
	case *kmsg.WriteTxnMarkersResponse:
		return code(r.Markers[0].Topics[0].Partitions[0].ErrorCode)
	default:
		return topAnswerCode(c, resp)
	}
}

// topAnswerCode is answerCode for the APIs that have one error for the whole answer.
func topAnswerCode(c *conn, resp kmsg.Response) string {
	c.t.Helper()
	switch r := resp.(type) {
	case *kmsg.SASLHandshakeResponse:
		return code(r.ErrorCode)
	case *kmsg.SASLAuthenticateResponse:
		return code(r.ErrorCode)
	case *kmsg.ListPartitionReassignmentsResponse:
		return code(r.ErrorCode)
	case *kmsg.DescribeACLsResponse:
		return code(r.ErrorCode)
	case *kmsg.DescribeClientQuotasResponse:
		return code(r.ErrorCode)
	case *kmsg.CreateDelegationTokenResponse:
		return code(r.ErrorCode)
	case *kmsg.RenewDelegationTokenResponse:
		return code(r.ErrorCode)
	case *kmsg.ExpireDelegationTokenResponse:
		return code(r.ErrorCode)
	case *kmsg.DescribeDelegationTokenResponse:
		return code(r.ErrorCode)
	case *kmsg.DescribeQuorumResponse:
		return code(r.ErrorCode)
	case *kmsg.UnregisterBrokerResponse:
		return code(r.ErrorCode)
	case *kmsg.ListTransactionsResponse:
		return code(r.ErrorCode)
	case *kmsg.GetTelemetrySubscriptionsResponse:
		return code(r.ErrorCode)
	case *kmsg.PushTelemetryResponse:
		return code(r.ErrorCode)
	case *kmsg.ListConfigResourcesResponse:
		return code(r.ErrorCode)
	case *kmsg.AddOffsetsToTxnResponse:
		return code(r.ErrorCode)
	case *kmsg.EndTxnResponse:
		return code(r.ErrorCode)
	case *kmsg.AddRaftVoterResponse:
		return code(r.ErrorCode)
	case *kmsg.RemoveRaftVoterResponse:
		return code(r.ErrorCode)
	}
	c.t.Fatalf("this test knows no %T", resp)
	return ""
}

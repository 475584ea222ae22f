package api

// adminRoutes are the keys that tools ask with, and those of what this broker does not have: they get Kafka's error for it
// instead of a closed connection.
func adminRoutes() []route {
	return []route{
		{key: 17, min: 0, max: 1, name: "SaslHandshake", serve: inline((*API).saslHandshake)},
		{key: 24, min: 0, max: 5, name: "AddPartitionsToTxn", serve: inline((*API).addPartitionsToTxn)},
		{key: 25, min: 0, max: 4, name: "AddOffsetsToTxn", serve: inline((*API).addOffsetsToTxn)},
		{key: 26, min: 0, max: 5, name: "EndTxn", serve: inline((*API).endTxn)},
		{key: 27, min: 1, max: 2, name: "WriteTxnMarkers", serve: inline((*API).writeTxnMarkers)},
		{key: 28, min: 0, max: 6, name: "TxnOffsetCommit", serve: inline((*API).txnOffsetCommit)},
		{key: 29, min: 1, max: 3, name: "DescribeAcls", serve: inline((*API).describeACLs)},
		{key: 30, min: 1, max: 3, name: "CreateAcls", serve: inline((*API).createACLs)},
		{key: 31, min: 1, max: 3, name: "DeleteAcls", serve: inline((*API).deleteACLs)},
		{key: 34, min: 1, max: 2, name: "AlterReplicaLogDirs", serve: inline((*API).alterReplicaLogDirs)},
		{key: 36, min: 0, max: 2, name: "SaslAuthenticate", serve: inline((*API).saslAuthenticate)},
		{key: 38, min: 1, max: 3, name: "CreateDelegationToken", serve: inline((*API).createDelegationToken)},
		{key: 39, min: 1, max: 2, name: "RenewDelegationToken", serve: inline((*API).renewDelegationToken)},
		{key: 40, min: 1, max: 2, name: "ExpireDelegationToken", serve: inline((*API).expireDelegationToken)},
		{key: 41, min: 1, max: 3, name: "DescribeDelegationToken", serve: inline((*API).describeDelegationToken)},
		{key: 43, min: 0, max: 2, name: "ElectLeaders", serve: inline((*API).electLeaders)},
		{key: 45, min: 0, max: 1, name: "AlterPartitionReassignments", serve: inline((*API).alterPartitionReassignments)},
		{key: 46, min: 0, max: 0, name: "ListPartitionReassignments", serve: inline((*API).listPartitionReassignments)},
		{key: 48, min: 0, max: 1, name: "DescribeClientQuotas", serve: inline((*API).describeClientQuotas)},
		{key: 49, min: 0, max: 1, name: "AlterClientQuotas", serve: inline((*API).alterClientQuotas)},
		{key: 50, min: 0, max: 0, name: "DescribeUserScramCredentials", serve: inline((*API).describeUserSCRAMCredentials)},
		{key: 51, min: 0, max: 0, name: "AlterUserScramCredentials", serve: inline((*API).alterUserSCRAMCredentials)},
		{key: 55, min: 0, max: 2, name: "DescribeQuorum", serve: inline((*API).describeQuorum)},
		{key: 57, min: 0, max: 2, name: "UpdateFeatures", serve: inline((*API).updateFeatures)},
		{key: 61, min: 0, max: 0, name: "DescribeProducers", serve: inline((*API).describeProducers)},
		{key: 64, min: 0, max: 0, name: "UnregisterBroker", serve: inline((*API).unregisterBroker)},
		{key: 65, min: 0, max: 0, name: "DescribeTransactions", serve: inline((*API).describeTransactions)},
		{key: 66, min: 0, max: 2, name: "ListTransactions", serve: inline((*API).listTransactions)},
		{key: 71, min: 0, max: 0, name: "GetTelemetrySubscriptions", serve: inline((*API).getTelemetrySubscriptions), silent: true},
		{key: 72, min: 0, max: 0, name: "PushTelemetry", serve: inline((*API).pushTelemetry), silent: true},
		{key: 74, min: 0, max: 1, name: "ListConfigResources", serve: inline((*API).listConfigResources)},
		{key: 80, min: 0, max: 1, name: "AddRaftVoter", serve: inline((*API).addRaftVoter)},
		{key: 81, min: 0, max: 0, name: "RemoveRaftVoter", serve: inline((*API).removeRaftVoter)},
	}
}

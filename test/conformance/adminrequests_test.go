package conformance

import "github.com/twmb/franz-go/pkg/kmsg"

func electLeaders(version int16, kind int8, topic string) *kmsg.ElectLeadersRequest {
	req := kmsg.NewPtrElectLeadersRequest()
	req.Version, req.ElectionType, req.TimeoutMillis = version, kind, requestTimeout
	req.Topics = []kmsg.ElectLeadersRequestTopic{{Topic: topic, Partitions: []int32{0}}}
	return req
}

func alterReassignments(version int16, topic string, replicas []int32) *kmsg.AlterPartitionAssignmentsRequest {
	req := kmsg.NewPtrAlterPartitionAssignmentsRequest()
	req.Version, req.TimeoutMillis = version, requestTimeout
	req.Topics = []kmsg.AlterPartitionAssignmentsRequestTopic{{
		Topic: topic, Partitions: []kmsg.AlterPartitionAssignmentsRequestTopicPartition{{Replicas: replicas}},
	}}
	return req
}

func createACLs() *kmsg.CreateACLsRequest {
	creation := kmsg.NewCreateACLsRequestCreation()
	creation.ResourceType, creation.ResourceName, creation.Principal, creation.Host = kmsg.ACLResourceTypeTopic, "t", "User:a", "*"
	creation.Operation, creation.PermissionType = kmsg.ACLOperationRead, kmsg.ACLPermissionTypeAllow
	req := kmsg.NewPtrCreateACLsRequest()
	req.Creations = append(req.Creations, creation)
	return req
}

func deleteACLs() *kmsg.DeleteACLsRequest {
	filter := kmsg.NewDeleteACLsRequestFilter()
	filter.ResourceType, filter.Operation, filter.PermissionType = kmsg.ACLResourceTypeAny, kmsg.ACLOperationAny, kmsg.ACLPermissionTypeAny
	req := kmsg.NewPtrDeleteACLsRequest()
	req.Filters = append(req.Filters, filter)
	return req
}

func describeSCRAM(users ...string) *kmsg.DescribeUserSCRAMCredentialsRequest {
	req := kmsg.NewPtrDescribeUserSCRAMCredentialsRequest()
	for _, u := range users {
		req.Users = append(req.Users, kmsg.DescribeUserSCRAMCredentialsRequestUser{Name: u})
	}
	return req
}

// alterSCRAM sets credentials, or removes them where iterations is 0.
func alterSCRAM(iterations int32) *kmsg.AlterUserSCRAMCredentialsRequest {
	const sha256 = 1
	user := newName()
	req := kmsg.NewPtrAlterUserSCRAMCredentialsRequest()
	if iterations == 0 {
		req.Deletions = []kmsg.AlterUserSCRAMCredentialsRequestDeletion{{Name: user, Mechanism: sha256}}
		return req
	}
	req.Upsertions = []kmsg.AlterUserSCRAMCredentialsRequestUpsertion{{
		Name: user, Mechanism: sha256, Iterations: iterations, Salt: []byte("salt"), SaltedPassword: []byte("password"),
	}}
	return req
}

func describeQuotas(version int16, kind string) *kmsg.DescribeClientQuotasRequest {
	component := kmsg.NewDescribeClientQuotasRequestComponent()
	component.EntityType, component.MatchType = kind, kmsg.QuotasMatchTypeAny
	req := kmsg.NewPtrDescribeClientQuotasRequest()
	req.Version = version
	req.Components = append(req.Components, component)
	return req
}

func alterQuotas(kind, key string, remove bool) *kmsg.AlterClientQuotasRequest {
	name := newName()
	req := kmsg.NewPtrAlterClientQuotasRequest()
	req.Entries = []kmsg.AlterClientQuotasRequestEntry{{
		Entity: []kmsg.AlterClientQuotasRequestEntryEntity{{Type: kind, Name: &name}},
		Ops:    []kmsg.AlterClientQuotasRequestEntryOp{{Key: key, Value: 1e9, Remove: remove}},
	}}
	return req
}

func moveTo(dir, topic string) *kmsg.AlterReplicaLogDirsRequest {
	req := kmsg.NewPtrAlterReplicaLogDirsRequest()
	req.Dirs = []kmsg.AlterReplicaLogDirsRequestDir{{
		Dir: dir, Topics: []kmsg.AlterReplicaLogDirsRequestDirTopic{{Topic: topic, Partitions: []int32{0}}},
	}}
	return req
}

func describeProducers(topic string) *kmsg.DescribeProducersRequest {
	req := kmsg.NewPtrDescribeProducersRequest()
	req.Topics = []kmsg.DescribeProducersRequestTopic{{Topic: topic, Partitions: []int32{0}}}
	return req
}

func unregisterBroker(id int32) *kmsg.UnregisterBrokerRequest {
	req := kmsg.NewPtrUnregisterBrokerRequest()
	req.BrokerID = id
	return req
}

func describeTransactions(id string) *kmsg.DescribeTransactionsRequest {
	req := kmsg.NewPtrDescribeTransactionsRequest()
	req.TransactionalIDs = []string{id}
	return req
}

func updateFeature(name string, level int16) *kmsg.UpdateFeaturesRequest {
	req := kmsg.NewPtrUpdateFeaturesRequest()
	req.TimeoutMillis = requestTimeout
	update := kmsg.NewUpdateFeaturesRequestFeatureUpdate()
	update.Feature, update.MaxVersionLevel, update.UpgradeType = name, level, 1
	req.FeatureUpdates = append(req.FeatureUpdates, update)
	return req
}

func pushTelemetry() *kmsg.PushTelemetryRequest {
	req := kmsg.NewPtrPushTelemetryRequest()
	req.ClientInstanceID, req.SubscriptionID = [16]byte{1}, 5
	return req
}

func listConfigResources(kinds ...int8) *kmsg.ListConfigResourcesRequest {
	req := kmsg.NewPtrListConfigResourcesRequest()
	req.ResourceTypes = kinds
	return req
}

func addPartitionsToTxn(id, topic string) *kmsg.AddPartitionsToTxnRequest {
	req := kmsg.NewPtrAddPartitionsToTxnRequest()
	req.TransactionalID, req.ProducerID = id, 1
	req.Topics = []kmsg.AddPartitionsToTxnRequestTopic{{Topic: topic, Partitions: []int32{0}}}
	req.Transactions = []kmsg.AddPartitionsToTxnRequestTransaction{{
		TransactionalID: id, ProducerID: 1,
		Topics: []kmsg.AddPartitionsToTxnRequestTransactionTopic{{Topic: topic, Partitions: []int32{0}}},
	}}
	return req
}

func addOffsetsToTxn(id string) *kmsg.AddOffsetsToTxnRequest {
	req := kmsg.NewPtrAddOffsetsToTxnRequest()
	req.TransactionalID, req.ProducerID, req.Group = id, 1, "g"
	return req
}

func endTxn(id string) *kmsg.EndTxnRequest {
	req := kmsg.NewPtrEndTxnRequest()
	req.TransactionalID, req.ProducerID = id, 1
	return req
}

func txnOffsetCommit(id, group string, t topic) *kmsg.TxnOffsetCommitRequest {
	req := kmsg.NewPtrTxnOffsetCommitRequest()
	req.TransactionalID, req.ProducerID, req.Group = id, 1, group
	req.Topics = []kmsg.TxnOffsetCommitRequestTopic{{
		Topic: t.name, TopicID: t.id, Partitions: []kmsg.TxnOffsetCommitRequestTopicPartition{{Offset: 1}},
	}}
	return req
}

func writeTxnMarkers(topic string) *kmsg.WriteTxnMarkersRequest {
	marker := kmsg.NewWriteTxnMarkersRequestMarker()
	marker.ProducerID = 1
	marker.Topics = []kmsg.WriteTxnMarkersRequestMarkerTopic{{Topic: topic, Partitions: []int32{0}}}
	req := kmsg.NewPtrWriteTxnMarkersRequest()
	req.Markers = append(req.Markers, marker)
	return req
}

func describeACLs() *kmsg.DescribeACLsRequest {
	req := kmsg.NewPtrDescribeACLsRequest()
	req.ResourceType, req.Operation, req.PermissionType = kmsg.ACLResourceTypeAny, kmsg.ACLOperationAny, kmsg.ACLPermissionTypeAny
	return req
}

func describeQuorum() *kmsg.DescribeQuorumRequest {
	req := kmsg.NewPtrDescribeQuorumRequest()
	req.Topics = []kmsg.DescribeQuorumRequestTopic{{Topic: "__cluster_metadata", Partitions: []kmsg.DescribeQuorumRequestTopicPartition{{}}}}
	return req
}

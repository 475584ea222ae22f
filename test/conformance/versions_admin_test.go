package conformance

import "github.com/twmb/franz-go/pkg/kmsg"

// fixed makes a sweep's request that is the same in all versions.
func fixed(req func() kmsg.Request) func(*conn, int16, topic) kmsg.Request {
	return func(*conn, int16, topic) kmsg.Request { return req() }
}

// inTransaction makes a sweep's request of a transactional producer.
func inTransaction(req func(t topic) kmsg.Request) func(*conn, int16, topic) kmsg.Request {
	return func(c *conn, _ int16, t topic) kmsg.Request {
		c.awaitTransactions()
		return req(t)
	}
}

const noTokens = "DELEGATION_TOKEN_REQUEST_NOT_ALLOWED"

// noQuorum is korvet's answer about Kafka's own quorum.
var noQuorum = differs("UNSUPPORTED_VERSION", "Quorum")

// adminSweeps are the APIs of tools and of what korvet does not have.
var adminSweeps = map[kmsg.Key]sweep{
	kmsg.SASLHandshake:    {gives: "ILLEGAL_SASL_STATE", good: fixed(func() kmsg.Request { return kmsg.NewPtrSASLHandshakeRequest() })},
	kmsg.SASLAuthenticate: {gives: "ILLEGAL_SASL_STATE", good: fixed(func() kmsg.Request { return kmsg.NewPtrSASLAuthenticateRequest() })},
	kmsg.AddPartitionsToTxn: {
		gives: "INVALID_PRODUCER_ID_MAPPING", korvet: noTransactions,
		good: inTransaction(func(t topic) kmsg.Request { return addPartitionsToTxn("no-such", t.name) }),
	},
	kmsg.AddOffsetsToTxn: {
		gives: "INVALID_PRODUCER_ID_MAPPING", korvet: noTransactions,
		good: inTransaction(func(topic) kmsg.Request { return addOffsetsToTxn("no-such") }),
	},
	kmsg.EndTxn: {
		gives: "INVALID_PRODUCER_ID_MAPPING", korvet: noTransactions,
		good: inTransaction(func(topic) kmsg.Request { return endTxn("no-such") }),
	},
	kmsg.WriteTxnMarkers: {
		gives: "OK", korvet: differs("INVALID_TXN_STATE", "Transactions"),
		good: func(_ *conn, _ int16, t topic) kmsg.Request { return writeTxnMarkers(t.name) },
		bad:  func(*conn, int16) kmsg.Request { return writeTxnMarkers(newName()) },
		want: "UNKNOWN_TOPIC_OR_PARTITION",
	},
	kmsg.TxnOffsetCommit: {
		gives: "INVALID_PRODUCER_ID_MAPPING", korvet: noTransactions,
		good: func(c *conn, _ int16, t topic) kmsg.Request {
			c.awaitTransactions()
			return txnOffsetCommit("no-such", c.newGroup(), t)
		},
	},
	kmsg.DescribeACLs: {gives: "SECURITY_DISABLED", good: fixed(func() kmsg.Request { return describeACLs() })},
	kmsg.CreateACLs:   {gives: "SECURITY_DISABLED", good: fixed(func() kmsg.Request { return createACLs() })},
	kmsg.DeleteACLs:   {gives: "SECURITY_DISABLED", good: fixed(func() kmsg.Request { return deleteACLs() })},
	kmsg.AlterReplicaLogDirs: {
		good: func(c *conn, _ int16, t topic) kmsg.Request {
			return moveTo(ask[*kmsg.DescribeLogDirsResponse](c, describeLogDirs(4, t.name)).Dirs[0].Dir, t.name)
		},
		bad:  func(*conn, int16) kmsg.Request { return moveTo("/no/such", newName()) },
		want: "LOG_DIR_NOT_FOUND",
	},
	kmsg.CreateDelegationToken:   {gives: noTokens, good: fixed(func() kmsg.Request { return kmsg.NewPtrCreateDelegationTokenRequest() })},
	kmsg.RenewDelegationToken:    {gives: noTokens, good: fixed(func() kmsg.Request { return kmsg.NewPtrRenewDelegationTokenRequest() })},
	kmsg.ExpireDelegationToken:   {gives: noTokens, good: fixed(func() kmsg.Request { return kmsg.NewPtrExpireDelegationTokenRequest() })},
	kmsg.DescribeDelegationToken: {gives: noTokens, good: fixed(func() kmsg.Request { return kmsg.NewPtrDescribeDelegationTokenRequest() })},
	kmsg.ElectLeaders: {
		gives: "ELECTION_NOT_NEEDED",
		good:  func(_ *conn, v int16, t topic) kmsg.Request { return electLeaders(v, 0, t.name) },
		bad:   func(_ *conn, v int16) kmsg.Request { return electLeaders(v, 0, newName()) },
		want:  "UNKNOWN_TOPIC_OR_PARTITION",
	},
	kmsg.AlterPartitionAssignments: {
		good: func(c *conn, v int16, t topic) kmsg.Request {
			return alterReassignments(v, t.name, []int32{c.metadata(12).Brokers[0].NodeID})
		},
		bad:  func(_ *conn, v int16) kmsg.Request { return alterReassignments(v, newName(), []int32{1}) },
		want: "UNKNOWN_TOPIC_OR_PARTITION",
	},
	kmsg.ListPartitionReassignments: {good: fixed(func() kmsg.Request { return kmsg.NewPtrListPartitionReassignmentsRequest() })},
	kmsg.DescribeClientQuotas: {
		good: func(_ *conn, v int16, _ topic) kmsg.Request { return describeQuotas(v, "user") },
		bad:  func(_ *conn, v int16) kmsg.Request { return describeQuotas(v, "no-such") },
		want: "UNSUPPORTED_VERSION",
	},
	kmsg.AlterClientQuotas: {
		good: fixed(func() kmsg.Request { return alterQuotas("client-id", "consumer_byte_rate", true) }),
		bad:  func(*conn, int16) kmsg.Request { return alterQuotas("client-id", "no.such", false) },
		want: "INVALID_REQUEST",
	},
	kmsg.DescribeUserSCRAMCredentials: {gives: "RESOURCE_NOT_FOUND", good: fixed(func() kmsg.Request { return describeSCRAM("nobody") })},
	kmsg.AlterUserSCRAMCredentials:    {gives: "RESOURCE_NOT_FOUND", good: fixed(func() kmsg.Request { return alterSCRAM(0) })},
	kmsg.DescribeQuorum:               {korvet: noQuorum, good: fixed(func() kmsg.Request { return describeQuorum() })},
	kmsg.UpdateFeatures: {
		good: fixed(func() kmsg.Request { return updateFeature("group.version", 1) }),
		bad:  func(*conn, int16) kmsg.Request { return updateFeature("no.such", 1) },
		want: "INVALID_UPDATE_VERSION",
	},
	kmsg.DescribeProducers: {
		good: func(_ *conn, _ int16, t topic) kmsg.Request { return describeProducers(t.name) },
		bad:  func(*conn, int16) kmsg.Request { return describeProducers(newName()) },
		want: "UNKNOWN_TOPIC_OR_PARTITION",
	},
	kmsg.UnregisterBroker:     {gives: "BROKER_ID_NOT_REGISTERED", good: fixed(func() kmsg.Request { return unregisterBroker(99) })},
	kmsg.DescribeTransactions: {gives: "TRANSACTIONAL_ID_NOT_FOUND", good: inTransaction(func(topic) kmsg.Request { return describeTransactions("no-such") })},
	kmsg.ListTransactions:     {good: fixed(func() kmsg.Request { return kmsg.NewPtrListTransactionsRequest() })},
	kmsg.ListConfigResources: {
		good: fixed(func() kmsg.Request { return listConfigResources() }),
		bad: func(_ *conn, v int16) kmsg.Request {
			if v < 1 {
				return nil // no kinds yet
			}
			return listConfigResources(99)
		},
		want: "UNSUPPORTED_VERSION",
	},
	// Apache Kafka is asked about a voter that it cannot know.
	kmsg.AddRaftVoter:    {gives: "INVALID_REQUEST", korvet: noQuorum, good: fixed(func() kmsg.Request { return kmsg.NewPtrAddRaftVoterRequest() })},
	kmsg.RemoveRaftVoter: {gives: "INVALID_REQUEST", korvet: noQuorum, good: fixed(func() kmsg.Request { return kmsg.NewPtrRemoveRaftVoterRequest() })},
}

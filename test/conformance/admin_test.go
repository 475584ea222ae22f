package conformance

import (
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// The Administration rows: what tools ask beside topics, settings and groups.
func administrationRows() []row {
	return []row{
		{name: "ElectLeaders", do: elected(0, ""), want: "OK, ELECTION_NOT_NEEDED"},
		{name: "ElectLeaders, unclean", do: elected(1, ""), want: "OK, ELECTION_NOT_NEEDED"},
		{name: "ElectLeaders, unknown topic", do: elected(0, newName()), want: "OK, UNKNOWN_TOPIC_OR_PARTITION"},
		{name: "ElectLeaders, unknown type", do: elected(9, ""), want: "INVALID_REQUEST, INVALID_REQUEST"},
		{name: "ElectLeaders of all partitions", do: electedAll, want: "OK, 0 partitions"},
		{name: "AlterPartitionReassignments to where it is", do: reassigned(1, false), want: "OK"},
		{name: "AlterPartitionReassignments to broker 99", do: reassigned(99, false), want: "INVALID_REPLICA_ASSIGNMENT"},
		{name: "AlterPartitionReassignments, cancel of none", do: reassigned(0, true), want: "NO_REASSIGNMENT_IN_PROGRESS"},
		{name: "ListPartitionReassignments of all", do: listedReassignments, want: "OK, 0 topics"},
		{name: "DescribeAcls without an authorizer", do: answered(describeACLs(), 3), want: "SECURITY_DISABLED"},
		{name: "CreateAcls without an authorizer", do: answered(createACLs(), 3), want: "SECURITY_DISABLED"},
		{name: "DeleteAcls without an authorizer", do: answered(deleteACLs(), 3), want: "SECURITY_DISABLED"},
		{name: "DescribeUserScramCredentials, unknown user", do: answered(describeSCRAM("nobody"), 0), want: "RESOURCE_NOT_FOUND"},
		{name: "DescribeUserScramCredentials, a user twice", do: answered(describeSCRAM("nobody", "nobody"), 0), want: "DUPLICATE_RESOURCE"},
		{name: "AlterUserScramCredentials, deletion of an unknown user", do: answered(alterSCRAM(0), 0), want: "RESOURCE_NOT_FOUND"},
		{name: "AlterUserScramCredentials, 4095 iterations", do: answered(alterSCRAM(4095), 0), want: "UNACCEPTABLE_CREDENTIAL"},
		{name: "AlterUserScramCredentials, 16385 iterations", do: answered(alterSCRAM(16385), 0), want: "UNACCEPTABLE_CREDENTIAL"},
		{name: "AlterUserScramCredentials", do: answered(alterSCRAM(4096), 0), want: "OK", korvet: differs("UNSUPPORTED_SASL_MECHANISM", "SASL")},
		{name: "DescribeClientQuotas, nothing set", do: describedQuotas("user"), want: "OK, 0 entries"},
		{name: "DescribeClientQuotas, unknown kind of entity", do: describedQuotas("no-such"), want: "UNSUPPORTED_VERSION, 0 entries"},
		{name: "AlterClientQuotas", do: answered(alterQuotas("client-id", "producer_byte_rate", false), 1), want: "OK", korvet: differs("UNSUPPORTED_VERSION", "Client quotas")},
		{name: "AlterClientQuotas, removal of none", do: answered(alterQuotas("client-id", "consumer_byte_rate", true), 1), want: "OK"},
		{name: "AlterClientQuotas, unknown key", do: answered(alterQuotas("client-id", "no.such", false), 1), want: "INVALID_REQUEST"},
		{name: "AlterClientQuotas, unknown kind of entity", do: answered(alterQuotas("no-such", "producer_byte_rate", false), 1), want: "INVALID_REQUEST"},
		{name: "CreateDelegationToken on plaintext", do: answered(kmsg.NewPtrCreateDelegationTokenRequest(), 3), want: "DELEGATION_TOKEN_REQUEST_NOT_ALLOWED"},
		{name: "RenewDelegationToken on plaintext", do: answered(kmsg.NewPtrRenewDelegationTokenRequest(), 2), want: "DELEGATION_TOKEN_REQUEST_NOT_ALLOWED"},
		{name: "ExpireDelegationToken on plaintext", do: answered(kmsg.NewPtrExpireDelegationTokenRequest(), 2), want: "DELEGATION_TOKEN_REQUEST_NOT_ALLOWED"},
		{name: "DescribeDelegationToken on plaintext", do: answered(kmsg.NewPtrDescribeDelegationTokenRequest(), 3), want: "DELEGATION_TOKEN_REQUEST_NOT_ALLOWED"},
		{name: "AlterReplicaLogDirs to no such directory", do: movedTo("/no/such", false), want: "LOG_DIR_NOT_FOUND"},
		{name: "AlterReplicaLogDirs to where it is", do: movedTo("", false), want: "OK"},
		{name: "AlterReplicaLogDirs, unknown topic", do: movedTo("", true), want: "UNKNOWN_TOPIC_OR_PARTITION"},
		{name: "DescribeProducers, unknown topic", do: answered(describeProducers(newName()), 0), want: "UNKNOWN_TOPIC_OR_PARTITION"},
		{name: "DescribeProducers", do: describedProducers, want: "OK, 1 producers, epoch 0, last sequence 2, no transaction"},
		{name: "UnregisterBroker 99", do: answered(unregisterBroker(99), 0), want: "BROKER_ID_NOT_REGISTERED"},
		{name: "DescribeTransactions, unknown id", do: inCoordinator(describeTransactions("no-such"), 0), want: "TRANSACTIONAL_ID_NOT_FOUND"},
		{name: "ListTransactions, unknown state", do: listedTransactions("no-such", nil), want: "OK, unknown states no-such"},
		{name: "ListTransactions, no regular expression", do: listedTransactions("Empty", kmsg.StringPtr("(")), want: "INVALID_REGULAR_EXPRESSION, unknown states "},
		{name: "UpdateFeatures to the same level", do: updatedFeature("group.version", 1), want: "OK"},
		{name: "UpdateFeatures of an unknown feature", do: updatedFeature("no.such", 1), want: "INVALID_UPDATE_VERSION"},
		{name: "UpdateFeatures to a level beyond", do: updatedFeature("group.version", 99), want: "INVALID_UPDATE_VERSION"},
		{name: "ApiVersions tells group.version", do: toldFeature("group.version"), want: "0 to 1, finalized 1"},
		{name: "GetTelemetrySubscriptions", do: telemetrySubscriptions, want: "OK, metrics []"},
		{name: "PushTelemetry of an unknown client", do: answered(pushTelemetry(), 0), want: "UNKNOWN_SUBSCRIPTION_ID"},
		{name: "AddPartitionsToTxn, unknown transactional id", do: addedToTxn, want: "INVALID_PRODUCER_ID_MAPPING", korvet: noTransactions},
		{name: "AddOffsetsToTxn, unknown transactional id", do: inCoordinator(addOffsetsToTxn("no-such"), 3), want: "INVALID_PRODUCER_ID_MAPPING", korvet: noTransactions},
		{name: "EndTxn, unknown transactional id", do: inCoordinator(endTxn("no-such"), 3), want: "INVALID_PRODUCER_ID_MAPPING", korvet: noTransactions},
		{name: "ListConfigResources of an unknown kind", do: answered(listConfigResources(99), 1), want: "UNSUPPORTED_VERSION"},
		{name: "ListConfigResources of topics", do: listedTopic, want: "OK, the topic is listed"},
	}
}

var noTransactions = differs("TRANSACTIONAL_ID_AUTHORIZATION_FAILED", "Transactions")

// answered tells the code of the first thing that a request asks for.
func answered(req kmsg.Request, version int16) func(*conn) string {
	return func(c *conn) string { return c.asked(req, version) }
}

// inCoordinator is answered once there is a coordinator of transactions, which Apache Kafka makes when it is first asked for.
func inCoordinator(req kmsg.Request, version int16) func(*conn) string {
	return func(c *conn) string {
		c.awaitTransactions()
		return c.asked(req, version)
	}
}

func (c *conn) awaitTransactions() {
	c.t.Helper()
	if c.to.korvet {
		return
	}
	c.eventually("there is a coordinator of transactions", func() bool {
		find := kmsg.NewPtrFindCoordinatorRequest()
		find.Version, find.CoordinatorType, find.CoordinatorKey = 3, 1, "no-such"
		ask[*kmsg.FindCoordinatorResponse](c, find)
		return c.asked(describeTransactions("no-such"), 0) == "TRANSACTIONAL_ID_NOT_FOUND"
	})
}

func addedToTxn(c *conn) string {
	c.awaitTransactions()
	return c.asked(addPartitionsToTxn("no-such", c.newTopic().name), 3)
}

func elected(kind int8, name string) func(*conn) string {
	return func(c *conn) string {
		name := name
		if name == "" {
			name = c.newTopic().name
		}
		resp := ask[*kmsg.ElectLeadersResponse](c, electLeaders(2, kind, name))
		if len(resp.Topics) == 0 {
			return code(resp.ErrorCode)
		}
		return code(resp.ErrorCode) + ", " + code(resp.Topics[0].Partitions[0].ErrorCode)
	}
}

func electedAll(c *conn) string {
	req := electLeaders(2, 0, "")
	req.Topics = nil
	resp := ask[*kmsg.ElectLeadersResponse](c, req)
	partitions := 0
	for _, t := range resp.Topics {
		partitions += len(t.Partitions)
	}
	return fmt.Sprintf("%s, %d partitions", code(resp.ErrorCode), partitions)
}

// reassigned asks to move a partition to a broker, 1 standing for the one that it is on.
func reassigned(broker int32, cancel bool) func(*conn) string {
	return func(c *conn) string {
		name := c.newTopic().name
		if broker == 1 {
			broker = c.metadata(12).Brokers[0].NodeID
		}
		req := alterReassignments(1, name, []int32{broker})
		if cancel {
			req.Topics[0].Partitions[0].Replicas = nil
		}
		return c.asked(req, 1)
	}
}

func listedReassignments(c *conn) string {
	req := kmsg.NewPtrListPartitionReassignmentsRequest()
	req.TimeoutMillis = requestTimeout
	resp := ask[*kmsg.ListPartitionReassignmentsResponse](c, req)
	return fmt.Sprintf("%s, %d topics", code(resp.ErrorCode), len(resp.Topics))
}

func describedQuotas(kind string) func(*conn) string {
	return func(c *conn) string {
		resp := ask[*kmsg.DescribeClientQuotasResponse](c, describeQuotas(1, kind))
		return fmt.Sprintf("%s, %d entries", code(resp.ErrorCode), len(resp.Entries))
	}
}

// movedTo asks to move a partition to a directory, an empty one standing for the one that it is in.
func movedTo(dir string, unknown bool) func(*conn) string {
	return func(c *conn) string {
		name, dir := c.newTopic().name, dir
		if dir == "" {
			dir = ask[*kmsg.DescribeLogDirsResponse](c, describeLogDirs(4, name)).Dirs[0].Dir
		}
		if unknown {
			name = newName()
		}
		return c.asked(moveTo(dir, name), 2)
	}
}

func describedProducers(c *conn) string {
	t := c.newTopic()
	id := c.newProducer()
	for sequence := range int32(3) {
		c.must(t, one(0, sequence).batch(id))
	}
	var resp *kmsg.DescribeProducersResponse
	req := describeProducers(t.name)
	c.eventually("the leader knows its producers", func() bool {
		resp = ask[*kmsg.DescribeProducersResponse](c, req)
		return resp.Topics[0].Partitions[0].ErrorCode == 0
	})
	p := resp.Topics[0].Partitions[0]
	text := fmt.Sprintf("%s, %d producers", code(p.ErrorCode), len(p.ActiveProducers))
	for _, a := range p.ActiveProducers {
		text += fmt.Sprintf(", epoch %d, last sequence %d", a.ProducerEpoch, a.LastSequence)
		if a.ProducerID == id && a.CurrentTxnStartOffset == -1 {
			text += ", no transaction"
		}
	}
	return text
}

func listedTransactions(state string, pattern *string) func(*conn) string {
	return func(c *conn) string {
		req := kmsg.NewPtrListTransactionsRequest()
		req.Version = 2
		req.StateFilters, req.TransactionalIDPattern = []string{state}, pattern
		resp := ask[*kmsg.ListTransactionsResponse](c, req)
		return code(resp.ErrorCode) + ", unknown states " + strings.Join(resp.UnknownStateFilters, " ")
	}
}

func updatedFeature(name string, level int16) func(*conn) string {
	return func(c *conn) string { return c.asked(updateFeature(name, level), 1) }
}

func toldFeature(name string) func(*conn) string {
	return func(c *conn) string {
		resp := ask[*kmsg.ApiVersionsResponse](c, apiVersions(4))
		text := "not told"
		for _, f := range resp.SupportedFeatures {
			if f.Name == name {
				text = fmt.Sprintf("%d to %d", f.MinVersion, f.MaxVersion)
			}
		}
		for _, f := range resp.FinalizedFeatures {
			if f.Name == name {
				text += fmt.Sprintf(", finalized %d", f.MaxVersionLevel)
			}
		}
		return text
	}
}

func telemetrySubscriptions(c *conn) string {
	resp := ask[*kmsg.GetTelemetrySubscriptionsResponse](c, kmsg.NewPtrGetTelemetrySubscriptionsRequest())
	text := fmt.Sprintf("%s, metrics %v", code(resp.ErrorCode), resp.RequestedMetrics)
	if resp.ClientInstanceID == ([16]byte{}) {
		text += ", no id"
	}
	return text
}

func listedTopic(c *conn) string {
	t := c.newTopic()
	req := listConfigResources(int8(topicResource))
	req.Version = 1
	resp := ask[*kmsg.ListConfigResourcesResponse](c, req)
	for _, r := range resp.ConfigResources {
		if r.Name == t.name {
			return code(resp.ErrorCode) + ", the topic is listed"
		}
	}
	return code(resp.ErrorCode)
}

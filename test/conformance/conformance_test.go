package conformance

import (
	"os"
	"slices"
	"testing"

	"github.com/korvet-io/korvet/test/harness"
)

// target is the broker under test.
type target struct {
	addr   string
	korvet bool // answers as korvet does, where that differs from Apache Kafka
	// uncached is a korvet that keeps no batches in memory, so that each is rebuilt from its records in Redis.
	uncached bool
	own      *harness.Broker
}

// start returns the broker that the environment asks for, see the package's comment.
func start(t *testing.T, args ...string) *target {
	t.Helper()
	b := harness.Start(t, harness.Options{Args: args})
	korvet := !b.External()
	switch expect := os.Getenv("KORVET_TEST_EXPECT"); expect {
	case "korvet":
		korvet = true
	case "kafka", "":
	default:
		t.Fatalf("KORVET_TEST_EXPECT is %q, not kafka or korvet", expect)
	}
	return &target{addr: b.Addr, korvet: korvet, own: b}
}

// startOwn returns a korvet that the test may kill, whatever the environment says.
func startOwn(t *testing.T, args ...string) *target {
	t.Helper()
	b := harness.Start(t, harness.Options{Own: true, Args: args})
	return &target{addr: b.Addr, korvet: true, own: b}
}

// beside returns one more korvet on the Redis of another.
func beside(t *testing.T, other *target, args ...string) *target {
	t.Helper()
	b := harness.Start(t, harness.Options{Own: true, Redis: other.own.Redis, Args: args})
	return &target{addr: b.Addr, korvet: true, own: b}
}

// noRebalanceDelay lets a group's first rebalance begin at once, as the package's comment asks of Apache Kafka.
const noRebalanceDelay = "--korvet.broker.rebalance-delay=0s"

// tableSettings are how korvet is started for the tables.
var tableSettings = []string{"--korvet.broker.auto-create-topics-enable=false", noRebalanceDelay}

// TestConformance runs the tables, one family of APIs after the other, against one broker.
func TestConformance(t *testing.T) {
	runAll(t, start(t, tableSettings...))
}

// TestConformanceWithoutTailCache runs the same tables against a korvet that reads every record from Redis.
func TestConformanceWithoutTailCache(t *testing.T) {
	to := startOwn(t, append(slices.Clone(tableSettings), "--korvet.broker.tail-cache-bytes=0")...)
	to.uncached = true
	runAll(t, to)
}

func runAll(t *testing.T, to *target) {
	t.Helper()
	for _, f := range []struct {
		name string
		rows []row
	}{
		{"Connection", connectionRows()},
		{"Metadata", metadataRows()},
		{"DescribeCluster", describeClusterRows()},
		{"DescribeTopicPartitions", describeTopicPartitionsRows()},
		{"CreateTopics", createTopicsRows()},
		{"DeleteTopics", deleteTopicsRows()},
		{"CreatePartitions", createPartitionsRows()},
		{"DescribeConfigs", describeConfigsRows()},
		{"IncrementalAlterConfigs", incrementalAlterConfigsRows()},
		{"AlterConfigs", alterConfigsRows()},
		{"ConfigValues", configValueRows()},
		{"DescribeLogDirs", describeLogDirsRows()},
		{"Produce", produceRows()},
		{"ProduceRecords", produceRecordsRows()},
		{"ProduceSettings", produceSettingsRows()},
		{"ProduceOld", produceOldRows()},
		{"IdempotentProducers", idempotentRows()},
		{"InitProducerId", initProducerRows()},
		{"Fetch", fetchRows()},
		{"FetchSessions", fetchSessionRows()},
		{"OffsetForLeaderEpoch", leaderEpochRows()},
		{"ListOffsets", listOffsetsRows()},
		{"DeleteRecords", deleteRecordsRows()},
		{"Groups", groupRows()},
		{"StaticMembers", staticRows()},
		{"GroupAdmin", groupAdminRows()},
		{"Administration", administrationRows()},
		{"Commits", commitRows()},
		{"ConsumerGroups", consumerGroupRows()},
	} {
		t.Run(f.name, func(t *testing.T) { run(t, to, f.rows) })
	}
}

package conformance

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// topicDefaults are the topic settings of Apache Kafka 4.4 and their defaults.
var topicDefaults = map[string]string{
	"cleanup.policy":                          "delete",
	"compression.gzip.level":                  "-1",
	"compression.lz4.level":                   "9",
	"compression.type":                        "producer",
	"compression.zstd.level":                  "3",
	"delete.retention.ms":                     "86400000",
	"errors.deadletterqueue.group.enable":     "false",
	"file.delete.delay.ms":                    "60000",
	"flush.messages":                          "9223372036854775807",
	"flush.ms":                                "9223372036854775807",
	"follower.replication.throttled.replicas": "",
	"index.interval.bytes":                    "4096",
	"leader.replication.throttled.replicas":   "",
	"local.retention.bytes":                   "-2",
	"local.retention.ms":                      "-2",
	"max.compaction.lag.ms":                   "9223372036854775807",
	"max.decompressed.message.bytes":          "2147483639",
	"max.message.bytes":                       "1048588",
	"message.timestamp.after.max.ms":          "3600000",
	"message.timestamp.before.max.ms":         "9223372036854775807",
	"message.timestamp.type":                  "CreateTime",
	"min.cleanable.dirty.ratio":               "0.5",
	"min.compaction.lag.ms":                   "0",
	"min.insync.replicas":                     "1",
	"preallocate":                             "false",
	"remote.copy.lag.bytes":                   "-1",
	"remote.copy.lag.ms":                      "0",
	"remote.log.copy.disable":                 "false",
	"remote.log.delete.on.disable":            "false",
	"remote.storage.enable":                   "false",
	"retention.bytes":                         "-1",
	"retention.ms":                            "604800000",
	"segment.bytes":                           "1073741824",
	"segment.index.bytes":                     "10485760",
	"segment.jitter.ms":                       "0",
	"segment.ms":                              "604800000",
	"unclean.leader.election.enable":          "false",
}

// TestDefaultsThatDifferAreDocumented compares the settings of a fresh topic with Kafka's, and the differences with the
// table of docs/compatibility.md.
func TestDefaultsThatDifferAreDocumented(t *testing.T) {
	to := start(t)
	c := dial(t, to)
	differ := map[string]string{}
	resp := ask[*kmsg.DescribeConfigsResponse](c, describeConfigs(4, topicResource, c.newTopic().name))
	for _, config := range resp.Resources[0].Configs {
		kafka, known := topicDefaults[config.Name]
		if known && text(config.Value) != kafka {
			differ[config.Name] = text(config.Value)
		}
	}
	if !to.korvet {
		if len(differ) > 0 {
			t.Errorf("this test is wrong about Kafka's defaults: %v", differ)
		}
		return
	}
	documented := documentedDefaults(t)
	for name, value := range differ {
		if want := fmt.Sprintf("%s, here %s", topicDefaults[name], value); documented[name] != want {
			t.Errorf("%s: documented as %q, is %q", name, documented[name], want)
		}
	}
	for name := range documented {
		if _, ok := differ[name]; !ok {
			t.Errorf("%s is documented as different, and is not", name)
		}
	}
}

// documentedDefaults reads the table: by setting, Kafka's default and ours.
func documentedDefaults(t *testing.T) map[string]string {
	t.Helper()
	doc, err := os.ReadFile("../../docs/compatibility.md")
	if err != nil {
		t.Fatalf("read compatibility page: %v", err)
	}
	table := map[string]string{}
	for line := range strings.Lines(string(doc)) {
		cells := strings.Split(line, "|")
		if len(cells) != 6 || !strings.Contains(cells[1], "`") {
			continue
		}
		table[strings.Trim(cells[1], " `")] = strings.TrimSpace(cells[2]) + ", here " + strings.TrimSpace(cells[3])
	}
	if len(table) == 0 {
		t.Fatal("docs/compatibility.md has no table of defaults")
	}
	return table
}

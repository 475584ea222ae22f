package tools

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/korvet-io/korvet/test/harness"
)

// mainClasses are the tools by the names of their scripts in Kafka's distribution.
var mainClasses = map[string]string{
	"kafka-acls":                "org.apache.kafka.tools.AclCommand",
	"kafka-broker-api-versions": "org.apache.kafka.tools.BrokerApiVersionsCommand",
	"kafka-client-metrics":      "org.apache.kafka.tools.ClientMetricsCommand",
	"kafka-cluster":             "org.apache.kafka.tools.ClusterTool",
	"kafka-configs":             "org.apache.kafka.tools.ConfigCommand",
	"kafka-consumer-groups":     "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
	"kafka-delegation-tokens":   "org.apache.kafka.tools.DelegationTokenCommand",
	"kafka-delete-records":      "org.apache.kafka.tools.DeleteRecordsCommand",
	"kafka-features":            "org.apache.kafka.tools.FeatureCommand",
	"kafka-get-offsets":         "org.apache.kafka.tools.GetOffsetShell",
	"kafka-groups":              "org.apache.kafka.tools.GroupsCommand",
	"kafka-leader-election":     "org.apache.kafka.tools.LeaderElectionCommand",
	"kafka-log-dirs":            "org.apache.kafka.tools.LogDirsCommand",
	"kafka-metadata-quorum":     "org.apache.kafka.tools.MetadataQuorumCommand",
	"kafka-reassign-partitions": "org.apache.kafka.tools.reassign.ReassignPartitionsCommand",
	"kafka-topics":              "org.apache.kafka.tools.TopicCommand",
	"kafka-transactions":        "org.apache.kafka.tools.TransactionsCommand",
}

// jvm is a Java process that runs one tool after the other.
type jvm struct {
	in  io.Writer
	out *bufio.Reader
}

// startJVM brings the tools and starts a JVM that ends with the test.
func startJVM(t *testing.T) *jvm {
	t.Helper()
	install := exec.Command("bash", "../clients/install.sh")
	complaints := &strings.Builder{}
	install.Stderr = complaints
	dir, err := install.Output()
	if err != nil {
		t.Fatalf("install Kafka's tools: %v\n%s", err, complaints)
	}
	cmd := exec.Command("java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dorg.slf4j.simpleLogger.defaultLogLevel=off",
		"-cp", filepath.Join(strings.TrimSpace(string(dir)), "java", "lib", "*"), "Tools.java")
	cmd.SysProcAttr = harness.EndWithParent()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	errs := &strings.Builder{}
	cmd.Stderr = errs
	if err := cmd.Start(); err != nil {
		t.Fatalf("start java: %v", err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() && errs.Len() > 0 {
			t.Logf("java said:\n%s", errs)
		}
	})
	return &jvm{in: in, out: bufio.NewReaderSize(out, 1<<20)}
}

// run runs a tool and returns what it printed and its exit code.
func (j *jvm) run(t *testing.T, words []string) (printed string, code int) {
	t.Helper()
	class, known := mainClasses[words[0]]
	if !known {
		t.Fatalf("no tool %s", words[0])
	}
	if _, err := fmt.Fprintln(j.in, strings.Join(append([]string{class}, words[1:]...), "\t")); err != nil {
		t.Fatalf("ask java: %v", err)
	}
	line, err := j.out.ReadString('\n')
	if err != nil {
		t.Fatalf("java ended while it ran %v: %v", words, err)
	}
	exit, encoded, _ := strings.Cut(strings.TrimSpace(line), " ")
	raw, err := base64.StdEncoding.DecodeString(encoded)
	if err == nil {
		code, err = strconv.Atoi(exit)
	}
	if err != nil {
		t.Fatalf("java answered %q: %v", line, err)
	}
	return string(raw), code
}

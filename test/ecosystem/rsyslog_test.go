package ecosystem_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// omkafkaConfig makes rsyslogd send the lines of a file to a topic: folder, broker, topic. With more than one worker it would mix their order.
const omkafkaConfig = `
module(load="imfile")
module(load="omkafka")
global(workDirectory="%[1]s")
main_queue(queue.workerThreads="1" queue.filename="queue" queue.saveOnShutdown="on")
template(name="line" type="string" string="%%msg%%")
input(type="imfile" file="%[1]s/in" tag="app:")
action(type="omkafka" broker=["%[2]s"] topic="%[3]s" key="app" template="line" partitions.auto="on"
  confParam=["acks=all", "enable.idempotence=true", "compression.codec=lz4", "queue.buffering.max.ms=5"]
  resubmitOnFailure="on" keepFailedMessages="on" failedMsgFile="%[1]s/failed"
  action.resumeRetryCount="-1" action.resumeInterval="1")
`

// imkafkaConfig makes rsyslogd write a topic's records to a file, as a member of a group: folder, broker, topic, group. An input that takes longer
// to end than the time given here is cut off, without its last commit and without leaving the group.
const imkafkaConfig = `
module(load="imkafka")
global(workDirectory="%[1]s" inputs.timeout.shutdown="60000")
template(name="line" type="string" string="%%rawmsg%%\n")
input(type="imkafka" broker="%[2]s" topic="%[3]s" consumergroup="%[4]s" ruleset="write" confParam=["auto.offset.reset=earliest"])
ruleset(name="write") { action(type="omfile" file="%[1]s/out" template="line") }
`

func TestRsyslogSendsEveryLineOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dir, topic := t.TempDir(), w.createTopic("syslog", 1)
	var lines []string
	write := func(n int) {
		t.Helper()
		fresh := make([]string, n)
		for i := range fresh {
			fresh[i] = fmt.Sprintf("line %d of the log: %s", len(lines)+i, strings.Repeat("x", i%300))
		}
		lines = append(lines, fresh...)
		appendText(t, filepath.Join(dir, "in"), strings.Join(fresh, "\n")+"\n")
	}
	check := func() {
		t.Helper()
		var got []string
		for _, r := range w.read(topic, len(lines)) {
			got = append(got, string(r.Value))
			if string(r.Key) != "app" {
				t.Errorf("record %d has key %q", r.Offset, r.Key)
			}
		}
		if !slices.Equal(got, lines) {
			t.Fatalf("records differ from lines: too many %q, missing %q", without(got, lines), without(lines, got))
		}
	}

	daemon := startRsyslog(t, dir, fmt.Sprintf(omkafkaConfig, dir, w.broker.Addr, topic))
	write(scaled(2000))
	check()
	write(scaled(2000))
	w.restart() // while lines are sent
	write(scaled(2000))
	check()
	daemon.stop()
	write(scaled(500))
	startRsyslog(t, dir, fmt.Sprintf(omkafkaConfig, dir, w.broker.Addr, topic))
	check()
}

func TestRsyslogReadsATopicInAGroup(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dir, topic := t.TempDir(), w.createTopic("events", 1)
	var lines []string
	write := func(n int) {
		t.Helper()
		var fresh []*kgo.Record
		for range n {
			line := fmt.Sprintf("event %d", len(lines))
			lines = append(lines, line)
			fresh = append(fresh, record(topic, 0, line))
		}
		w.produce(fresh...)
	}
	check := func() {
		t.Helper()
		w.await("rsyslog to write what it read", func() error {
			b, err := os.ReadFile(filepath.Join(dir, "out"))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			if got := strings.Count(string(b), "\n"); got != len(lines) {
				return fmt.Errorf("%d lines, want %d", got, len(lines))
			}
			if want := strings.Join(lines, "\n") + "\n"; string(b) != want {
				return errors.New("the lines differ from the records")
			}
			return nil
		})
	}

	config := fmt.Sprintf(imkafkaConfig, dir, w.broker.Addr, topic, w.prefix+"rsyslog")
	write(scaled(100))
	daemon := startRsyslog(t, dir, config)
	check()
	write(scaled(100))
	check()
	daemon.stop()
	write(scaled(100))
	startRsyslog(t, dir, config)
	check()
}

// startRsyslog runs rsyslogd in the foreground with a configuration of its own.
func startRsyslog(t *testing.T, dir, config string) *child {
	t.Helper()
	program := install(t, "rsyslog")
	file := filepath.Join(dir, "rsyslog.conf")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatalf("write configuration of rsyslogd: %v", err)
	}
	return start(t, "rsyslogd", program, "-n", "-f", file, "-i", filepath.Join(dir, "pid"))
}

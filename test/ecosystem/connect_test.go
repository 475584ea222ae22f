package ecosystem_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// connectPartitions is the number of files that the source reads and the sink writes, each by a task of its own.
const connectPartitions = 2

// connect is a Kafka Connect cluster with a connector from files to a topic and one from the topic to other files.
type connect struct {
	*world
	classpath string
	group     string
	topic     string
	in, out   string // folders
	lines     [connectPartitions][]string
}

// worker is one process of the cluster and its REST address.
type worker struct {
	*child
	addr string
}

func TestKafkaConnectMovesEveryLineAndKeepsItsConnectors(t *testing.T) {
	t.Parallel()
	c := newConnect(t)
	workers := c.startWorkers()
	for topic, want := range map[string]string{"configs": "compact 1", "offsets": "compact 25", "status": "compact 5"} {
		if got := c.policy(c.prefix + "connect-" + topic); got != want {
			t.Errorf("internal topic %s: %s, want %s", topic, got, want)
		}
	}
	c.configure(workers[0])
	c.checkOutput(workers)

	c.restart() // under the running workers
	c.write(scaled(100))
	c.checkOutput(workers)

	for range 2 {
		for _, w := range workers {
			w.endInput()
		}
		workers = c.startWorkers()
		c.write(scaled(100))
		c.checkOutput(workers)
	}

	workers[0].kill()
	c.write(scaled(100))
	c.checkTakeover(workers[1])
}

func newConnect(t *testing.T) *connect {
	t.Helper()
	c := &connect{world: newWorld(t), classpath: install(t, "kafka"), in: t.TempDir(), out: t.TempDir()}
	c.group, c.topic = c.prefix+"connect", c.prefix+"lines"
	return c
}

// startWorkers starts two workers and waits until they have found each other.
func (c *connect) startWorkers() []*worker {
	c.t.Helper()
	workers := []*worker{c.startWorker("connect worker 1"), c.startWorker("connect worker 2")}
	c.awaitMembers(c.group, len(workers))
	for _, w := range workers {
		c.await("the REST interface of "+w.name, func() error {
			return errors.Join(w.running(), w.get("/connectors", &[]string{}))
		})
	}
	return workers
}

func (c *connect) startWorker(name string) *worker {
	c.t.Helper()
	addr := freeAddr(c.t)
	settings := map[string]string{
		"bootstrap.servers":                 c.broker.Addr,
		"group.id":                          c.group,
		"listeners":                         "http://" + addr,
		"key.converter":                     "org.apache.kafka.connect.storage.StringConverter",
		"value.converter":                   "org.apache.kafka.connect.storage.StringConverter",
		"config.storage.topic":              c.prefix + "connect-configs",
		"config.storage.replication.factor": "1",
		"offset.storage.topic":              c.prefix + "connect-offsets",
		"offset.storage.replication.factor": "1",
		"status.storage.topic":              c.prefix + "connect-status",
		"status.storage.replication.factor": "1",
		"offset.flush.interval.ms":          "200",
		"plugin.discovery":                  "service_load",
		// A lost worker is noticed, and its work given to the other, soon.
		"session.timeout.ms":               "6000",
		"heartbeat.interval.ms":            "500",
		"scheduled.rebalance.max.delay.ms": "500",
		"consumer.session.timeout.ms":      "6000",
		"consumer.heartbeat.interval.ms":   "500",
	}
	var text strings.Builder
	for key, value := range settings {
		fmt.Fprintf(&text, "%s=%s\n", key, value)
	}
	file := filepath.Join(c.t.TempDir(), "worker.properties")
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		c.t.Fatalf("write settings of a worker: %v", err)
	}
	args := append(jvm("256m"), "-cp", c.classpath, "ConnectWorker", file)
	return &worker{child: listen(c.t, name, "java", args...), addr: addr}
}

// configure makes the two connectors. The source's is to create the topic with two partitions; a sink that asks for it before would have the
// broker create it with one.
func (c *connect) configure(w *worker) {
	c.t.Helper()
	tasks := strconv.Itoa(connectPartitions)
	c.await("the source to be taken", func() error {
		return w.put("/connectors/"+c.prefix+"source/config", map[string]string{
			"connector.class": "Lines$Source", "tasks.max": tasks, "folder": c.in, "topic": c.topic,
			"topic.creation.default.partitions": tasks, "topic.creation.default.replication.factor": "1",
		})
	})
	c.write(scaled(100))
	c.await("the source to create its topic", func() error {
		topics, err := c.admin.ListTopics(c.context(), c.topic)
		if err != nil {
			return err
		}
		return topics.Error()
	})
	c.await("the sink to be taken", func() error {
		return w.put("/connectors/"+c.prefix+"sink/config", map[string]string{
			"connector.class": "Lines$Sink", "tasks.max": tasks, "folder": c.out, "topics": c.topic,
		})
	})
	if got := c.policy(c.topic); got != fmt.Sprintf("delete %d", connectPartitions) {
		c.t.Errorf("the source's topic: %s", got)
	}
}

// write appends so many lines to each file that the source reads.
func (c *connect) write(lines int) {
	c.t.Helper()
	for i := range c.lines {
		var text strings.Builder
		for range lines {
			line := fmt.Sprintf("file %d line %d", i, len(c.lines[i]))
			c.lines[i] = append(c.lines[i], line)
			text.WriteString(line + "\n")
		}
		appendText(c.t, filepath.Join(c.in, strconv.Itoa(i)), text.String())
	}
}

// checkOutput waits until the sink has written each line once, in order, and both connectors run.
func (c *connect) checkOutput(workers []*worker) {
	c.t.Helper()
	for i, want := range c.lines {
		var got []string
		c.await("lines to come out", func() error {
			got = c.output(i)
			if len(got) < len(want) {
				return fmt.Errorf("%d of %d lines in file %d", len(got), len(want), i)
			}
			return nil
		})
		if !slices.Equal(got, want) {
			c.t.Fatalf("file %d has %d lines, want %d: %q", i, len(got), len(want), without(got, want))
		}
	}
	for _, w := range workers {
		c.awaitRunning(w)
	}
	c.awaitCommitted("connect-"+c.prefix+"sink", c.topic)
}

// checkTakeover waits until the last worker runs everything and each line has come out, in order. Those that came out twice are those whose offsets
// the killed worker had not committed.
func (c *connect) checkTakeover(last *worker) {
	c.t.Helper()
	c.awaitRunning(last, last.addr)
	for i, want := range c.lines {
		c.await("lines to come out after a worker was killed", func() error {
			var first []string
			seen := map[string]bool{}
			for _, line := range c.output(i) {
				if !seen[line] {
					first = append(first, line)
				}
				seen[line] = true
			}
			if !slices.Equal(first, want) {
				return fmt.Errorf("file %d has %d of %d lines; missing or in another order", i, len(first), len(want))
			}
			return nil
		})
	}
}

// output is what the sink has written to its file of that number.
func (c *connect) output(i int) []string {
	c.t.Helper()
	b, err := os.ReadFile(filepath.Join(c.out, strconv.Itoa(i)))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		c.t.Fatalf("read output: %v", err)
	}
	return strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
}

// awaitRunning waits until a worker tells that both connectors and all their tasks run, on one of the workers if any are named.
func (c *connect) awaitRunning(w *worker, on ...string) {
	c.t.Helper()
	type state struct {
		State  string `json:"state"`
		Worker string `json:"worker_id"`
		Trace  string `json:"trace"`
	}
	for _, name := range []string{c.prefix + "source", c.prefix + "sink"} {
		c.await("connector "+name+" to run", func() error {
			var status struct {
				Connector state   `json:"connector"`
				Tasks     []state `json:"tasks"`
			}
			if err := w.get("/connectors/"+name+"/status", &status); err != nil {
				return err
			}
			if len(status.Tasks) != connectPartitions {
				return fmt.Errorf("%d tasks", len(status.Tasks))
			}
			for _, s := range append(status.Tasks, status.Connector) {
				if s.State != "RUNNING" || len(on) > 0 && !slices.Contains(on, s.Worker) {
					return fmt.Errorf("%s on %s: %s", s.State, s.Worker, s.Trace)
				}
			}
			return nil
		})
	}
}

func (w *worker) get(path string, answer any) error {
	return w.request(http.MethodGet, path, nil, answer)
}

func (w *worker) put(path string, body any) error {
	encoded, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("encode request: %w", err)
	}
	return w.request(http.MethodPut, path, encoded, nil)
}

func (w *worker) request(method, path string, body []byte, answer any) error {
	req, err := http.NewRequest(method, "http://"+w.addr+path, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("make request: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	client := http.Client{Timeout: 30 * time.Second}
	resp, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("ask %s: %w", w.name, err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return fmt.Errorf("read answer of %s: %w", w.name, err)
	}
	if resp.StatusCode >= 300 {
		return fmt.Errorf("%s %s: status %s: %s", method, path, resp.Status, text)
	}
	if answer == nil {
		return nil
	}
	if err := json.Unmarshal(text, answer); err != nil {
		return fmt.Errorf("decode answer of %s: %w", w.name, err)
	}
	return nil
}

// appendText appends to a file, which need not be there.
func appendText(t *testing.T, file, text string) {
	t.Helper()
	f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatalf("open %s: %v", file, err)
	}
	if _, err := f.WriteString(text); err != nil {
		t.Fatalf("write %s: %v", file, err)
	}
	if err := f.Close(); err != nil {
		t.Fatalf("close %s: %v", file, err)
	}
}

// freeAddr returns an address on which nobody listened a moment ago.
func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("find a free port: %v", err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

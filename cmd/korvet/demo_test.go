package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/korvet-io/korvet/internal/redistest"
)

func (h home) demo(args ...string) []string {
	return append([]string{"demo", "--kafka-port", "0", "--http-port", "0", "--data-dir", filepath.Join(h.dir, "demo")}, args...)
}

// child is the process id of the demo's Redis.
func (h home) child() int {
	h.t.Helper()
	var state struct{ PID int }
	data, err := os.ReadFile(filepath.Join(h.dir, "demo", "redis.json"))
	if err == nil {
		err = json.Unmarshal(data, &state)
	}
	if err != nil || state.PID == 0 {
		h.t.Fatalf("find the demo's Redis: %v", err)
	}
	return state.PID
}

// gone tells whether a process has ended, be it that nobody has asked for its exit code yet.
func gone(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return syscall.Kill(pid, 0) != nil || err == nil && strings.Contains(string(stat), ") Z ")
}

// brokerOf is the address that a demo names as that of its broker.
func brokerOf(r *running) string {
	_, broker, _ := strings.Cut(r.out.String(), "kafka ")
	broker, _, _ = strings.Cut(broker, ",")
	return broker
}

var logEnds = regexp.MustCompile(`log_end=(\d+),(\d+),(\d+)`)

func TestDemoStopsAfterItsRecordsAndTheNextRunGoesOnWithThem(t *testing.T) {
	h := newHome(t)
	for run, want := range []string{"20 records were produced", "30 records were produced"} {
		code, out, stderr := h.run(h.demo("--rate", "0", "--records", strings.Fields(want)[0])...)
		if code != 0 || !strings.Contains(out, want) {
			t.Fatalf("run %d: exit %d, said %s%s", run, code, out, stderr)
		}
		if !gone(h.child()) {
			t.Fatalf("run %d left its Redis behind", run)
		}
	}
	r := h.start(h.demo("--rate", "0.0001")...) // one record, and time to look
	r.says("log_end=")
	eventually(t, "all 51 records in:\n", r.out, func() bool {
		lines := logEnds.FindAllStringSubmatch(r.out.String(), -1)
		return len(lines) > 0 && sum(t, lines[len(lines)-1][1:]) == 51
	})
}

func TestDemoReadsInAGroupThatGoesOnWhereTheRunBeforeEnded(t *testing.T) {
	h := newHome(t)
	if code, out, stderr := h.run(h.demo("--rate", "0", "--records", "20")...); code != 0 {
		t.Fatalf("exit %d, said %s%s", code, out, stderr)
	}
	r := h.start(h.demo("--rate", "0.0001")...) // one record, and time to look
	r.says("read_by=")
	broker := brokerOf(r)
	var groups []groupDescription
	eventually(t, "both members, and 21 offsets committed:\n", r.out, func() bool {
		code, out, _ := h.run("groups", "--bootstrap-server", broker, "--describe", "--group", "demo-consumers", "--json")
		if code != 0 || json.Unmarshal([]byte(out), &groups) != nil || len(groups) != 1 || len(groups[0].Members) != 2 {
			return false
		}
		committed := int64(0)
		for _, o := range groups[0].Offsets {
			if o.Committed != nil && o.ConsumerID != "" {
				committed += *o.Committed
			}
		}
		return committed == 21
	})
	eventually(t, "the members' partitions, and no lag:\n", r.out, func() bool {
		return strings.Contains(r.out.String(), "total_out=1 ") && regexp.MustCompile(`lag=0,0,0 read_by=[12],[12],[12] codec=zstd `).MatchString(r.out.String())
	})
}

func TestDemoSealsSegmentsWhileOneLooksOn(t *testing.T) {
	h := newHome(t)
	r := h.start(h.demo("--rate", "20000")...)
	eventually(t, "sealed segments, a dictionary, and what values take:\n", r.out, func() bool {
		return regexp.MustCompile(`codec=zstd\+dictionary sealed=[1-9]\d* gone=\d+ values=[1-9]\S* stored_as=[1-9]\S* in_redis=[1-9]`).MatchString(r.out.String())
	})
	r.interrupt(syscall.SIGINT)
}

// Also of a topic that a version without tables has left.
func TestDemoMovesSegmentsToItsTable(t *testing.T) {
	h := newHome(t)
	r := h.start(h.demo("--rate", "0.0001")...)
	r.says("log_end=")
	broker := brokerOf(r)
	code, out, stderr := h.run("topics", "--bootstrap-server", broker, "--alter", "--topic", "events", "--config", "remote.storage.enable=false", "--config", "remote.log.delete.on.disable=true")
	if code != 0 {
		t.Fatalf("exit %d, said %s%s", code, out, stderr)
	}
	r.interrupt(syscall.SIGINT)
	r = h.start(h.demo("--rate", "5000")...)
	eventually(t, "segments that only the table has:\n", r.out, func() bool {
		return regexp.MustCompile(`in_table=[1-9]\d* only_in_table=[1-9]`).MatchString(r.out.String())
	})
	if !strings.Contains(r.out.String(), "/iceberg (Iceberg REST catalog)") {
		t.Errorf("no catalog is named: %s", r.out)
	}
	r.interrupt(syscall.SIGINT)
	if _, err := os.Stat(filepath.Join(h.dir, "demo", "tier", "korvet")); err != nil {
		t.Error(err)
	}
}

func TestDemoEndsOnCtrlCAndLeavesNoProcess(t *testing.T) {
	h := newHome(t)
	r := h.start(h.demo()...)
	r.says("in=")
	child := h.child()
	if code := r.interrupt(syscall.SIGINT); code != 0 {
		t.Errorf("exit %d, said %s", code, r.out)
	}
	if !gone(child) {
		t.Error("its Redis lives")
	}
	if !strings.Contains(r.out.String(), "the next run goes on from there") {
		t.Errorf("said %s", r.out)
	}
}

func TestDemoAdoptsTheRedisOfARunThatWasKilled(t *testing.T) {
	h := newHome(t)
	r := h.start(h.demo()...)
	r.says("in=")
	child := h.child()
	r.interrupt(syscall.SIGKILL)
	if gone(child) {
		t.Fatal("the Redis did not outlive its parent, so there is nothing to test")
	}
	if code, out, stderr := h.run(h.demo("--records", "5")...); code != 0 {
		t.Fatalf("exit %d, said %s%s", code, out, stderr)
	}
	if h.child() != child {
		t.Error("another Redis was started")
	}
	eventually(t, "the adopted Redis to be gone", &output{}, func() bool { return gone(child) })
}

func TestASecondDemoOnTheSameDataSaysSo(t *testing.T) {
	h := newHome(t)
	h.start(h.demo()...).says("in=")
	code, _, stderr := h.run(h.demo()...)
	if code != exitError || !strings.Contains(stderr, "--data-dir") {
		t.Errorf("exit %d, said %s", code, stderr)
	}
}

func TestDemoNamesThePortThatIsTaken(t *testing.T) {
	h := newHome(t)
	redis := redistest.Start(t) // something that listens
	_, port, _ := strings.Cut(redis.Addr(), ":")
	for _, flag := range []string{"--kafka-port", "--http-port"} {
		code, _, stderr := h.run(h.demo(flag, port)...)
		if code != exitError || !strings.Contains(stderr, flag) || !strings.Contains(stderr, "in use") {
			t.Errorf("exit %d, said %s, want %s", code, stderr, flag)
		}
	}
}

func TestDemoUsesTheRedisThatItIsGiven(t *testing.T) {
	h := newHome(t)
	redis := redistest.Start(t)
	if code, out, stderr := h.run(h.demo("--redis-uri", redis.URI(), "--records", "10", "--rate", "0")...); code != 0 {
		t.Fatalf("exit %d, said %s%s", code, out, stderr)
	}
	if m := redis.Do("EXISTS", "korvet:topics"); m.String() == "" {
		t.Error("the topic is not there")
	}
	if _, err := os.Stat(filepath.Join(h.dir, "demo", "redis.json")); err == nil {
		t.Error("it started a Redis of its own, too")
	}
}

func TestDemoLeavesABrokerOnTheSameRedisAlone(t *testing.T) {
	h := newHome(t)
	redis := redistest.Start(t)
	server := h.start("server", "--korvet.redis.uri="+redis.URI(), "--korvet.broker.host=127.0.0.1", "--korvet.broker.port=0", "--korvet.http.host=127.0.0.1", "--korvet.http.port=0")
	server.says("serving Kafka clients")
	if code, out, stderr := h.run(h.demo("--redis-uri", redis.URI(), "--records", "10", "--rate", "0")...); code != 0 {
		t.Fatalf("exit %d, said %s%s", code, out, stderr)
	}
	answer := redis.Do("HGET", "korvet:broker:nodes", "0")
	nodes, err := answer.ToString()
	if err != nil || !strings.Contains(nodes, `"id":0`) {
		t.Errorf("the broker is not registered any more: %s, %v", nodes, err)
	}
	if code := server.interrupt(syscall.SIGTERM); code != 0 || !strings.Contains(server.out.String(), "msg=stopping") {
		t.Errorf("the broker ended with %d, said %s", code, server.out)
	}
}

func TestDemoFailsWhenItsTimeIsOverBeforeItsRecords(t *testing.T) {
	h := newHome(t)
	code, _, stderr := h.run(h.demo("--records", "1000000", "--rate", "1", "--timeout", "1500ms")...)
	if code != exitError || !strings.Contains(stderr, "of 1000000 records") {
		t.Errorf("exit %d, said %s", code, stderr)
	}
	if !gone(h.child()) {
		t.Error("its Redis lives")
	}
}

func sum(t *testing.T, numbers []string) int {
	t.Helper()
	total := 0
	for _, text := range numbers {
		var n int
		if err := json.Unmarshal([]byte(text), &n); err != nil {
			t.Fatal(err)
		}
		total += n
	}
	return total
}

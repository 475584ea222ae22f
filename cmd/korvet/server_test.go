package main

import (
	"strings"
	"syscall"
	"testing"

	"github.com/korvet-io/korvet/internal/redistest"
)

// flags are those of a broker on loopback and free ports.
func (h home) flags(kafka, http string) []string {
	return []string{"server", "--korvet.broker.host=127.0.0.1", "--korvet.http.host=127.0.0.1", "--korvet.broker.port=" + kafka, "--korvet.http.port=" + http}
}

func TestServerWaitsForARedisThatIsDownAndIsNotReadyMeanwhile(t *testing.T) {
	h := newHome(t)
	redis := redistest.Start(t)
	redis.Kill()
	http := freePort(t)
	r := h.start(append(h.flags(freePort(t), http), "--korvet.redis.uri="+strings.Replace(redis.URI(), "//", "//user:hunter2@", 1))...)
	r.says("Redis does not answer")
	if code, body := get("http://127.0.0.1:" + http + "/readyz"); code != 503 || !strings.Contains(body, "Redis is away") {
		t.Errorf("readyz: %d %s", code, body)
	}
	if code, _ := get("http://127.0.0.1:" + http + "/livez"); code != 200 {
		t.Errorf("livez: %d", code)
	}
	if strings.Contains(r.out.String(), "hunter2") {
		t.Error("a password is in the log")
	}
	if code := r.interrupt(syscall.SIGTERM); code != 0 {
		t.Errorf("exit %d", code)
	}
}

func TestServerServesOnceItsRedisIsBack(t *testing.T) {
	h := newHome(t)
	redis := redistest.Start(t)
	redis.Kill()
	kafka, http := freePort(t), freePort(t)
	r := h.start(append(h.flags(kafka, http), "--korvet.redis.uri="+redis.URI())...)
	r.says("Redis does not answer")
	redis.Restart()
	r.says("serving Kafka clients")
	eventually(t, "readiness", r.out, func() bool { code, _ := get("http://127.0.0.1:" + http + "/readyz"); return code == 200 })
	if code, out, stderr := h.run("topics", "--bootstrap-server", "127.0.0.1:"+kafka, "--list"); code != 0 || out != "" {
		t.Errorf("exit %d, said %s%s", code, out, stderr)
	}
}

func TestServerNamesThePortThatIsTaken(t *testing.T) {
	h := newHome(t)
	redis := redistest.Start(t)
	kafka, http := freePort(t), freePort(t)
	first := h.start(append(h.flags(kafka, http), "--korvet.redis.uri="+redis.URI())...)
	first.says("serving Kafka clients")
	for setting, args := range map[string][]string{
		"korvet.broker.port": h.flags(kafka, freePort(t)),
		"korvet.http.port":   h.flags(freePort(t), http),
	} {
		code, _, stderr := h.run(append(args, "--korvet.redis.uri="+redis.URI())...)
		if code != exitError || !strings.Contains(stderr, setting) || !strings.Contains(stderr, "in use") || strings.Count(stderr, "\n") != 1 {
			t.Errorf("exit %d, said %s, want one line with %s", code, stderr, setting)
		}
	}
}

func TestServerStopsWhenRedisRefusesItsPassword(t *testing.T) {
	h := newHome(t)
	redis := redistest.Start(t)
	redis.Do("ACL", "SETUSER", "korvet", "on", ">right", "~*", "+@all")
	uri := strings.Replace(redis.URI(), "//", "//korvet:wrong@", 1)
	code, _, stderr := h.run(append(h.flags(freePort(t), freePort(t)), "--korvet.redis.uri="+uri)...)
	if code != exitError || !strings.Contains(stderr, "WRONGPASS") || !strings.Contains(stderr, redis.Addr()) {
		t.Errorf("exit %d, said %s", code, stderr)
	}
}

func TestOfTwoServersWithOneIDTheNewerStays(t *testing.T) {
	h := newHome(t)
	redis := redistest.Start(t)
	older := h.start(append(h.flags(freePort(t), freePort(t)), "--korvet.redis.uri="+redis.URI())...)
	older.says("serving Kafka clients")
	newer := h.start(append(h.flags(freePort(t), freePort(t)), "--korvet.redis.uri="+redis.URI())...)
	newer.says("serving Kafka clients")
	<-older.done
	if code := older.cmd.ProcessState.ExitCode(); code != exitError || !strings.Contains(older.out.String(), "korvet.broker.id") {
		t.Errorf("exit %d, said %s", code, older.out)
	}
	if code := newer.interrupt(syscall.SIGINT); code != 0 {
		t.Errorf("the newer: exit %d, said %s", code, newer.out)
	}
}
